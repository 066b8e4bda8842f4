"""Fathom: where the I/O time of a parallel program goes.

>>> import fathom
>>> run = fathom.open("s3d.fathom")
>>> run.sql("select layer, sum(bytes) as bytes from counters group by layer")

In a traced program: `with fathom.region("step", number=17): …` (docs/user-api.md).
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from fathom.regions import call_origin, current, mark, region

if TYPE_CHECKING:
    from fathom.store import Run

__version__ = "0.1.0"
__all__ = ["call_origin", "current", "include", "mark", "open", "region"]


def include() -> str:
    """The folder of fathom.h and fathom.f90, for a compiler's -I."""
    from fathom import places

    return str(places.include())


def open(path: str | PathLike[str]) -> Run:
    """The run in this directory; packed first when it is not yet. Raises `fathom.errors.RunError`."""
    from fathom.store import open_run  # the catalogue's generator needs no DuckDB

    return open_run(path)
