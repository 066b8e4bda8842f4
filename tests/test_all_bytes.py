"""Bytes that move without a read or a write of the program: asynchronous ones when they are done, both sides of a copy.
Each sum has them, at every level."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths

LEVELS = ["call", "file"]


def shown(folder: Path, level: str, program: str, *words: object) -> dict[str, Any]:
    """The tables of `fathom show --json` of a program run at this level."""
    run = folder / "r.fathom"
    command = [paths.PROGRAMS / "programs" / program, *words]
    record = [paths.FATHOM, "run", "--no-show", "--level", level, "-o", run, "--", *command]
    subprocess.run([str(word) for word in record], check=True, timeout=120)
    show = [paths.PYTHON, "-m", "fathom", "show", "--json", str(run)]
    told = subprocess.run(show, check=True, timeout=120, capture_output=True).stdout
    tables: dict[str, Any] = json.loads(told)
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
