"""fathom-engine: at work on a run, or asked for one answer."""

import subprocess
from collections.abc import Sequence

from fathom.errors import DamagedRun, FathomError, RunError
from fathom.run import paths

STDERR = 2  # as a descriptor: in a notebook sys.stderr has none


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
    """Runs fathom-engine; its report goes to stderr unless `quiet`, its one line of error always. `text`: what it reads
    on its standard input."""
    command = [str(paths.engine()), *words]
    try:
        # A limit of a file's size is an error to it, as to us, and no signal.
        report = subprocess.DEVNULL if quiet else STDERR
        done = subprocess.run(
            command, input=text, text=True, stdout=report, restore_signals=False, check=False
        )
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
    ended(words[0], done.returncode)


def ended(word: str, status: int) -> None:
    """Of a fathom-engine that was called by this word. Raises DamagedRun unless all was well."""
    if status:
        failed = DamagedRun(f"fathom-engine {word} ended with status {status}")
        failed.reported = status == 3
        raise failed
