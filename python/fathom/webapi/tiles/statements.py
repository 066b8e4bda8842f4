"""SQL of the pyramid, with its numbers put in."""

from fathom.analysis.statements import of_folder
from fathom.webapi.tiles.geometry import Level

_statement = of_folder(__package__)

#: Of one ns or byte, as they are spread: 64 bits times these are far from 128, also those of many calls together.
PARTS = 2**48
#: Ids are below.
IDS = 2**64


def _each(what: str) -> str:
    """Parts of a row's total that each ns of it gets, of one that lasts beyond its first bin."""
    return f"{what} * {PARTS}::hugeint // duration"


def longest(duration: str, call: str) -> str:
    """The longest and its call; of equally long ones that with the least id, where arg_max takes whichever it meets."""
    return (
        f"max({duration}) as longest, (max({duration}) * {IDS}::hugeint"
        f" - max({duration} * {IDS}::hugeint - {call}))::ubigint as call"
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
        parts=str(PARTS),
        time_each=_each("time"),
        bytes_each=_each("bytes"),
        longest_of_rows=longest("duration", "id"),
        longest=longest("longest", "call"),
    )


def count(level: Level, most: int, every: int) -> str:
    """About how many cells a level has, rather more than less, from every so many rows of it; of one with more than
    `most`, any number above it."""
    # Said of processes, so that of other calls nothing else is read.
    some = f"process in (select process from lane where lane // {level.lanes} % {every} = 0)"
    numbers = {"lanes": level.lanes, "width": level.width, "most": most, "every": every}
    return _statement(
        "count", one=rows("calls", some), **{name: str(number) for name, number in numbers.items()}
    )


def together(level: Level) -> str:
    """Processes whose calls a worker must have, so that the cells that it makes are whole."""
    return _statement("together", lanes=str(level.lanes))


def file(level: Level) -> str:
    """Rows of the table that keeps a level's cells."""
    return _statement("file", z=str(level.z))
