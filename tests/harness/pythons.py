"""The CPythons that are there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

#: Versions of runtime/core/python.c.
MINORS = range(8, 15)


def interpreter(minor: int) -> str:
    """Of pyenv, or one that is installed; skips where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob(f"versions/3.{minor}.*/bin/python3.{minor}"))
    if found:
        return str(found[-1])
    if sys.version_info[:2] == (3, minor):
        return sys.executable
    return shutil.which(f"python3.{minor}") or pytest.skip(f"no Python 3.{minor}")
