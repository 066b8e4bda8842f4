"""What the kernel does for attached processes (`fathom attach --kernel`, docs/kernel.md)."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import FathomError
from fathom.run import control, manifest, paths


class Recorder:
    """`fathom-engine kernel`, which loads what tells of it. It outlives us; it ends with the processes or the rings."""

    def __init__(self, pids: Sequence[int], calls_of: Sequence[int]) -> None:
        """Loads it; until `follow` it ends with us. `calls_of`: with system calls, for no library is in them.
        Errors: FathomError with what is missing."""
        words = [str(paths.engine()), "kernel"]
        for option, processes in (("--process", pids), ("--calls-of", calls_of)):
            for pid in processes:
                words += [option, str(pid)]
        self._engine = subprocess.Popen(
            words,
            cwd="/",
            start_new_session=True,  # a Ctrl-C is for us
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._await("loaded")

    def _await(self, word: str) -> None:
        assert self._engine.stdout
        line = self._engine.stdout.readline().rstrip("\n")
        if line != word:
            raise FathomError(f"attach: --kernel: {line or 'fathom-engine ended at once'}")

    def follow(self, run: Path, rings: Path, library: Path) -> None:
        """Records from now on, into this node's part of the run. Errors: FathomError."""
        assert self._engine.stdin and self._engine.stdout
        with self._engine.stdin as words:
            words.write(f"{manifest.own_node(run)}\n{rings}\n{library}\n")
        self._await("ready")
        self._engine.stdout.close()


def await_end(run: Path) -> None:
    """Returns when what the kernel did is written on this node: the rings are gone."""
    until = time.monotonic() + control.PATIENCE
    for path in manifest.own_node(run).glob("kernel.*.fts"):
        with path.open("rb") as file:
            while not _is_free(file.fileno()):
                if time.monotonic() > until:
                    print(f"fathom: {path.name} is not whole: it is still written", file=sys.stderr)
                    return
                time.sleep(0.02)


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
