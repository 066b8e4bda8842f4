"""fathom-engine: at work on a run, or asked for one answer."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from fathom.errors import DamagedRun, FathomError, RunError, printable
from fathom.run import paths


def ask(words: Sequence[str], text: str) -> str:
    """What it prints when it is given this text. Raises RunError with its line if it fails."""
    command = [str(paths.engine()), *words]
    try:
        # A limit of a file's size is an error to it, as to us, and no signal.
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",  # names of files are bytes
            restore_signals=False,
            check=False,
        )
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        message = done.stderr.strip().removeprefix("fathom-engine: ")
        ended = f"status {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise RunError(message or f"fathom-engine {words[0]} ended with {ended}")
    return done.stdout


def engine(*words: str, quiet: bool = False, text: str | None = None) -> None:
    """Runs fathom-engine; its report goes to stderr in words unless `quiet`, its one line of error always. `text`: what
    it reads on its standard input."""
    command = [str(paths.engine()), *words]
    try:
        # A limit of a file's size is an error to it, as to us, and no signal.
        done = subprocess.run(
            command,
            input=text,
            text=True,
            stdout=subprocess.PIPE,
            restore_signals=False,
            check=False,
        )
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
    for line in () if quiet else done.stdout.splitlines():
        print(f"fathom: {_in_words(json.loads(line))}", file=sys.stderr)
    ended(words[0], done.returncode)


def _in_words(report: dict[str, Any]) -> str:
    """Of which part it is, then what is not 0: `s3d.fathom: files 6, bytes 61,230`."""
    part = printable(report.pop("part", ""))
    counts = report | report.pop("index", {})
    words = [
        f"{name} {', '.join(map(printable, count)) if isinstance(count, list) else format(count, ',')}"
        for name, count in counts.items()
        if count
    ]
    return f"{part and f'{part}: '}{', '.join(words) or 'nothing'}"


def ended(word: str, status: int) -> None:
    """Of a fathom-engine that was called by this word. Raises DamagedRun unless all was well."""
    if status:
        failed = DamagedRun(f"fathom-engine {word} ended with status {status}")
        failed.reported = status == 3
        raise failed
