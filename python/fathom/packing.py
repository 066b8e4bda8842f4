"""A run packed by the workers of a cluster: the engine says what is to be done, and each worker does a share of it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import engine, places
from fathom.directory import ended
from fathom.errors import FathomError

if TYPE_CHECKING:
    from fathom.cluster import Workers


def share(folder: str, step: str, number: int) -> float:
    """What a worker does, with as many threads as it has; the most memory that it took, in GiB."""
    from distributed import get_worker

    threads = str(get_worker().state.nthreads)
    engine.ask(["pack-share", folder, step, str(number), "--jobs", threads], "")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20


def pack(directory: Path, words: Sequence[str], workers: Workers) -> None:
    """Makes the tables as `fathom-engine pack` with these words, unless they are up to date; what is said between the
    two is in engine/cli/src/shares.rs. Errors: DamagedRun, already said on stderr."""
    began = time.monotonic()
    command = [str(places.engine()), "pack", "--shares", str(workers.number), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, str(directory)], stdin=pipe, stdout=pipe, text=True, restore_signals=False
    ) as packer:
        assert packer.stdin and packer.stdout
        peaks: list[float] = []
        for line in packer.stdout:
            with suppress(BrokenPipeError):  # it has ended, and said why
                print(_done(directory, line, workers, peaks), file=packer.stdin, flush=True)
    ended("pack", packer.returncode)
    if peaks:
        took = f"{time.monotonic() - began:.1f} s, at most {max(peaks):.2f} GiB in one"
        print(f"fathom: packed by {workers.number} workers, {took}", file=sys.stderr)


def _done(directory: Path, line: str, workers: Workers, peaks: list[float]) -> str:
    """`done`, or in a line why not."""
    step, shares, name = line.split()
    folder = str(directory / name)
    try:
        peaks += workers.share(share, [(folder, step, number) for number in range(int(shares))])
    except FathomError as error:
        return " ".join(str(error).split())
    return "done"
