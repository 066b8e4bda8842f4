"""One way to try Fathom: rounds of it, each made from a number alone, so that any can be tried again."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: A round in this empty directory, from this seed: how much was tried. A fault is an AssertionError.
Round = Callable[[Path, int], int]


@dataclass(frozen=True)
class Part:
    name: str
    #: What holds in each round, and who says so.
    promise: str
    #: What a round's number counts.
    unit: str
    round: Round
    #: Of the machine, as harness/needs.py has it.
    needs: tuple[str, ...] = ()


def shared() -> Path:
    """A directory for what rounds have in common, until the process ends."""
    place = Path(tempfile.mkdtemp(prefix="fathom-torture."))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
