"""fathom attach and detach in tests, and the program that they are tried on."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import paths

PROGRAMS = paths.PROGRAMS / "programs"


def fathom(place: Path, *words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=300, check=False, **more
    )


def works(place: Path, *words: object) -> None:
    done = fathom(place, *words)
    assert done.returncode == 0, done.stderr


class Program:
    """tests/programs/attached.c, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid
        self.writes()

    def _line(self) -> int:
        assert self.process.stdout
        return int(self.process.stdout.readline().split()[0])

    def writes(self) -> int:
        """How many it has made by now."""
        assert self.process.stdin
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return self._line()

    def goes_on(self, more: int) -> int:
        until = self.writes() + more
        while (now := self.writes()) < until:
            pass
        return now

    def end(self) -> None:
        """As it ends bare: its last line, its status."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self._line() > 0
        assert self.process.wait(timeout=300) == 7

    def holds(self) -> tuple[int, int, int]:
        """Descriptors, mappings, threads."""
        return holds(self.pid)


def holds(pid: int) -> tuple[int, int, int]:
    """Descriptors, mappings but those of the ring, threads. One thread comes and goes, with its stack."""
    descriptors, mappings, threads = zip(*(_now(pid) for _ in range(100)), strict=True)
    return min(descriptors), min(mappings), min(threads)


def _now(pid: int) -> tuple[int, int, int]:
    time.sleep(0.001)
    about = Path(f"/proc/{pid}")
    maps = (about / "maps").read_text()
    mappings = maps.count("\n") - maps.count(".ring")
    return len(list((about / "fd").iterdir())), mappings, len(list((about / "task").iterdir()))


@contextmanager
def running(
    place: Path, name: str = "attached", before: Sequence[object] = (), **variables: str
) -> Iterator[Program]:
    process = subprocess.Popen(
        [*map(str, before), PROGRAMS / name, place / "file"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        yield Program(process)
    finally:
        process.kill()
        process.wait()


def refused(place: Path, *words: object, **more: Any) -> str:
    """Its one line; nothing is left of the run."""
    done = fathom(place, "attach", *words, "-o", "refused", **more)
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert not (place / "refused.fathom").exists()
    return lines[0]
