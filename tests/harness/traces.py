"""Traces of DFTracer and Recorder into the engine, as `fathom import` gives them, without Python's start."""

import functools
import shutil
import subprocess
from pathlib import Path

from fathom.run.functions import catalog
from fathom.run.paths import engine


@functools.cache
def _functions() -> str:
    return catalog()


def given(tool: str, trace: Path, run: Path) -> subprocess.CompletedProcess[str]:
    """What the engine says of it."""
    return subprocess.run(
        [engine(), tool, run, trace],
        input=_functions(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def refused(tool: str, trace: Path, run: Path) -> str:
    """The one line that refuses it; nothing was made."""
    done = given(tool, trace, run)
    assert done.returncode == 3, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not list(run.parent.glob(f"{run.name}*"))
    return done.stderr


def is_refused(tool: str, trace: Path, run: Path) -> bool:
    """Refused by a line, or read; the run is not kept."""
    if given(tool, trace, run).returncode == 0:
        shutil.rmtree(run)
        return False
    refused(tool, trace, run)
    return True
