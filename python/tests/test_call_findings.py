"""Findings on single calls and functions: whose they are, how often, and which knob is advised."""

from __future__ import annotations

import re
from pathlib import Path

import fathom
import pytest
from ask_finding import ask
from fathom.analysis import findings
from fathom.analysis.sentence import sentence
from fathom.catalog.layers import catalog_path
from schema import counters_of, write_run


def test_what_fails_inside_mpi_is_not_blamed_on_the_program(tmp_path: Path) -> None:
    """Reads of a closed descriptor by the program and by MPI's own threads; one of a file, by MPI for the program; and
    one of a descriptor that nobody knows, when MPI opens a file."""
    modules = ["/me/program", "/usr/lib/libpmix.so.2", "/usr/lib/libmpi.so.40", "/opt/libmpi/mine"]
    files: list[int | None] = [None, None, 0, None]
    failed = {"layer": "posix", "kind": "read", "error": 9, "state": "done"}
    run = write_run(
        tmp_path,
        runs=[{"duration": 10**9}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        sites=[{"site": n, "module": module} for n, module in enumerate(modules)],
        calls=[
            {"id": 10, "layer": "mpiio", "op": "MPI_File_open", "kind": "open", "site": 0},
            failed | {"id": 11, "op": "within the open", "site": 0, "parent": 10, "depth": 1},
            *(
                failed | {"id": n, "op": module, "site": n, "file": file}
                for n, (module, file) in enumerate(zip(modules, files, strict=True))
            ),
        ],
    )
    rows = ask(findings.Questions(fathom.open(run)), "failed-calls")
    assert {row["op"] for row in rows} == {modules[n] for n in (0, 2, 3)}


@pytest.mark.parametrize(("op", "said"), [("close", True), ("close_range", False)])
def test_who_closes_nothing_has_lost_nothing(tmp_path: Path, op: str, said: bool) -> None:
    """CPython, where it starts a process, closes all descriptors between two of which none may be."""
    call = {"id": 1, "layer": "posix", "op": op, "kind": "close", "error": 22, "state": "done"}
    run = write_run(
        tmp_path,
        runs=[{"duration": 10**9}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        calls=[call],
    )
    assert bool(ask(findings.Questions(fathom.open(run)), "failed-calls")) == said


@pytest.mark.parametrize("name", ["many-files", "open-close-churn", "sync-churn"])
@pytest.mark.parametrize("stalled", [True, False])
def test_one_long_call_of_those_counted_is_no_habit(
    tmp_path: Path, name: str, stalled: bool
) -> None:
    """Calls were only counted: 20 of a function, 50 ms in all; in one of them, or 2.5 ms in each."""
    kind = "sync" if name == "sync-churn" else "open"
    files = 20 if name == "many-files" else 1
    counters = [
        {"layer": "posix", "op": kind, "kind": kind, "file": file, "calls": 20 // files}
        | {"time": time, "longest": time if stalled else 25 * 10**5}
        for file in range(files)
        for time in [5 * 10**7 * (file == 0) if stalled else 5 * 10**7 // files]
    ]
    counters.append(
        {"layer": "posix", "op": "write", "kind": "write", "file": 0, "calls": 20, "bytes": 20}
    )
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9, "counted": 40}],
        processes=[{"process": 0}],
        files=[{"file": f, "path": f"/d/x{f}", "kind": "regular"} for f in range(files)],
        counters=counters,
    )
    assert bool(ask(findings.Questions(fathom.open(run)), name)) == (not stalled)


def test_groups_of_names_in_one_directory_are_one_finding(tmp_path: Path) -> None:
    names = [f"/d/{group}.{number}" for group in ("in", "out") for number in range(20)]
    opened = {"layer": "posix", "op": "open", "kind": "open", "calls": 1, "time": 10**6}
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9, "counted": 40}],
        processes=[{"process": 0}],
        files=[{"file": n, "path": name, "kind": "regular"} for n, name in enumerate(names)],
        counters=[opened | {"file": n, "longest": 10**6} for n in range(len(names))],
    )
    (row,) = ask(findings.Questions(fathom.open(run)), "many-files")
    assert (row["path"], row["files"], row["calls_made"]) == ("/d", 40, 40)
    assert sorted(row["cell_files"]) == list(range(40))


def test_files_of_several_processes_are_counted_once_each(tmp_path: Path) -> None:
    """Two ranks with 500 files each, of which 20 they share; directories that both list or make are no files."""
    opened = {"layer": "posix", "op": "open", "kind": "open", "calls": 1, "time": 10**6}
    of_rank, made = {0: range(500), 1: range(480, 980)}, range(981, 1001)
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9, "counted": 1042, "ranks": 2}],
        processes=[{"process": rank, "rank": rank} for rank in of_rank],
        files=[{"file": n, "path": f"/d/x{n}", "kind": "regular"} for n in range(980)]
        + [{"file": 980, "path": "/d/x980", "kind": "directory"}]
        + [{"file": n, "path": f"/d/y{n}", "kind": "unknown"} for n in made],
        counters=[
            opened | op | {"file": n, "process": rank, "longest": 10**6}
            for rank, numbers in of_rank.items()
            for op, some in (({}, (*numbers, 980)), ({"op": "mkdir", "kind": "meta"}, made))
            for n in some
        ],
    )
    found = findings.find(
        fathom.open(run), [catalog_path("findings", "many-files.sql")]
    ).conclusions
    (one,) = found
    assert (one.values["files"], one.values["calls_made"]) == (980, 1000)
    assert 980 not in one.values["cell_files"]
    assert "dataset" not in sentence(
        one.rule.fix, one.values
    )  # no HDF5 in a program of plain files


@pytest.mark.parametrize("files", [1, 400])
def test_a_file_takes_one_access_however_large(tmp_path: Path, files: int) -> None:
    """3 MiB through C streams, 8,000 bytes a ms: to one file that is 400 times too often, to 400 files it is not."""
    write = {"layer": "stdio", "op": "fwrite", "kind": "write", "bytes": 8000, "size": 8000}
    calls = [
        write | {"id": n, "file": n % files, "start": n * 10**7, "duration": 10**6, "state": "done"}
        | {"file_offset": n // files * 8000}
        for n in range(400)
    ]  # fmt: skip
    # What the store takes: 1 ms, and 1 ms a MiB.
    other = write | {"layer": "posix", "op": "write", "file": files, "state": "done"}
    for n, size in enumerate([4096, 1 << 20] * 10, start=400):
        calls.append(
            other | {"id": n, "start": n * 10**7, "duration": 10**6 + size, "bytes": size, "size": size}
        )  # fmt: skip
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 5 * 10**9, "events": 400}],
        processes=[{"process": 0}],
        files=[{"file": n, "path": f"/d/x{n}", "kind": "regular"} for n in range(files + 1)],
        calls=calls,
        counters=counters_of(calls),
    )
    found = ask(findings.Questions(fathom.open(run)), "stdio-bulk")
    assert [row["lost"] > 0.3 for row in found] == [True] * (files == 1)


def test_what_is_said_of_several_bursts_is_of_the_largest(tmp_path: Path) -> None:
    """Two ranks open at once twice, in the second burst twice as often; alone an open takes a ms."""
    ms = 1_000_000
    spans = [(1000, rank, 100) for rank in (0, 1)]
    spans += [(at, rank, 100) for at in (5000, 5100) for rank in (0, 1)]
    spans += [(10_000 + 100 * n, 0, 1) for n in range(40)]
    calls = [
        {"id": id_, "process": rank, "stream": rank, "layer": "posix", "op": "open", "kind": "open", "file": 0,
         "start": at * ms, "duration": took * ms, "state": "done"}
        for id_, (at, rank, took) in enumerate(spans)
    ]  # fmt: skip
    run = write_run(
        tmp_path / "r.fathom", runs=[{"ranks": 2, "duration": 20_000 * ms}],
        processes=[{"process": rank, "rank": rank} for rank in (0, 1)],
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}], calls=calls, counters=counters_of(calls),
    )  # fmt: skip
    (row,) = ask(findings.Questions(fathom.open(run)), "metadata-storm")
    assert (row["n"], row["most"], row["window"]) == (6, 4, pytest.approx(0.2))


@pytest.mark.parametrize(
    ("mpi", "inside", "knob"),
    [
        ("Open MPI v4.1.4", "MPI_File_write", "in MPI_File_write: --mca fs_ufs_lock_algorithm 1"),
        ("MPICH 4.0.2", "MPI_File_write", "in MPI_File_write: romio_ds_write=disable"),
        ("MPICH 4.0.2", None, ""),
    ],
)
def test_knobs_are_of_the_library_that_locks(
    tmp_path: Path, mpi: str, inside: str | None, knob: str
) -> None:
    lock = {
        "id": 2,
        "layer": "posix",
        "op": "flock",
        "kind": "meta",
        "file": 0,
        "start": 5,
        "duration": 10**9,
    }
    calls = [lock]
    if inside:
        lock["parent"] = 1
        calls = [{**lock, "id": 1, "layer": "mpiio", "op": inside, "kind": "write", "parent": None}, lock]  # fmt: skip
    calls = [call | {"process": 0, "stream": 0, "state": "done"} for call in calls]
    run = write_run(
        tmp_path / "r.fathom", runs=[{"ranks": 1, "duration": 2 * 10**9}],
        processes=[{"process": 0, "rank": 0, "mpi": mpi}],
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}], calls=calls, counters=counters_of(calls),
    )  # fmt: skip
    (one,) = findings.find(
        fathom.open(run), [catalog_path("findings", "time-in-locks.sql")]
    ).conclusions
    advice = sentence(one.rule.knob, one.values)
    assert advice.startswith(knob)
    assert bool(advice) == bool(knob)


def test_where_a_knob_is_romios_there_is_one_of_ompio() -> None:
    """Or the rule asks whose MPI-IO it is itself."""
    for path in sorted(catalog_path("findings").glob("*.sql")):
        rule = findings.read(path)
        assert not re.search(r"\b(romio|cb|ind)_\w+", rule.fix), f"{path.stem}: {rule.fix}"
        if re.search(r"\b(romio|cb|ind)_\w+", rule.knob):
            assert "--mca " in rule.ompio, path.stem


SEEK_SET, SEEK_CUR = 0, 1


@pytest.mark.parametrize(
    ("second", "whence", "said"),
    [(3, SEEK_SET, True), (4, SEEK_SET, False), (3, SEEK_CUR, False)],
)
def test_descriptors_whose_open_was_not_seen_are_told_apart_by_number(
    tmp_path: Path, second: int, whence: int, said: bool
) -> None:
    """Two threads of a process that was attached seek and read, by one descriptor or each by its own; or they only ask
    where it stands, as Arrow does before each write."""
    numbers = sorted({3, second})
    objects = [
        {"object": n, "process": 0, "number": n, "class": "descriptor", "file": 0, "descriptor": n, "inherited": True}
        for n in numbers
    ]  # fmt: skip
    calls = [
        {"id": 1000 * thread + n, "process": 0, "stream": thread, "layer": "posix", "file": 0, "state": "done",
         "object": numbers[-1] if thread else 3, "op": op, "kind": kind, "start": (2 * n + thread) * 10**6,
         "duration": 10**6, "bytes": 100, "error": 0}
        for thread in range(2)
        for n, (op, kind) in enumerate([("lseek", "seek"), ("read", "read")] * 50)
    ]  # fmt: skip
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9}],
        processes=[{"process": 0, "pid": 1}],
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}],
        objects=objects,
        calls=calls,
        args=[
            {"call": one["id"], "name": "whence", "value": whence}
            for one in calls
            if one["op"] == "lseek"
        ],
        counters=counters_of(calls),
    )
    assert bool(ask(findings.Questions(fathom.open(run)), "shared-position")) == said


def test_each_rule_has_causes_or_says_why_not() -> None:
    rules = map(findings.read, findings.catalog())
    silent = [rule for rule in rules if not rule.causes]
    assert [
        one.name for one in silent if not re.search("danger|not known|No cause", one.lost)
    ] == []
