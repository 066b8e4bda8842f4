"""fathom env: native, so that it is the same thing inside a launcher (runtime/command)."""

import os
from collections.abc import Sequence
from typing import NoReturn

from fathom.run import paths


def hand_over(words: Sequence[str]) -> NoReturn:
    """Becomes the native command, which reads these words itself."""
    os.execv(paths.native_command(), ["fathom", "env", *words])
