"""`fathom demo`: what is wrong with each of its two programs is what the page says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import needs, paths
from harness.runner import STACK_ENV


def demo(folder: Path, *options: str, status: int = 0, **environment: str) -> str:
    """What a terminal has of it."""
    env = {**os.environ, **STACK_ENV, "LC_ALL": "C.UTF-8", **environment}
    done = subprocess.run(
        [paths.FATHOM, "demo", *options],
        cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def in_order(text: str, *parts: str) -> bool:
    """Each is there, behind the one before."""
    for part in parts:
        _, found, text = text.partition(part)
        if not found:
            return False
    return True


def test_the_python_program(tmp_path: Path) -> None:
    out = demo(tmp_path, "--python", "-o", "here")
    assert in_order(
        out, "$ cd here\n", "run -o heat.fathom", "Small accesses, one after the other",
        "heat.py:", "Its source: here/heat.py",
    ), out  # fmt: skip
    assert (tmp_path / "here" / "heat.fathom" / "run.json").is_file()


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_c_program(tmp_path: Path, mpi: str) -> None:
    needs.require([f"mpicc.{mpi}", f"mpiexec.{mpi}"])
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("mpicc", "mpiexec"):
        (bin_ / name).write_text(f'#!/bin/sh\nexec {name}.{mpi} "$@"\n')
        (bin_ / name).chmod(0o755)
    out = demo(tmp_path, PATH=f"{bin_}:{os.environ['PATH']}")
    assert in_order(
        out, "$ cd fathom-demo\n", "$ mpicc -g -O2 -o heat heat.c\n",
        "Small independent accesses of ranks to one file", "heat.dat", "Its source: fathom-demo/heat.c",
    ), out  # fmt: skip


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "fathom-demo").mkdir()
    out = demo(tmp_path, status=3)
    assert out.count("\n") == 1 and "fathom-demo is there already" in out


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    """The way around it is named."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("mpicc", "mpiexec"):
        (bin_ / name).write_text("#!/bin/sh\nexit 7\n")
        (bin_ / name).chmod(0o755)
    out = demo(tmp_path, status=3, PATH=f"{bin_}:{os.environ['PATH']}")
    assert "mpicc -g -O2 -o heat heat.c ended with status 7" in out and "--python" in out
