"""Runs that run now: which there are on this node, and what the engine sees of one, look by look."""

import json
import os
import selectors
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, RunError
from fathom.run import control, paths

Look = dict[str, Any]
"""One line of `fathom-engine watch` (docs/commands/top.md)."""


def carriers() -> dict[Path, list[int]]:
    """Run directories of this node's processes, as far as we may look at them: in their environment or, of attached
    ones, in their memory; whose."""
    carriers: dict[Path, list[int]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "environ").read_bytes().split(b"\0")
        except OSError:  # no process, another user's, or just gone
            continue
        named = [word.partition(b"=")[2] for word in words if word.startswith(b"FATHOM_RUN=")]
        run = Path(os.fsdecode(named[0])) if named else control.run_of(int(process.name))
        if run is not None:
            carriers.setdefault(run, []).append(int(process.name))
    return carriers


def runs_here() -> list[Path]:
    """Those that are there."""
    return sorted(path for path in carriers() if (path / "streams").is_dir())


class Watch:
    """The engine, looking at a run. Raises `RunError` with its one line when it cannot."""

    def __init__(self, run: Path, *options: str) -> None:
        """`options`: of `fathom-engine watch`."""
        command = [str(paths.engine()), "watch", str(run), *options]
        try:
            self._engine = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise FathomError(f"{command[0]}: {error.strerror}") from error

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.kill()
        self._engine.wait()

    def lines(self, other: int | None = None) -> Iterator[bytes | None]:
        """Its lines as they come; None whenever the descriptor `other` can be read. To be read there then."""
        out = self._engine.stdout
        assert out is not None
        waiting = b""
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            if other is not None:
                selector.register(other, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if other in ready:
                    yield None
                if out.fileno() not in ready:
                    continue
                more = os.read(out.fileno(), 1 << 20)
                if not more:
                    break
                *lines, waiting = (waiting + more).split(b"\n")
                yield from lines
        self._ended()

    def _ended(self) -> None:
        assert self._engine.stderr is not None
        message = self._engine.stderr.read().decode(errors="replace").strip()
        if self._engine.wait():
            raise RunError(message.removeprefix("fathom-engine: ") or "fathom-engine was stopped")


def parse(line: bytes) -> Look:
    """A line as it means."""
    look: Look = json.loads(line)
    return look
