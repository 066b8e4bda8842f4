"""A run packed by the workers of a cluster: the engine says what is to be done, and each worker does a share of it."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import FathomError, RunError
from fathom.run import engine, paths, programs
from fathom.run.cluster import counted
from fathom.run.engine import ended

if TYPE_CHECKING:
    from fathom.run.cluster import Workers


def share(folder: str, step: str, number: int) -> float:
    """What a worker does, with as many threads as it has; the most memory that it took, in GiB."""
    from distributed import get_worker

    threads = str(get_worker().state.nthreads)
    try:
        engine.ask(["pack-share", folder, step, str(number), "--jobs", threads], "")
    except FathomError as error:
        raise RunError(f"{socket.gethostname()}: {error}") from error
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20


def pack(directory: Path, words: Sequence[str], workers: Workers) -> None:
    """Makes the tables as `fathom-engine pack` with these words, unless they are up to date; what is said between the
    two is in engine/cli/src/shares.rs. Errors: DamagedRun, already said on stderr."""
    began = time.monotonic()
    command = [str(paths.engine()), "pack", "--shares", str(workers.number), *words]
    pipe = subprocess.PIPE
    peaks: list[float] = []
    # Ctrl-C is for us: it removes what it made once we do not answer any more.
    with subprocess.Popen(
        [*command, str(directory)], stdin=pipe, stdout=pipe, text=True, restore_signals=False,
        start_new_session=True,
    ) as packer:  # fmt: skip
        try:
            _answer(packer, directory, workers, peaks)
        except BaseException:
            _leave(packer)
            raise
    ended("pack", packer.returncode)
    if peaks:
        took = f"{time.monotonic() - began:.1f} s, at most {max(peaks):.2f} GiB in one"
        print(f"fathom: packed by {counted(workers.number, 'worker')}, {took}", file=sys.stderr)


def _answer(
    packer: subprocess.Popen[str], directory: Path, workers: Workers, peaks: list[float]
) -> None:
    """Has done what it says."""
    assert packer.stdin and packer.stdout
    for line in packer.stdout:
        with suppress(BrokenPipeError):  # it has ended, and said why
            print(_done(directory, line, workers, peaks), file=packer.stdin, flush=True)


def _leave(packer: subprocess.Popen[str]) -> None:
    """It ends by itself, unless it waits for another packer."""
    assert packer.stdin
    with suppress(OSError, subprocess.TimeoutExpired):
        packer.stdin.close()
        packer.wait(programs.GRACE)
    programs.end(packer)


def _done(directory: Path, line: str, workers: Workers, peaks: list[float]) -> str:
    """`done`, or in a line why not."""
    step, shares, name = line.split()
    folder = str(directory / name)
    try:
        peaks += workers.share(share, [(folder, step, number) for number in range(int(shares))])
    except FathomError as error:
        return " ".join(str(error).split())
    return "done"
