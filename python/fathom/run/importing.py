"""Another tool's logs into a run: by the engine, which reads most itself. Darshan's are read by Darshan's own library,
in a process of its own: what a damaged log does to it ends neither us nor leaves half a run."""

import atexit
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import IO

from fathom.errors import FathomError, UsageError, install, printable
from fathom.run import paths
from fathom.run.engine import engine

# What the engine says when the reader did not come to its end.
CUT = "the lines break off"


class NoLog(FathomError):
    """What was given is no log of that tool, or not a whole one."""

    status = 3


def reading(tool: str, logs: list[Path], into: Path, quiet: bool = False) -> None:
    """A run of a tool's logs. `quiet`: without a report. Raises `UsageError` where it needs what is not here."""
    if tool == "strace":
        engine(tool, str(into), *map(str, logs), quiet=quiet)
    elif tool == "darshan":
        from fathom.run.darshan_library import library

        if library() is None:
            raise UsageError(
                f"import: no library of Darshan 3.4 or newer (darshan-util) is here: {install('darshan')}"
            )
        importing("fathom.interop.imports.darshan", logs[0], into)
    else:
        from fathom.run.functions import catalog

        engine(tool, str(into), *map(str, logs), quiet=True, text=catalog())


def importing(reader: str, log: Path, into: Path) -> None:
    """A run of a log, by the module `reader`; raises `NoLog` with one line, and leaves nothing, where it is none."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as answer:
        # A limit of a file's size is an error to the engine, as to us, and no signal.
        packer = subprocess.Popen(
            [str(paths.engine()), "import-jsonl", str(into)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=answer, restore_signals=False,
        )  # fmt: skip
        assert packer.stdin
        with packer.stdin as lines:
            status = _reader(reader, os.getpid()).read(log, lines, errors)
        engine_status = packer.wait()
        if engine_status == 0:
            return
        stopped = _last(answer)
        if status != 0 and CUT in stopped:
            where, why = _why(status, _last(errors))
            raise NoLog(f"{printable(where or log)}: {printable(why)}")
        raise FathomError(
            f"import: {stopped or f'fathom-engine ended with status {engine_status}'}"
        )


class Reader:
    """The process of a module that reads logs (interop/imports/serving.py), one at a time."""

    def __init__(self, module: str, owner: int) -> None:
        """Starts it; it ends with its owner, a process."""
        self._owner = owner
        self._turn = threading.Lock()
        self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                paths.module(module), stdin=theirs.fileno(), stdout=subprocess.DEVNULL
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._asked.close()
        if self._owner == os.getpid():  # not a fork of it
            self._process.wait()

    def read(self, log: Path, lines: IO[bytes], errors: IO[bytes]) -> int:
        """Writes a log's lines; the status of who did, negative: the signal that ended it."""
        with self._turn:
            files = [lines.fileno(), errors.fileno()]
            try:
                socket.send_fds(self._asked, [os.fsencode(log)], files)
                status = self._asked.recv(64)
            except ConnectionError:
                status = b""
            if not status:  # it was killed; the next log gets another
                _reader.cache_clear()
            return int(status) if status else self._process.wait()


@cache
def _reader(module: str, owner: int) -> Reader:
    """The one of this process: a fork has its parent's too."""
    return Reader(module, owner)


def _why(status: int, last: str) -> tuple[str, str]:
    """What stopped the reader, in its own words where it had any, and in which log, where it said so."""
    if status < 0:
        name = signal.Signals(-status).name
        return (
            "",
            f"the library that reads it ended by {name}: the log is damaged, or of a version that it does not know",
        )
    if status == 3:
        report = json.loads(last)
        return str(report["log"]), str(report["error"])
    return "", last or f"its reader ended with status {status}"


def _last(output: IO[bytes]) -> str:
    """The last line that was written."""
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
