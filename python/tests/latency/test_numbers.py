"""Calls are numbered from 0 in each rank among those asked about; a collective call has one number at all its ranks."""

from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.errors import UsageError
from fathom.run.store import Run
from schema import counters_of, write_run

#: Rank 0 writes a log before its first collective call, and between the others; MPI_Init's calls come before all.
CALLS: dict[int, list[tuple[str, str, int | None]]] = {
    0: [("posix", "write", None), ("mpiio", "MPI_File_open", 0), ("posix", "write", None), ("posix", "write", None),
        ("mpiio", "MPI_File_write_all", 1), ("mpiio", "MPI_File_close", 2)],
    1: [("mpiio", "MPI_File_open", 0), ("mpiio", "MPI_File_write_all", 1), ("posix", "write", None),
        ("mpiio", "MPI_File_close", 2)],
}  # fmt: skip
KINDS = {"MPI_File_open": "open", "MPI_File_close": "close"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    calls: list[dict[str, Any]] = []
    for rank, each in CALLS.items():
        for place, (layer, op, collective) in enumerate(each):
            row = {"id": len(calls) + 1, "process": rank, "stream": rank, "rank": rank, "call": 100 * rank + place,
                   "file": 0, "layer": layer, "op": op, "kind": KINDS.get(op, "write"), "start": 10 * place + rank,
                   "duration": 5, "bytes": 0}  # fmt: skip
            calls.append(row if collective is None else row | {"collective": collective})
    names = ("MPI_File_open", "MPI_File_write_all", "MPI_File_close")
    return fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{"duration": 100, "ranks": 2}],
            calls=calls,
            counters=counters_of(calls),
            collectives=[
                {"collective": n, "op": op, "layer": "mpiio", "first_enter": 10 * n, "last_leave": 90}
                for n, op in enumerate(names)
            ],
            processes=[{"process": rank, "rank": rank, "node": 0} for rank in CALLS],
            nodes=[{"node": 0, "host": "n0"}],
            files=[{"file": 0, "path": "/d/f", "kind": "file"}],
        )
    )  # fmt: skip


def asked(run: Run, text: str, **part: Any) -> list[tuple[int, int, str]]:
    rows = model.answer(run, language.parse(text), Segment(**part), 0).views["call"].to_pylist()
    return [(row["rank"], row["call"], row["function"]) for row in rows]


def test_a_collective_call_has_one_number(run: Run) -> None:
    assert asked(run, "latency breakdown inclusive") == [
        (0, 0, "write"), (0, 1, "MPI_File_open"), (0, 2, "write"), (0, 3, "write"),
        (0, 4, "MPI_File_write_all"), (0, 6, "MPI_File_close"),
        (1, 1, "MPI_File_open"), (1, 4, "MPI_File_write_all"), (1, 5, "write"), (1, 6, "MPI_File_close"),
    ]  # fmt: skip


def test_numbers_are_of_what_is_asked(run: Run) -> None:
    of_mpiio = [(rank, n, op) for rank in (0, 1) for n, op in enumerate(
        ("MPI_File_open", "MPI_File_write_all", "MPI_File_close"))]  # fmt: skip
    assert asked(run, "latency breakdown inclusive", layer="mpiio") == of_mpiio
    assert asked(run, "latency breakdown inclusive [-] [1-2]", layer="mpiio") == [
        row for row in of_mpiio if row[1] in (1, 2)
    ]
    only = asked(run, "latency breakdown inclusive 0-1 0", function="MPI_File_write_all")
    assert only == [(0, 0, "MPI_File_write_all"), (1, 0, "MPI_File_write_all")]


def test_a_number_that_is_not_there(run: Run) -> None:
    with pytest.raises(UsageError, match="no I/O call 7 in this part of the run; there are 1-6"):
        asked(run, "latency breakdown inclusive 1 7")
    with pytest.raises(UsageError, match=r"--layer; there are (posix, mpiio|mpiio, posix)"):
        asked(run, "call", layer="hdf5")
