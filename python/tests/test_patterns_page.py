"""`fathom patterns` as a command: what it says of runs that know little, and of rows made by hand."""

from pathlib import Path
from typing import Any

import fathom
import pytest
from expansion import expand
from fathom.__main__ import main
from fathom.analysis.distribution import patterns, steps
from fathom.analysis.distribution.strides import Nest, array_of, settled
from fathom.pages import patterns as view
from schema import counters_of, write_run


def call(number: int, process: int, **more: Any) -> dict[str, Any]:
    """A write of a process of its own stream, unless it says otherwise."""
    row = {
        "id": process << 40 | number, "stream": process, "process": process, "start": number * 100, "duration": 10,
        "kind": "write", "layer": "posix", "op": "pwrite", "state": "done", "file": 0,
    }  # fmt: skip
    return row | more


def run_of(
    directory: Path,
    calls: list[dict[str, Any]],
    ranks: int | None = 2,
    **rows: list[dict[str, Any]],
) -> Path:
    content: dict[str, Any] = {
        "runs": [{"duration": 10_000, "ranks": ranks}],
        "processes": [
            {"process": p, "rank": p if ranks else None, "ranks": ranks} for p in range(ranks or 2)
        ],
        "streams": [{"stream": p, "process": p, "events": 1000} for p in range(ranks or 2)],
        "files": [{"file": n, "path": f"/d/x.{n}.bin", "kind": "regular"} for n in range(2)],
        "counters": counters_of(calls),
        "calls": calls,
        **rows,
    }  # fmt: skip
    return write_run(directory / "r.fathom", **content)


def values(path: Path) -> dict[str, Any]:
    return view.as_json(patterns.patterns(fathom.open(path)), "r", None)


def written(process: int, first: int, size: int, number: int = 1, **more: Any) -> dict[str, Any]:
    return call(number, process, file_offset=first, size=size, bytes=size, **more)


def dataset(process: int, extents: list[int]) -> dict[str, Any]:
    return {
        "object": process, "process": process, "number": 1, "class": "hdf5_dataset", "name": "/u", "file": 0,
        "extents": extents, "element_bytes": 8,
    }  # fmt: skip


def selected(number: int, process: int, bytes_: int, **more: Any) -> dict[str, Any]:
    row = call(number, process, layer="hdf5", op="H5Dwrite", size=bytes_, bytes=bytes_)
    return row | {"object": process, **more}


def starts(calls: list[dict[str, Any]], *values: int) -> list[dict[str, Any]]:
    return [
        {"call": one["id"], "name": "start", "value": value}
        for one, value in zip(calls, values, strict=True)
    ]


def test_a_run_without_mpi(tmp_path: Path) -> None:
    """Processes stand for ranks; each has a file of its own."""
    calls = [written(0, 0, 8), written(1, 0, 8, file=1)]
    got = values(run_of(tmp_path, calls, ranks=None))
    assert [(one["files"], one["use"], one["ranks"]) for one in got["files"]] == [
        ("x.*.bin", "per process", "0-1")
    ]
    assert {one["hpf"][1] for one in got["patterns"]} == {
        "!HPF$ DISTRIBUTE x_0_bin(ONE_RANK) ONTO P", "!HPF$ DISTRIBUTE x_1_bin(ONE_RANK) ONTO P",
    }  # fmt: skip


def test_a_process_beside_the_ranks_is_left_out(tmp_path: Path) -> None:
    processes = [{"process": p, "rank": p if p < 2 else None} for p in range(3)]
    streams = [{"stream": p, "process": p, "events": 9} for p in range(3)]
    calls = [written(0, 0, 8), written(1, 8, 8), written(2, 99, 1)]
    (pattern,) = values(run_of(tmp_path, calls, processes=processes, streams=streams))["patterns"]
    assert pattern["key"] == "posix write independent - (BLOCK)"
    assert expand(pattern) == {0: {(i,) for i in range(8)}, 1: {(i,) for i in range(8, 16)}}


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        ([10, 10, 4], "(BLOCK)"),
        ([4, 4, 3], "(BLOCK)"),
        ([10, 4, 10], "(GEN_BLOCK)"),
        ([1, 2, 3], "(GEN_BLOCK)"),
    ],
)
def test_a_key_holds_no_size(tmp_path: Path, sizes: list[int], key: str) -> None:
    calls = [
        written(rank, 4096 + sum(sizes[:rank]) * 8, size * 8) for rank, size in enumerate(sizes)
    ]
    (pattern,) = values(run_of(tmp_path, calls, ranks=3))["patterns"]
    assert pattern["key"] == f"posix write independent - {key}"
    assert pattern["first_byte"] == 4096


def test_everything_read_by_all_is_copies(tmp_path: Path) -> None:
    calls = [selected(1, p, 480, kind="read", op="H5Dread", collective=0) for p in range(2)]
    objects = [dataset(p, [6, 10]) for p in range(2)]
    (pattern,) = values(run_of(tmp_path, calls, objects=objects, args=starts(calls, 0, 0)))[
        "patterns"
    ]
    assert pattern["key"] == "hdf5 read collective 8 (*,*) copies"
    assert pattern["hpf"][-1] == "! each element on 2 ranks"


def test_records_are_put_together(tmp_path: Path) -> None:
    """Rank r writes row r of each record, by a call per record; the number of records has no end."""
    shape = {"form": "elements", "exact": True, "rank": 3, "unit": 1, "total": 5, "blocks": 1}
    box = {
        "box_start": [0, 0, 0],
        "box_count": [1, 1, 5],
        "block_start": [0, 0, 0],
        "block_count": [1, 1, 5],
    }
    selections = [{"selection": p, "process": p, "number": 1, **shape, **box} for p in range(2)]
    calls = [selected(t + 1, p, 40, selection=p) for p in range(2) for t in range(7)]
    args = starts(calls, *(t * 10 + p * 5 for p in range(2) for t in range(7)))
    objects = [dataset(p, [0, 2, 5]) for p in range(2)]
    (pattern,) = values(run_of(tmp_path, calls, selections=selections, objects=objects, args=args))[
        "patterns"
    ]
    assert pattern["extents"] == [7, 2, 5]
    assert pattern["key"] == "hdf5 write independent 8 (*,BLOCK,*)"
    assert pattern["access"][0]["levels"] == [{"count": 7, "step_bytes": 80}]


@pytest.mark.parametrize(
    ("selection", "start", "why"),
    [
        (0, 0, "more than 64 blocks that is not regular"),
        (None, -1, "where a selection begins is not known"),
        (None, 5, "what was selected is not known"),
    ],
)
def test_what_is_not_known_is_said(
    tmp_path: Path, selection: int | None, start: int, why: str
) -> None:
    selections = [
        {
            "selection": 0, "process": 0, "number": 1, "form": "elements", "exact": False, "rank": 1, "unit": 1,
            "total": 70, "box_start": [0], "box_count": [99], "hash": 1,
        }
    ]  # fmt: skip
    calls = [selected(1, 0, 560, selection=selection)]
    run = run_of(
        tmp_path,
        calls,
        selections=selections,
        objects=[dataset(0, [100])],
        args=starts(calls, start),
    )
    got = values(run)
    assert why in got["patterns"][0]["not_known"]
    assert got["patterns"][0]["key"].endswith("(IRREGULAR)")
    assert got["explained"] == 0


def test_below_a_library_of_the_users_own_catalog(tmp_path: Path) -> None:
    """H5Part, say: what it calls is the highest layer that is known."""
    calls = []
    for p in range(2):
        calls += [
            call(1, p, layer="h5part", op="H5PartWrite", size=8),
            written(p, 8 * p, 8, 2, parent=p << 40 | 1, depth=1),
        ]
    (pattern,) = values(run_of(tmp_path, calls))["patterns"]
    assert pattern["key"] == "posix write independent - (BLOCK)"


def test_a_layer_below_is_not_looked_at(tmp_path: Path) -> None:
    """Two-phase: rank 0 writes for all, but each rank has its part of the array."""
    calls = [
        call(
            1,
            p,
            layer="mpiio",
            op="MPI_File_write_at_all",
            file_offset=8 * p,
            size=8,
            bytes=8,
            collective=0,
        )
        for p in range(2)
    ]
    calls.append(written(0, 0, 16, 2, parent=1, depth=1))
    (pattern,) = values(run_of(tmp_path, calls))["patterns"]
    assert pattern["key"] == "mpiio write collective - (BLOCK)"


def test_appended_files_and_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [call(n, 0, op="write", size=5, bytes=5, offset_from="unknown") for n in (1, 2)]
    calls += [
        written(1, first, 10, n, kind="read", op="pread", file=1)
        for n, first in enumerate([90, 10, 50, 35, 20, 5, 70, 80, 60, 0], 3)
    ]
    counters = counters_of(calls)
    for row in counters:
        row["sequential"] = 0 if row["kind"] == "read" else None
    assert main(["patterns", str(run_of(tmp_path, calls, counters=counters))]) == 0
    page = capsys.readouterr().out
    assert "posix: 2 calls, 10 B: offset not known" in page
    assert "in random order: 0 % of the accesses go forward" in page
    assert "known of 0 % of 110 B" in page


def test_an_hdf5_file_from_below(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [{"file": 0, "path": "/d/x.h5", "kind": "regular"}]
    assert (
        main(["patterns", str(run_of(tmp_path, [written(0, 0, 8), written(1, 8, 8)], files=files))])
        == 0
    )
    assert "which datasets and chunks they are is not known" in capsys.readouterr().out


def test_only_a_part_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [written(p, (2 * n + p) * 8, 8, n) for p in range(2) for n in range(1, 101)]
    streams = [{"stream": p, "process": p, "events": 101} for p in range(2)]
    monkeypatch.setattr(patterns, "CALLS", 50)
    assert main(["patterns", str(run_of(tmp_path, calls, streams=streams))]) == 0
    page = capsys.readouterr().out
    assert "all but the first 25 % of each thread's calls" in page
    assert "DISTRIBUTE x_0_bin(CYCLIC(8)) ONTO P" in page


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(run_of(tmp_path, [written(0, 0, 8), written(1, 0, 8, file=1)]))
    assert main(["patterns", run, "--files", "x.1*"]) == 0
    page = capsys.readouterr().out
    assert "x_1_bin" in page
    assert "x_0_bin" not in page
    assert main(["patterns", run, "--files", "*.h5"]) == 2
    assert (
        capsys.readouterr().err
        == "fathom: patterns: no read or write of a file like '*.h5' in r; there are x.0.bin, x.1.bin\n"
    )


def test_nothing_to_look_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [written(0, 0, 8)]
    counters = counters_of(calls)
    counters[0]["recorded"] = 0
    assert main(["patterns", str(run_of(tmp_path, [], counters=counters))]) == 3
    assert "none of its 1 reads and writes was recorded in full" in capsys.readouterr().err
    assert main(["patterns", str(run_of(tmp_path / "b", []))]) == 3
    assert "no read or write of a file was seen: fathom doctor PROGRAM" in capsys.readouterr().err


def test_steps_that_repeat() -> None:
    loop = ["open", *["create dataset", "write", "close dataset"] * 3, "close"]
    assert steps.text(steps.fold(loop * 2 + ["sync"])) == (
        "2 x (open, 3 x (create dataset, write, close dataset), close), sync"
    )
    assert steps.text(steps.fold([])) == ""


def test_strides() -> None:
    """Levels that go on are one; strides that do not divide one another are no array's."""
    assert settled(Nest(3, 4, ((5, 4), (3, 20), (2, 100)))) == Nest(3, 60, ((2, 100),))
    assert settled(Nest(0, 4, ((5, 8), (3, 40)))) == Nest(0, 4, ((15, 8),))
    assert array_of({0: Nest(0, 4, ((2, 8),)), 1: Nest(4, 4, ((2, 12),))}, 0) is None
    extents, boxes = array_of({0: Nest(0, 4, ((2, 8),)), 1: Nest(16, 16, ())}, 0) or ((), {})
    assert extents == (0, 8)
    assert boxes[1].tolist() == [[[2, 4], [0, 8]]]


@pytest.mark.parametrize("looked_at", [1000, 10])
def test_the_first_calls_of_threads_with_high_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    """Their ids are no doubles any more. Of many threads with few calls each some are looked at."""
    monkeypatch.setattr(patterns, "CALLS", looked_at)
    threads = [2**23 - 1, 10**5, 2**15]
    calls = [
        written(0, 1000 * n + 100 * k, 100, k, stream=stream, id=stream << 40 | k)
        for n, stream in enumerate(threads)
        for k in range(10)
    ]
    path = run_of(
        tmp_path, calls, streams=[{"stream": one, "process": 0, "events": 10} for one in threads]
    )
    features = values(path)["patterns"][0]["features"]
    assert (features["calls"], features["bytes"]) == (30, 3000)
