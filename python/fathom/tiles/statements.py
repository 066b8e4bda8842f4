"""SQL of the pyramid, with its numbers put in."""

from fathom.screens.statements import of_folder
from fathom.tiles.geometry import Level

_statement = of_folder(__package__)


def _due(what: str, at: str, width: int) -> str:
    """How much of a row's total is due up to the begin of bin `at`."""
    return (
        f"case when {at} <= first_bin then 0 when {at} > last_bin then {what}"
        f" else ({what}::hugeint * ({at} * {width} - start) // duration)::bigint end"
    )


def rows(source: str, which: str = "true") -> str:
    """`one`: rows of `calls` or `heat` for which a condition holds."""
    return _statement(f"of_{source}", which=which)


def cells(level: Level, first: int, last: int) -> str:
    """`cells` of the rows `one` in bins [first, last)."""
    return _statement(
        "cells",
        width=str(level.width),
        lanes=str(level.lanes),
        first=str(first),
        last=str(last),
        time_so_far=_due("time", "bin", level.width),
        time_next=_due("time", "(bin + 1)", level.width),
        bytes_so_far=_due("bytes", "bin", level.width),
        bytes_next=_due("bytes", "(bin + 1)", level.width),
    )


def count(level: Level, most: int) -> str:
    """An upper bound on the cells of a level; of one with more than `most`, any number above it."""
    return _statement(
        "count", one=rows("calls"), lanes=str(level.lanes), width=str(level.width), most=str(most)
    )


def file(level: Level) -> str:
    """Rows of the table that keeps a level's cells."""
    return _statement("file", z=str(level.z))
