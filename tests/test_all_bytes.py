"""Bytes that move without a read or a write of the program: asynchronous ones when they are done, both sides of a copy.
Each sum has them, at every level."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from harness import needs, paths, runner

LEVELS = ["call", "file"]


def shown(folder: Path, level: str, program: str, *words: object, mpi: str = "") -> dict[str, Any]:
    """The tables of `fathom show --json` of a program run at this level, with MPI on two ranks."""
    run = folder / "r.fathom"
    launch = [*shlex.split(runner.LAUNCH[mpi]), "-n", "2"] if mpi else []
    built = f"{program}_{needs.MPI[mpi]}" if mpi else program
    command = [*launch, paths.PROGRAMS / "programs" / built, *words]
    record = [paths.FATHOM, "run", "--no-show", "--level", level, "-o", run, "--", *command]
    environment = os.environ | runner.STACK_ENV if mpi else None
    subprocess.run([str(word) for word in record], check=True, timeout=300, env=environment)
    show = [paths.PYTHON, "-m", "fathom", "show", "--json", str(run)]
    page = subprocess.run(show, check=True, timeout=300, capture_output=True).stdout
    tables: dict[str, Any] = json.loads(page)
    return tables


NAMELESS = """\
import os, sys, tempfile
folder, how = sys.argv[1:]
os.chdir(folder)
one = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(one, bytes(30))
if how == "linked":
    here = os.open(".", os.O_RDONLY)  # with it Python calls linkat
    os.link(f"/proc/self/fd/{one}", "one", src_dir_fd=here, dst_dir_fd=here)
os.close(one)
with open("real.dat", "wb") as real:
    real.write(bytes(80))
with open("one", "ab") as again:
    again.write(bytes(5))
"""


def moved(tables: dict[str, Any], path: Path) -> tuple[int, int]:
    (one,) = [file for file in tables["files"] if file["path"] == str(path)]
    return one["bytes_read"], one["bytes_written"]


@pytest.mark.some(3)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("program", "need", "read"),
    [
        ("aio_posix", [], 4010),  # 4 of 1,000 bytes, one cut to 10
        ("aio_kernel", ["library:aio"], 347),  # 7, 300, 10 and 30
        ("aio_uring", ["library:uring", "io_uring"], 2340),  # 7, 30, 100, 200 of 11, a pread of 3
    ],
)
def test_asynchronous_bytes(
    tmp_path: Path, level: str, program: str, need: list[str], read: int
) -> None:
    needs.require(need)
    path = tmp_path / "f"
    tables = shown(tmp_path, level, program, path)
    written = path.stat().st_size
    assert moved(tables, path) == (read, written)
    of = {layer["layer"]: layer["bytes"] for layer in tables["layers"]}
    assert of["aio"] + of["posix"] == read + written
    (process,) = tables["ranks"]
    assert process["bytes"] == read + written


def by_layer(folder: Path) -> dict[str, int]:
    """Bytes on the screen *Breakdown*."""
    asked = {"run": "r", "by": "layer", "of": "inclusive"}
    answer = screens.ask(Runs([folder / "r.fathom"]), "breakdown", asked)
    names = [column["name"] for column in answer["columns"]]
    return {row[names.index("key")]: row[names.index("bytes")] for row in answer["rows"]}


@pytest.mark.some(2)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_bytes_of_posted_writes_of_mpi(tmp_path: Path, level: str, mpi: str) -> None:
    """MPI_File_iwrite_at of 1 to 20 bytes, completed in all ways; 2 ranks."""
    needs.require(needs.of_mpi(mpi))
    tables = shown(tmp_path, level, "mpi_requests", tmp_path / "f", mpi=mpi)
    written = 2 * sum(range(1, 21))
    of = {layer["layer"]: layer["bytes"] for layer in tables["layers"]}
    assert of["mpiio"] == by_layer(tmp_path)["mpiio"] == written
    assert moved(tables, tmp_path / "f") == (0, written)


@pytest.mark.some(1)
@pytest.mark.parametrize("level", LEVELS)
def test_bytes_of_posts_of_pnetcdf(tmp_path: Path, level: str) -> None:
    """What the program says of itself, but what it cancels and what is pending when it closes the file, twice."""
    needs.require([*needs.of_mpi("ompio"), "library:pnetcdf"])
    tables = shown(tmp_path, level, "pnetcdf_calls", tmp_path, mpi="ompio")
    bytes_posted = 0
    for account in tmp_path.glob("account.*"):
        lines = [line.split(";") for line in account.read_text().splitlines()]
        amounts = [(line[2], int(line[4])) for line in lines]
        bytes_posted += sum(amount for _, amount in amounts if amount > 0)
        bytes_posted -= [amount for op, amount in amounts if op == "ncmpi_iput_vara"][-1]
        bytes_posted -= sum([amount for op, amount in amounts if op == "ncmpi_iget_vara"][-2:])
    of = {layer["layer"]: layer["bytes"] for layer in tables["layers"]}
    assert of["pnetcdf"] == by_layer(tmp_path)["pnetcdf"] == bytes_posted > 0
    # The account itself is written besides, in next to no time.
    accounts = sum(path.stat().st_size for path in tmp_path.glob("account.*"))
    assert of["stdio"] == accounts
    (library,) = tables["answers"]["says"]["Which library?"]
    assert "called directly besides: " in library and "C streams" in library


@pytest.mark.parametrize("level", LEVELS)
def test_both_sides_of_a_copy(tmp_path: Path, level: str) -> None:
    tables = shown(tmp_path, level, "data_calls", tmp_path)
    copies = 31 + 32 + 33
    assert moved(tables, tmp_path / "copy") == (0, copies)
    assert moved(tables, tmp_path / "data") == (4 * 123 + copies, 4000 + 3 * 123 + 77)


@pytest.mark.parametrize("how", ["linked", "gone"])
def test_a_file_made_without_a_name_is_one_of_its_own(tmp_path: Path, how: str) -> None:
    (tmp_path / "nameless.py").write_text(NAMELESS)
    tables = shown(tmp_path, "call", paths.PYTHON, tmp_path / "nameless.py", tmp_path, how)
    assert moved(tables, tmp_path / "real.dat") == (0, 80)
    assert moved(tables, tmp_path / "one") == (0, 35 if how == "linked" else 5)
    names = {file["path"]: file["bytes_written"] for file in tables["files"]}
    assert names.get(str(tmp_path), 0) == 0
    mine = (name for name in names if name.startswith(str(tmp_path)))
    nameless = [names[name] for name in mine if name.endswith(" (deleted)")]
    assert nameless == ([] if how == "linked" else [30])
