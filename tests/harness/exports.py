"""Runs to be exported, and the command that does it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from pathlib import Path

from fathom.__main__ import main

from harness import needs, paths, runner, tables

#: A small S3D checkpoint on four ranks; its directory follows.
S3D = ("-r", "-c", "1", "6", "6", "6", "2", "2", "1")


def export(run: Path, *words: object, status: int = 0) -> tuple[str, str]:
    """What `fathom export` says on stdout and stderr, run beside the run."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(run.parent),
    ):
        assert main(["export", str(run), *map(str, words)]) == status, err.getvalue()
    return out.getvalue(), err.getvalue()


def counted(place: Path, program: str, writes: int) -> Path:
    """Small writes that are only counted, by a program of this name."""
    code = f"import os\nf = os.open('f', os.O_WRONLY | os.O_CREAT)\nfor _ in range({writes}): os.write(f, b'x' * 100)\n"
    run = record(place, "--level", "file", "--", paths.PYTHON, "-c", code)
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps(manifest | {"program": program}), encoding="utf-8")
    return run


def record(place: Path, *words: object, status: int = 0) -> Path:
    """A packed run of a program."""
    done = subprocess.run(
        [str(paths.FATHOM), "run", "--no-show", "-o", "run", *map(str, words)], cwd=place,
        env=os.environ | runner.STACK_ENV, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr[-2000:]
    tables.pack(place / "run.fathom")
    return place / "run.fathom"


def kernel(place: Path, name: str, *options: object) -> Path:
    """A run of one of S3D's kernels on MPICH; `{out}` in the options is where its files go."""
    needs.require(needs.of_mpi("mpich"))
    out = place / "out"
    out.mkdir()
    program = paths.BUILD / "kernels" / f"{name}_mpich"
    options_ = [str(one).format(out=out) for one in options]
    return record(place, *options_, "--", "mpiexec.mpich", "-n", "4", program, *S3D, out)
