"""fathom-engine, asked for one answer."""

import subprocess
from collections.abc import Sequence

from fathom import places
from fathom.errors import FathomError, RunError


def ask(words: Sequence[str], text: str) -> str:
    """What it prints when it is given this text. Raises RunError with its line if it fails."""
    command = [str(places.engine()), *words]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise RunError(done.stderr.strip().removeprefix("fathom-engine: "))
    return done.stdout
