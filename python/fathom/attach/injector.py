"""libfathom.so is loaded into a live process by fathom-engine, and asked there to begin or to end."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fathom.attach import target
from fathom.errors import FathomError, RunError
from fathom.run import engine

#: For all of one process, and for a moment at which one of its threads can be borrowed.
SECONDS, PATIENCE = 60, 5.0


class Status(IntEnum):
    """What the library answers (runtime/edges/attached.c)."""

    REFUSED = -1
    DONE = 0
    RECORDED_ALREADY = 1
    LEFT_OUT = 2
    NOT_RECORDED = 3


@dataclass(frozen=True)
class Answer:
    """`run`: in which the process is recorded already, or was until now; empty when in none."""

    status: Status
    run: str


def _ask(pid: int, words: Sequence[str], settings: Sequence[str]) -> Answer:
    limits = ["--within", str(SECONDS), "--patience", str(PATIENCE)]
    given = "".join(f"{line}\0" for line in settings)
    try:
        status, _, run = engine.ask(["attach", str(pid), *words, *limits], given).partition(" ")
    except RunError as error:
        reason = error if target.started(pid) else target.ENDED
        raise FathomError(f"process {pid}: {reason}") from error
    return Answer(Status(int(status)), run)


def attach(pid: int, library: Path, settings: Sequence[str]) -> Answer:
    """Loads the library where it is not, and starts recording by `settings` (NAME=VALUE)."""
    return _ask(pid, ["--library", str(library)], settings)


def detach(pid: int) -> Answer:
    """Ends recording; what was recorded is in the run directory afterwards."""
    return _ask(pid, [], [])
