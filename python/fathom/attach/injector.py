"""gdb's part: libfathom.so is loaded into a live process, and told to begin or to end there."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fathom.attach import target
from fathom.errors import FathomError

SECONDS = 60  # for one process: it may be stopped, or too busy to listen
PATIENCE = [0.01 * 2**n for n in range(9)]  # seconds, until a thread can be borrowed: 5 in all
MISSING = "attach needs gdb, which is not installed (Debian: apt install gdb)"

SCRIPT = Path(__file__).with_name("inside.py")
FLAGS = [
    "-nx",
    "-batch",
    *(
        "-iex",
        "python import json, os, pathlib, re, struct, typing",
    ),  # before the program is stopped
    *("-iex", "set auto-load off"),
    *("-iex", "set auto-solib-add off"),  # reading their symbols would hold the program up
    *("-iex", "set debuginfod enabled off"),
    *("-iex", "set unwindonsignal on"),  # a call that is given up leaves the program where it was
    *("-ex", "handle all nostop noprint pass"),
]


class Status(IntEnum):
    """What the library answers."""

    REFUSED = -1
    DONE = 0
    RECORDED_ALREADY = 1
    LEFT_OUT = 2
    NOT_RECORDED = 3
    BUSY = 4


@dataclass(frozen=True)
class Answer:
    """`run`: in which the process is recorded already, or was until now; empty when in none."""

    status: Status
    run: str


def gdb() -> str:
    """The command. Raises the line that says how to get it."""
    found = shutil.which("gdb")
    if not found:
        raise FathomError(MISSING)
    return found


def _base(pid: int) -> int:
    """Where the library lies in the process; 0: nowhere."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError as error:
        raise FathomError(f"process {pid}: {target.ENDED}") from error
    found = re.search(
        r"^([0-9a-f]+)-\S+ \S+ 0+ .*/libfathom\.so( \(deleted\))?$", maps, re.MULTILINE
    )
    return int(found[1], 16) if found else 0


def _call(pid: int, what: int, library: Path | None, settings: Sequence[str]) -> Answer:
    for wait in PATIENCE:
        answer = _once(pid, what, library, settings)
        if answer.status is not Status.BUSY:
            return answer
        time.sleep(wait)
    raise FathomError(
        f"process {pid}: a thread waits inside the memory allocator or the loader; try again later"
    )


def _once(pid: int, what: int, library: Path | None, settings: Sequence[str]) -> Answer:
    job = {
        "base": _base(pid),
        "library": str(library) if library else "",
        "missing": Status.REFUSED if library else Status.NOT_RECORDED,
        "what": what,
        "settings": "".join(f"{line}\0" for line in settings),
    }
    words = [gdb(), *FLAGS, "-p", str(pid), "-x", str(SCRIPT)]
    output, errors = _run(words, pid, {**os.environ, "FATHOM_GDB": json.dumps(job)})
    said = re.search(r"^fathom says (.*)$", output, re.MULTILINE)
    if not said:
        raise FathomError(f"process {pid}: {_reason(pid, errors)}")
    status, run = json.loads(said[1])
    return Answer(Status(status), run)


def _run(words: Sequence[str], pid: int, environment: dict[str, str]) -> tuple[str, str]:
    """Its output. It is asked to stop, never killed: that would leave the program inside gdb's call."""
    command = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C is for us
    )
    try:
        return command.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        command.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.communicate(timeout=SECONDS)
        raise FathomError(f"process {pid}: no answer within {SECONDS} s") from error


def _reason(pid: int, errors: str) -> str:
    if not target.started(pid):
        return target.ENDED
    if "ptrace" in errors:
        return "not permitted to trace it; `fathom doctor` says what forbids it"
    lines = [line for line in errors.splitlines() if "rror" in line]
    return lines[0].strip() if lines else "gdb ended without an answer"


def attach(pid: int, library: Path, settings: Sequence[str]) -> Answer:
    """Loads the library where it is not, and starts recording by `settings` (NAME=VALUE)."""
    return _call(pid, 1, library, settings)


def detach(pid: int) -> Answer:
    """Ends recording; what was recorded is in the run directory afterwards."""
    return _call(pid, 2, None, [])
