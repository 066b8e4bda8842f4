"""What every benchmark needs: where the built things are, how to run, a row of the result."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "bench"
NESTED = PROGRAMS / "nested_mpich"
FATHOM = ROOT / "build" / "fathom"
ENGINE = ROOT / "engine" / "target" / "release" / "fathom-engine"


@dataclass
class Row:
    """One line of the result. `met` is None where there is no target: the figure is information."""

    what: str
    measured: float | None  # None: it could not be, `what` says why
    unit: str
    baseline: float | None = None  # the same thing without Fathom, in the same run and unit
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


VERDICT = {True: "yes", False: "NO", None: ""}


def number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.2f} {unit}".rstrip()


class BenchError(Exception):
    """A program of the benchmark did not do what it was asked."""


def run(
    command: list[str | Path],
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Runs a command with extra environment, gives its standard output; its failure is an error."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def fathom_run(directory: Path, *options: str | Path) -> list[str | Path]:
    """The words before a program that put it under Fathom; the run directory must not exist yet."""
    return [FATHOM, "run", "--no-show", "-o", directory, *options, "--"]


@contextmanager
def scratch(where: str | None = None) -> Iterator[Path]:
    """A directory that is gone afterwards; `where` = /dev/shm for measurements without a disk."""
    path = Path(tempfile.mkdtemp(prefix="fathom-bench.", dir=where))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def size_of(directory: Path, pattern: str) -> int:
    """Bytes of the files below a directory that match a glob."""
    return sum(path.stat().st_size for path in directory.rglob(pattern) if path.is_file())


def pack(directory: Path, env: dict[str, str] | None = None) -> None:
    """Makes the tables of a run directory, as the first reader would."""
    run([ENGINE, "pack", directory], env)
    if not (directory / "tables").is_dir():
        raise BenchError(f"{directory}: packing made no tables")


@contextmanager
def regular_run(
    calls: int, program: Path = PROGRAMS / "regular", processes: int = 1
) -> Iterator[Path]:
    """A run in memory, not packed: 8-byte accesses, the most own calls that so many events can be; of `NESTED` each
    call makes two events. Of several processes each makes its part of the calls."""
    with scratch("/dev/shm") as directory:
        recorded, data = directory / "run.fathom", directory / "data"
        each = "for i in $(seq $3); do $0 $1 $2 & done; wait"
        words: list[str | Path] = [program, data, str(calls // processes), str(processes)]
        run([*fathom_run(recorded, "--budget", "1GiB"), "sh", "-c", each, *words])
        data.unlink()
        yield recorded


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    seconds: float  # by the clock
    processor_seconds: float
    gib: float  # the most memory


def cost(command: list[str | Path]) -> Cost:
    """What a command takes, as a user calls it."""
    words = [str(word) for word in command]
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise BenchError(f"{' '.join(words)}: exit {child.returncode}")
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20)
