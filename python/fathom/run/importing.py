"""Another tool's logs into a run: by the engine, which reads most itself. Darshan's are read by Darshan's own library,
in a process of its own: what a damaged log does to it ends neither us nor leaves half a run."""

import json
import signal
import subprocess
import tempfile
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
        importing("fathom.interop.imports.darshan", logs, into)
    else:
        from fathom.run.functions import catalog

        engine(tool, str(into), *map(str, logs), quiet=True, text=catalog())


def importing(reader: str, logs: list[Path], into: Path) -> None:
    """A run of `logs`, by the module `reader`; raises `NoLog` with one line, and leaves nothing, where it is none."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as answer:
        read = subprocess.Popen(
            [*paths.module(reader), *map(str, logs)], stdout=subprocess.PIPE, stderr=errors
        )
        # A limit of a file's size is an error to the engine, as to us, and no signal.
        packer = subprocess.Popen(
            [str(paths.engine()), "import-jsonl", str(into)],
            stdin=read.stdout, stdout=subprocess.DEVNULL, stderr=answer, restore_signals=False,
        )  # fmt: skip
        if read.stdout is not None:
            read.stdout.close()  # the engine alone reads it
        status, engine_status = read.wait(), packer.wait()
        if engine_status == 0:
            return
        stopped = _last(answer)
        if status != 0 and CUT in stopped:
            where, why = _why(status, _last(errors))
            raise NoLog(f"{printable(where or logs[0])}: {printable(why)}")
        raise FathomError(
            f"import: {stopped or f'fathom-engine ended with status {engine_status}'}"
        )


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
