"""A reader in a process of its own, its lines into the engine: what a damaged log does to the reader's library ends
neither us nor leaves half a run."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from fathom import places
from fathom.errors import FathomError, UsageError

# What the engine says when the reader did not come to its end.
CUT = "the lines break off"


class NoLog(FathomError):
    """What was given is no log of that tool, or not a whole one."""

    status = 3


def importing(reader: str, logs: list[Path], into: Path) -> None:
    """A run of `logs`, by the module `reader`; raises `NoLog` with one line, and leaves nothing, where it is none."""
    for log in logs:
        if not log.exists():
            raise UsageError(f"import: {log}: there is no such file")
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as answer:
        read = subprocess.Popen(
            [sys.executable, "-m", reader, *map(str, logs)], stdout=subprocess.PIPE, stderr=said
        )
        made = subprocess.Popen(
            [str(places.engine()), "told", str(into)], stdin=read.stdout, stderr=answer
        )
        if read.stdout is not None:
            read.stdout.close()  # the engine alone reads it
        status, engine = read.wait(), made.wait()
        if engine == 0:
            return
        stopped = _last(answer)
        if status != 0 and CUT in stopped:
            raise NoLog(f"{logs[0]}: {_why(status, _last(said))}")
        raise FathomError(f"import: {stopped}")


def _why(status: int, last: str) -> str:
    """What stopped the reader; its own line, where it had one."""
    if status < 0:
        name = signal.Signals(-status).name
        return f"the library that reads it ended by {name}: the log is damaged, or of a version that it does not know"
    if status == 3:
        return str(json.loads(last)["error"])
    return last or f"its reader ended with status {status}"


def _last(said: IO[bytes]) -> str:
    """The last line that was written."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
