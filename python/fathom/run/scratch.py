"""Temporary folders that only their owner may look into. They are locked: what a killed process left is removed by the
next that needs one."""

import contextlib
import os
import shutil
import tempfile
import weakref
from functools import cache
from itertools import count
from pathlib import Path

from fathom.files import guarded_folder, locked_folder

PREFIX = "fathom-scratch-"
_numbers = count()


class Scratch:
    """One such folder, `path`: it goes with this object, at the latest with the process."""

    def __init__(self) -> None:
        """Makes it. Errors: OSError."""
        place = Path(tempfile.gettempdir())
        _sweep(place)
        self.path, lock = guarded_folder(place, PREFIX)
        self.remove = weakref.finalize(self, _end, self.path, lock, os.getpid())


def spill() -> Path:
    """A name for one database in the folder of this process."""
    return _of_process(os.getpid()).path / str(next(_numbers))


@cache
def _of_process(_: int) -> Scratch:
    return Scratch()


def _sweep(place: Path) -> None:
    """Removes those whose process has ended."""
    for path in place.glob(f"{PREFIX}*"):
        lock = locked_folder(path)
        if lock is not None:
            _end(path, lock, os.getpid())


def _end(path: Path, lock: int, owner: int) -> None:
    """Of a process that was forked the folder is its parent's."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(lock)
