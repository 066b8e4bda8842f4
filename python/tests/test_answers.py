"""The first questions, of runs made of rows. Those of real programs: tests/test_questions.py."""

import io
import random
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.analysis import Remembered, answers, ranklist
from fathom.analysis.own import lines
from fathom.analysis.when import Line, pattern_of, when
from fathom.pages import answers as words
from fathom.pages import heat
from fathom.text.ascii import tolerate
from schema import counters_of, write_run

NS = 1e-9


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([], ""), ([3], "3"), ([0, 1], "0-1"), ([0, 2], "0,2"), ([0, 1, 2, 3], "0-3"),
        ([0, 8, 16, 24], "0-24:8"), ([0, 8, 9, 10, 11], "0,8-11"), ([0, 5, 6], "0,5-6"),
        ([7, 3, 3, 5], "3-7:2"),
    ],
)  # fmt: skip
def test_ranks_are_written_short(ranks: list[int], text: str) -> None:
    assert ranklist.compress(ranks) == text


def expand(text: str) -> set[int]:
    """What `--ranks` makes of it."""
    numbers: set[int] = set()
    for word in filter(None, text.split(",")):
        ends, _, step = word.partition(":")
        first, _, last = ends.partition("-")
        numbers.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return numbers


def test_ranks_written_short_are_the_same_ranks() -> None:
    dice = random.Random(1)
    for _ in range(500):
        ranks = {dice.randrange(40) for _ in range(dice.randrange(30))}
        assert expand(ranklist.compress(ranks)) == ranks


def parts(*busy: tuple[int, int]) -> list[float]:
    return [float(any(a <= n < b for a, b in busy)) for n in range(100)]


@pytest.mark.parametrize(
    ("busy", "pattern"),
    [
        ([], "none"),
        ([(0, 10)], "start"),
        ([(45, 55)], "middle"),
        ([(90, 100)], "end"),
        ([(0, 10), (90, 100)], "start and end"),
        ([(0, 100)], "throughout"),
        ([(15, 90)], "throughout"),
        ([(n, n + 4) for n in range(5, 95, 20)], "periodic"),
        ([(0, 1), (49, 50), (98, 99)], "periodic"),
        ([(5, 10), (12, 16), (50, 60)], "bursts"),
    ],
)
def test_when_is_named(busy: list[tuple[int, int]], pattern: str) -> None:
    assert pattern_of(parts(*busy))[0] == pattern


def test_period_and_bursts_are_measured() -> None:
    _, bursts, period = pattern_of(parts((5, 9), (25, 29), (45, 49)))
    assert bursts == [(5, 9), (25, 29), (45, 49)]
    assert period == 20
    # On a busy machine a loop loses its processor now and then.
    assert pattern_of(parts((0, 30), (34, 60), (65, 100)), pause=5)[0] == "throughout"


def test_the_small_run_is_answered(run_directory: Path) -> None:
    reply = answers.answers(fathom.open(run_directory))
    # rank 0: [0, 1000) and [1500, 2000); rank 1: [500, 3500): together [0, 3500) of 4000.
    assert reply.time.share == pytest.approx(3500 / 4000)
    assert (reply.time.busiest, reply.time.verdict) == (1, "yes")
    assert reply.time.busiest_share == pytest.approx(3000 / 4000)
    assert reply.library.layers[0][0] == "mpiio"
    assert reply.library.stack == ["mpiio", "posix"]
    assert reply.ranks.who == [0]  # rank 1 moved nothing
    assert reply.operation.op == "MPI_File_write_at_all"
    assert dict(reply.operation.kinds)["read"] == pytest.approx(500 / 4500)
    assert (reply.volume.by, reply.volume.seconds) == ("clock", pytest.approx(3500 * NS))
    assert reply.when.first == 0
    assert reply.when.last == pytest.approx(3500 * NS)


def test_bytes_are_those_of_the_lowest_layer_that_moved_each_file(tmp_path: Path) -> None:
    """File 0 by POSIX alone; file 1 by MPI-IO, whose bytes a forwarding server took; file 2 by an aggregator."""
    posix = {"layer": "posix", "op": "pwrite", "kind": "write", "start": 0, "duration": 1}
    collective = posix | {"layer": "mpiio", "op": "MPI_File_write_all"}
    calls: list[dict[str, Any]] = [
        posix | {"process": 0, "file": 0, "bytes": 6},
        *(collective | {"process": p, "file": 1, "bytes": 100} for p in range(2)),
        *(collective | {"process": p, "file": 2, "bytes": 50} for p in range(2)),
        posix | {"process": 0, "file": 2, "bytes": 100, "parent": 3},
    ]
    for n, call in enumerate(calls):
        call["id"] = n
    run = write_run(
        tmp_path / "r",
        counters=counters_of(calls),
        processes=[{"process": p, "rank": p} for p in range(2)],
        files=[{"file": n, "path": f"/d/{n}", "kind": "regular"} for n in range(3)],
    )
    moved = fathom.open(run).sql("from bytes_moved()").to_pylist()
    assert [row["bytes_written"] for row in moved] == [6 + 100 + 100, 100]


def counted(run: Path, calls: list[dict[str, Any]]) -> Path:
    """The same calls, in counters only: what level job leaves."""
    rows = [row | {"recorded": 0, "file": None} for row in counters_of(calls)]
    processes = sorted({call["process"] for call in calls})
    return write_run(
        run,
        runs=[{"duration": 1000, "ranks": len(processes)}],
        processes=[{"process": p, "rank": p} for p in processes],
        counters=rows,
    )


def test_own_calls_are_those_of_files_outside_and_inside_regions(tmp_path: Path) -> None:
    """Not a socket's, not those inside another call; of a region's, the line where it began."""
    posix = {
        "layer": "posix",
        "kind": "write",
        "process": 0,
        "op": "pwrite",
        "duration": 10,
        "file": 0,
    }
    region = {"layer": "user", "kind": "meta", "duration": 500, "process": 0, "start": 0}
    calls = [
        region | {"id": 1, "op": "step", "site": 1, "depth": 0},
        region | {"id": 2, "op": "put", "parent": 1, "depth": 1},
        posix | {"id": 3, "parent": 2, "start": 10, "depth": 2, "bytes": 5},
        posix | {"id": 4, "start": 600, "depth": 0, "site": 2, "bytes": 7},
        posix | {"id": 5, "start": 700, "depth": 0, "site": 2, "file": 1, "duration": 200},
        posix | {"id": 6, "parent": 4, "start": 601, "depth": 1, "duration": 1},
    ]
    source = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{"duration": 1000}],
            calls=calls,
            counters=counters_of(calls),
            processes=[{"process": 0}],
            files=[{"file": 0, "path": "/d/f", "kind": "regular"}, {"file": 1, "kind": "socket"}],
            sites=[
                {
                    "site": n,
                    "module": "/bin/p",
                    "source": "/src/a.c",
                    "line": 10 * n,
                    "function": "f",
                }
                for n in (1, 2)
            ],
        )
    )
    rows = {
        (row["line"], row["region"]): (row["calls"], row["bytes"])
        for row in lines(source).to_pylist()
    }
    assert rows == {(10, "put"): (1, 5), (20, None): (1, 7)}
    reply = answers.answers(source)
    assert reply.time.share == pytest.approx(20 / 1000)
    assert sum(reply.when.parts) * 10 == pytest.approx(20)
    by_question = dict(words.sentences(reply, "r", {}))["Which line?"]
    assert by_question == ["a.c:10 f() in region put: pwrite, 50 %", "a.c:20 f(): pwrite, 50 %"]


def test_what_a_level_cannot_tell_is_said(tmp_path: Path) -> None:
    calls = [
        {"id": n, "layer": "posix", "op": "pwrite", "kind": "write", "process": n, "start": 100,
         "duration": 300, "bytes": 8}
        for n in range(2)
    ]  # fmt: skip
    reply = answers.answers(fathom.open(counted(tmp_path / "r.fathom", calls)))
    assert reply.time.share is None
    assert (reply.time.least, reply.time.most) == pytest.approx((0.3, 0.6))
    assert reply.time.verdict == "yes"
    assert reply.lines is None
    assert reply.when.source == "span"
    assert (reply.when.first, reply.when.last) == pytest.approx((100 * NS, 400 * NS))
    by_question = dict(words.sentences(reply, "r", {}))
    assert "30 % to 60 %" in by_question["I/O the problem?"][0]
    assert "--next" in by_question["Which line?"][0]
    assert "not known at this level" in by_question["When?"][0]
    assert by_question["Which ranks?"] == [
        "all 2 ranks: 100 % of the bytes to and from files, and the time in I/O calls"
    ]


def test_when_of_counted_calls_comes_from_heat(tmp_path: Path) -> None:
    calls = [
        {
            "id": 1,
            "layer": "posix",
            "op": "pwrite",
            "kind": "write",
            "process": 0,
            "start": 0,
            "duration": 300,
        }
    ]
    run = counted(tmp_path / "r.fathom", calls)
    bins = [(0, 64, 60), (64, 128, 0), (960, 1000, 20)]
    rows = [
        {
            "process": 0,
            "layer": layer,
            "operation": "write",
            "start": a,
            "stop": b,
            "calls": 1,
            "bytes": 8,
            "time": t,
        }
        for a, b, t in bins
        for layer in ("mpiio", "posix")
    ]
    # of a layer that the program does not call: MPI's own sockets
    rows.append(rows[-1] | {"layer": "stdio", "start": 500, "stop": 600, "time": 90})
    pq.write_table(pa.Table.from_pylist(rows), run / "tables" / "heat.parquet")
    moments = when(Remembered(fathom.open(run)))
    assert (moments.source, moments.pattern) == ("heat", "start and end")
    # layers inside one another are not added: 80 of 1000 ns
    assert sum(moments.parts) * 10 == pytest.approx(80, abs=2)
    # a log whose only part is longer than the run
    whole = [rows[0] | {"stop": 100_000}]
    pq.write_table(pa.Table.from_pylist(whole), run / "tables" / "heat.parquet")
    moments = when(Remembered(fathom.open(run)))
    assert (moments.source, moments.pattern) == ("span", "unknown")


def test_a_log_that_knows_when_of_the_layers_below_alone(tmp_path: Path) -> None:
    """Darshan with DXT: HDF5's calls are sums, those of POSIX inside have times; none has a place in the code."""
    hdf5 = {
        "id": 1,
        "layer": "hdf5",
        "op": "H5Dwrite",
        "kind": "write",
        "process": 0,
        "start": 0,
        "duration": 900,
        "bytes": 8,
    }
    run = counted(tmp_path / "r.fathom", [hdf5])
    rows = [
        {"process": 0, "layer": "posix", "operation": "write", "start": at,
         "stop": at + 50, "calls": 1, "bytes": 8, "time": 40}
        for at in (0, 50, 900, 950)
    ]  # fmt: skip
    heat_table = pa.Table.from_pylist(rows, pq.read_schema(run / "tables" / "heat.parquet"))
    pq.write_table(heat_table, run / "tables" / "heat.parquet")
    reply = answers.answers(fathom.open(run))
    assert (reply.when.source, reply.when.pattern) == ("heat", "start and end")
    by_question = dict(words.sentences(reply, "r", {"recorder": "darshan"}))
    assert by_question["Which line?"] == [
        "not known: Darshan records no places in the code; record the program with fathom run"
    ]


def test_the_heat_map_needs_no_colour() -> None:
    lines = heat.paint(
        [Line(0, 0, 1, [1.0] * 100), Line(1, 1, 1, [0.0] * 50 + [0.3] * 50)], "rank", 2.0, 80
    )
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].count("█") == 65
    assert lines[1].count(" ") >= 32
    assert lines[1].count("▒") == 32


def test_the_heat_map_of_a_terminal_that_knows_ascii_only() -> None:
    (line, *_) = heat.paint([Line(0, 0, 1, [0.0, 0.2, 0.4, 0.6, 1.0] * 20)], "rank", 2.0, 140)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    tolerate(out)
    out.write(line)
    out.flush()
    assert out.buffer.getvalue().endswith(b"|" + b" .:*#" * 20 + b"|")


def test_the_labels_of_many_ranks_are_the_ranks() -> None:
    (line, *_) = heat.paint([Line(3840, 4095, 256, [0.5] * 100)], "rank", 1.0, 80)
    assert line.startswith("   3840-4095 |")
