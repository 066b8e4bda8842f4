"""Times and bytes of collective calls that pass, summed over ranks, every limit of 64 bits: each table of MPI-IO."""

from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.pages.sections import BY
from schema import counters_of, write_run

RANKS = 10
NS, BYTES = 4 * 10**18, 3 * 10**18


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each rank asks for as much in one collective write and one independent read; rank 0 writes for all."""
    calls: list[dict[str, Any]] = []
    for rank in range(RANKS):
        whose = {
            "process": rank,
            "rank": rank,
            "stream": rank,
            "file": 0,
            "start": 0,
            "state": "done",
        }
        data = whose | {"duration": NS, "bytes": BYTES, "size": BYTES, "file_offset": 0}
        id_ = 100 * rank
        inner = data | {"depth": 1, "layer": "posix"}
        write, read = {"parent": id_, "own": id_}, {"parent": id_ + 3, "own": id_ + 3, "start": NS}
        calls += [
            {**data, "id": id_, "layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": 0},
            {**inner, **write, "id": id_ + 1, "op": "pwrite", "kind": "write"},
            {**inner, **write, "id": id_ + 2, "layer": "mpi", "op": "MPI_Alltoall", "kind": "comm"},
            {**data, "id": id_ + 3, "start": NS, "layer": "mpiio", "op": "MPI_File_read_at", "kind": "read"},
            {**inner, **read, "id": id_ + 4, "op": "pread", "kind": "read"},
        ]  # fmt: skip
    together = {
        "collective": 0, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0, "ordinal": 1, "ranks_expected": RANKS,
        "ranks_seen": RANKS, "agreed": True, "first_enter": 0, "last_enter": 0, "first_leave": NS, "last_leave": NS,
    }  # fmt: skip
    return write_run(
        tmp_path_factory.mktemp("vast") / "r.fathom",
        runs=[{"ranks": RANKS, "ranks_seen": RANKS, "duration": 2 * NS, "events": len(calls)}],
        processes=[{"process": rank, "rank": rank, "stop": 2 * NS} for rank in range(RANKS)],
        files=[{"file": 0, "path": "/scratch/f", "kind": "regular"}],
        calls=calls, counters=counters_of(calls), collectives=[together],
    )  # fmt: skip


@pytest.mark.some(12)
@pytest.mark.parametrize("key", sorted(BY))
def test_a_table(run: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ((), ("--csv",), ("--json",)):
        assert main(["show", str(run), "--by", key, *form]) == 0, capsys.readouterr().err
    capsys.readouterr()


def test_the_page_and_its_findings(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--all",), ("--findings",), ("--json",)):
        assert main(["show", str(run), *more]) == 0, capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().out
