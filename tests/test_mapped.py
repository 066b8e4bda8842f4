"""Files that are used through memory: as much as /proc/self/smaps says that the process has of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import paths, tables

PROGRAM = paths.TESTS / "programs/mapped.py"
USED = """select sum(a.value) as used from calls c join args a on a.call = c.id join files f on f.file = c.file
    where a.name = 'used' and f.path = '{path}' group by c.process order by c.process"""


def record(
    tmp_path: Path, how: str, *options: str, before: tuple[str, ...] = ()
) -> tuple[Path, list[int]]:
    """The run, and what the program said."""
    run = tmp_path / f"{how}.fathom"
    words = [
        *before,
        paths.FATHOM,
        "run",
        "--no-show",
        *options,
        "-o",
        run,
        "--",
        paths.PYTHON,
        PROGRAM,
        how,
    ]
    done = subprocess.run(
        [*words, tmp_path / "data"], capture_output=True, text=True, timeout=300, check=True
    )
    return run, sorted(int(line) for line in done.stdout.split())


def used(run: Path, path: Path) -> list[int]:
    return sorted(row[0] for row in tables.ask(tables.connect(run), USED.format(path=path)))


@pytest.mark.parametrize("how", ["numpy", "arrow", "safetensors", "fork"])
def test_as_much_as_the_kernel_says(tmp_path: Path, how: str) -> None:
    run, said = record(tmp_path, how)
    assert used(run, tmp_path / "data") == said


@pytest.mark.skipif(
    not shutil.which("strace"), reason="strace makes the kernel look like an older one"
)
def test_page_by_page(tmp_path: Path) -> None:
    """As where the kernel cannot be asked about a range, before Linux 6.7."""
    without = (
        "strace",
        "-qq",
        "-f",
        "-o",
        os.devnull,
        "-e",
        "trace=ioctl",
        "-e",
        "inject=ioctl:error=ENOTTY",
    )
    run, said = record(tmp_path, "numpy", before=without)
    assert used(run, tmp_path / "data") == said


def shown(run: Path, *words: str) -> str:
    command: list[Any] = [paths.FATHOM, "show", run, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


@pytest.mark.parametrize(
    ("level", "words"), [("call", "used, of 32 MiB mapped"), ("file", "data: 32 MiB, read")]
)
def test_the_page_says_that_no_call_reads_it(tmp_path: Path, level: str, words: str) -> None:
    run, said = record(tmp_path, "numpy", "--level", level)
    page = " ".join(shown(run).split())
    assert "Mapped files? data: " in page
    assert words in page
    [row] = shown(run, "--by", "mapped", "--csv").splitlines()[1:]
    assert row == f"{tmp_path}/data,1,{32 << 20},{said[0] if level == 'call' else ''},1"


def test_of_a_program_that_maps_little_nothing_is_said(tmp_path: Path) -> None:
    run = tmp_path / "ls.fathom"
    subprocess.run(
        [paths.FATHOM, "run", "--no-show", "-o", run, "--", "ls", "/"],
        capture_output=True,
        check=True,
    )
    assert "Mapped files?" not in shown(run)
