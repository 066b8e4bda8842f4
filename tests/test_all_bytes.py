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


def moved(tables: dict[str, Any], path: Path) -> tuple[int, int]:
    (one,) = [file for file in tables["files"] if file["path"] == str(path)]
    return one["bytes_read"], one["bytes_written"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("program", "need", "read"),
    [
        ("aio_posix", [], 4010),  # 4 of 1,000 bytes, one cut to 10
        ("aio_kernel", ["library:aio"], 347),  # 7, 300, 10 and 30
        (
            "aio_uring",
            ["library:uring", "io_uring"],
            2340,
        ),  # 7, 30, 100, 200 of 11, and a pread of 3
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
