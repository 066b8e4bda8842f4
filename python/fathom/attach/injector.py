"""gdb's part: libfathom.so is loaded into a live process, and told to begin or to end there."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fathom.errors import FathomError

SECONDS = 60  # for one process: it may be stopped, or too busy to listen
MISSING = "attach needs gdb, which is not installed (Debian: apt install gdb)"

#: What gdb does with all threads stopped but for these calls. The entry point of the library's ELF header is its
#: only door, since it exports nothing (runtime/edges/attached.c): 0 gives the place of what is said, 1 begins, 2 ends.
SCRIPT = """
import gdb, json, struct
job = json.loads({job!r})
process = gdb.selected_inferior()
base = job["base"]
if not base and job["library"]:
    gdb.execute("sharedlibrary libc.so.6", to_string=True)
    handle = gdb.parse_and_eval('((void *(*)(const char *, int))dlopen)("%s", 2)' % job["library"])
    base = struct.unpack("Q", process.read_memory(int(handle), 8))[0] if int(handle) else 0
status, run = job["missing"], b""
if base:
    entry = base + struct.unpack("Q", process.read_memory(base + 24, 8))[0]
    call = lambda what: int(gdb.parse_and_eval("((long (*)(long))%d)(%d)" % (entry, what)))
    room = call(0)
    process.write_memory(room, job["settings"].encode(errors="surrogateescape") + bytes(1))
    status = call(job["what"])
    run = bytes(process.read_memory(room, 4096)).split(bytes(1))[0]
print("fathom says", json.dumps([status, run.decode(errors="surrogateescape")]))
"""
FLAGS = [
    "-nx",
    "-batch",
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
        raise FathomError(f"process {pid}: {error.strerror}") from error
    found = re.search(
        r"^([0-9a-f]+)-\S+ \S+ 0+ .*/libfathom\.so( \(deleted\))?$", maps, re.MULTILINE
    )
    return int(found[1], 16) if found else 0


def _call(pid: int, what: int, library: Path | None, settings: Sequence[str]) -> Answer:
    job = {
        "base": _base(pid),
        "library": str(library) if library else "",
        "missing": Status.REFUSED if library else Status.NOT_RECORDED,
        "what": what,
        "settings": "".join(f"{line}\0" for line in settings),
    }
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(SCRIPT.format(job=json.dumps(job)))
        script.flush()
        words = [gdb(), *FLAGS, "-p", str(pid), "-x", script.name]
        output, errors = _run(words, pid)
    said = re.search(r"^fathom says (.*)$", output, re.MULTILINE)
    if not said:
        raise FathomError(f"process {pid}: {_reason(errors)}")
    status, run = json.loads(said[1])
    return Answer(Status(status), run)


def _run(words: Sequence[str], pid: int) -> tuple[str, str]:
    """Its output. It is asked to stop, never killed: that would leave the program inside gdb's call."""
    command = subprocess.Popen(
        words,
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


def _reason(errors: str) -> str:
    for line in errors.splitlines():
        if "ptrace" in line:
            return f"{line.strip().rstrip('.')}; `fathom doctor` says what forbids it"
    lines = [line for line in errors.splitlines() if "rror" in line]
    return lines[0].strip() if lines else "gdb ended without an answer; has the process ended?"


def attach(pid: int, library: Path, settings: Sequence[str]) -> Answer:
    """Loads the library where it is not, and starts recording by `settings` (NAME=VALUE)."""
    return _call(pid, 1, library, settings)


def detach(pid: int) -> Answer:
    """Ends recording; what was recorded is in the run directory afterwards."""
    return _call(pid, 2, None, [])
