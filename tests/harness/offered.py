"""What a command offers, by its own `--help`."""

import re
import subprocess
from functools import cache

from harness import paths


@cache
def options(command: str) -> frozenset[str]:
    """Its long options; those in examples are none."""
    help_text = subprocess.run(
        [paths.FATHOM, command, "--help"], capture_output=True, text=True, check=True
    ).stdout
    listed = help_text.partition("\noptions:\n")[2].partition("\nexamples:")[0]
    return frozenset(re.findall(r"^  (?:-\w(?: \w+)?, )?(--[\w-]+)", listed, re.M))
