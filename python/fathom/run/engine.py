"""fathom-engine, asked for one answer."""

import subprocess
from collections.abc import Sequence

from fathom.errors import FathomError, RunError
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
