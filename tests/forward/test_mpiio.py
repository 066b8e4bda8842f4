"""MPI-IO through forwarding: an access is one request whatever its pieces, an open one look-up. About 15 s."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fathom
import pytest
from harness import needs, paths
from harness.runner import LAUNCH, STACK_ENV

from .test_run import traced

RANKS = 4
WRITES, READS = 4, 5  # of a rank of views.c, 500 pieces each

ASKED = """
select s.op, count(*)::int as n from calls s join files f on f.file = s.file
where s.layer = 'server' and f.path = $path group by s.op"""


def launched(mpi: str, place: Path, name: str = "views") -> list[str]:
    program = paths.BUILD / f"tests/programs/mpi/{name}_{needs.MPI[mpi]}"
    return [*LAUNCH[mpi].split(), "-n", str(RANKS), str(program), str(place / "f")]


def direct(mpi: str, place: Path) -> bytes:
    place.mkdir()
    subprocess.run(
        launched(mpi, place), check=True, capture_output=True, timeout=300,
        env=os.environ | STACK_ENV,
    )  # fmt: skip
    return (place / "f").read_bytes()


def served(mpi: str, at: Path, *options: str, name: str = "views") -> dict[str, int]:
    """Requests on the file, by op, of a run that went well."""
    place = at / "served"
    place.mkdir()
    words = ["--forward-path", str(place), *options, "--", *launched(mpi, place, name)]
    done = traced(at, *words)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = fathom.open(at / "r.fathom").sql(ASKED, path=str(place / "f")).to_pylist()
    return {row["op"]: row["n"] for row in rows}


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", ["mpich", "ompio", "romio321"])
def test_an_access_is_one_request_and_a_collective_open_one_look_up(
    tmp_path: Path, mpi: str
) -> None:
    needs.require(needs.of_mpi(mpi))
    asked = served(mpi, tmp_path, "--forward=1")
    assert (tmp_path / "served/f").read_bytes() == direct(mpi, tmp_path / "direct")
    assert asked["write"] == RANKS * WRITES and asked["read"] == RANKS * READS
    assert asked["open"] + asked.get("lookup", 0) == 1
    assert asked["commit"] >= RANKS  # MPI_File_sync


def test_ranks_of_another_server_look_the_file_up_there(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    asked = served("mpich", tmp_path, "--forward=2")
    assert (tmp_path / "served/f").read_bytes() == direct("mpich", tmp_path / "direct")
    assert asked["open"] == 1 + RANKS // 2


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("mpi", "level", "name"),
    [
        ("mpich", "written", "strided"),
        ("mpich", "accepted", "strided_fortran"),
        ("romio321", "accepted", "strided"),
    ],
)
def test_atomic_mode_is_the_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: str, level: str, name: str
) -> None:
    """The program ends with 1 where a rank reads what no order of the writes can have left."""
    needs.require(needs.of_mpi(mpi))
    monkeypatch.setenv("FATHOM_FORWARD_DURABILITY", level)
    asked = served(mpi, tmp_path, "--forward=2", name=name)
    assert asked["lock"] > 0 and asked["unlock"] > 0  # of data sieving too
