"""`fathom run --regions`: functions of a Python program that knows nothing of it are regions, in every CPython."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness import exports, paths, tables
from harness.pythons import MINORS, interpreter

PROGRAM = paths.ROOT / "tests/programs/unmarked.py"
FUNCTIONS = {"epoch": "epoch", "step": "Model.step", "batches": "batches", "task": "task"}
NAMES = [None, *FUNCTIONS]
#: Of five times 20 rounds, and three tasks.
WRITES = {None: 5 * 20 * 5 + 50 + 1, "epoch": 2 * 5 * 39, "step": 100, "batches": 600, "task": 6}


def record(place: Path, python: str, environment: dict[str, str] | None = None) -> Path:
    words = [
        word
        for name, function in FUNCTIONS.items()
        for word in ("--regions", f"{name}=programs/unmarked.py:{function}")
    ]
    started = [f"{name}={value}" for name, value in (environment or {}).items()]
    return exports.record(place, *words, "--", "env", *started, python, PROGRAM, place / "out")


@pytest.mark.some(3)
@pytest.mark.parametrize("minor", MINORS)
def test_functions_are_regions(tmp_path: Path, minor: int) -> None:
    """The program writes at the offset that is the number of the region around it."""
    found = tables.ask(
        tables.opened(record(tmp_path, interpreter(minor))),
        "select c.file_offset, r.op, count(*) from calls as c left join calls as r on r.id = c.parent"
        " where c.op like 'pwrite%' group by all",
    )
    assert {(NAMES[offset], region): calls for offset, region, calls in found} == {
        (name, name): calls for name, calls in WRITES.items()
    }


def test_the_users_own_customization_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('mine')\n")
    command = [paths.FATHOM, "run", "--no-show", "-o", "r", "--regions", "a=b.py:c", "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", "import sitecustomize; print(sitecustomize.__file__)"],
        cwd=tmp_path, env={"PYTHONPATH": "own", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["mine", str(tmp_path / "own" / "sitecustomize.py")]


@pytest.mark.parametrize("word", ["epoch", "=a.py:f", "epoch=a.py", "epoch=:f", "epoch=a.py:"])
def test_a_wrong_region_is_refused(tmp_path: Path, word: str) -> None:
    command = [paths.FATHOM, "run", "--regions", word, "--", "true"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert "is not NAME=FILE:FUNCTION" in done.stderr
