"""`access`: where in a file its reads and writes went, over time or over the lanes."""

from dataclasses import dataclass, replace
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.run.database import one_of
from fathom.webapi.answers import answer, choice, number, spread, table
from fathom.webapi.answers.captured import missing
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import bins_of, lane_count
from fathom.webapi.answers.table import Table, notes
from fathom.webapi.answers.time_index import narrowed, narrowed_to_file

#: Of one transfer that several layers saw, the lowest layer's is drawn.
LOWEST = ("posix", "aio", "stdio", "mpiio")
#: Number of none: no call is on it.
NO_FILE = -1
PAGE = 4096  # what counters judge alignment by


def file_of(view: View, selection: Selection, file: int | None) -> int:
    """The file that is asked for; where none is, that of the longest of the selected calls on files, or NO_FILE."""
    if file is not None:
        return file
    text = f"from access_longest({conditions.calls(selection)})"
    # The pictures of the screen ask at the same time.
    longest = view.opened.answers.answer(
        text, False, lambda: narrowed(view, selection).value(text), view.stop.check
    )
    return NO_FILE if longest is None else int(longest)


@dataclass(frozen=True)
class Extent:
    """The part of a file that a picture shows: of the calls of these layers, in bins of `step` bytes."""

    layers: tuple[str, ...]
    low: int
    step: int
    unknown: int  # calls whose place is not known


def extent(view: View, selection: Selection, file: int, bins: int) -> Extent:
    """Of what is selected of a file: of the lowest layer that moved data of it, unless layers are selected."""
    text = f"from access_span({file}, {conditions.calls(selection)})"
    # Three pictures of a file stand on it, and ask at the same time.
    rows = view.opened.answers.answer(
        text, False, lambda: narrowed_to_file(view, selection, file).rows(text), view.stop.check
    )
    seen = [row for row in rows if row["low"] is not None]
    if selection.layers is None:
        lowest = min((row["layer"] for row in seen), key=LOWEST.index, default="posix")
        seen = [row for row in seen if row["layer"] == lowest]
    low = min((row["low"] for row in seen), default=0)
    high = max((row["high"] for row in seen), default=1)
    layers = tuple(row["layer"] for row in seen) or ("posix",)
    unknown = sum(row["unknown"] for row in rows if row["layer"] in layers)
    return Extent(layers, low, max(1, -(-(high - low) // bins)), unknown)


def note_of(view: View, selection: Selection, file: int, unknown: int) -> str | None:
    """What is missing of a file's picture."""
    left_out = f"{unknown:,} calls are left out: their place in the file is not known"
    shown = selection if file == NO_FILE else replace(selection, files=(file,))
    return notes(missing(view, shown), left_out if unknown else None)


def _lanes(view: View, selection: Selection, width: int) -> tuple[int, int]:
    """The first lane, and how many are one column."""
    ranges = selection.lanes
    first = min((one[0] for one in ranges), default=0) if ranges else 0
    count = lane_count(view) or 1
    last = min(count - 1, max(one[1] for one in ranges)) if ranges else count - 1
    return first, max(1, -(-(last - first + 1) // width))


@answer(
    "access",
    file=number(),
    across=choice("time", "lane"),
    width=number(1, 512),
    height=number(1, 256),
)
def access(
    view: View,
    selection: Selection,
    file: int | None = None,
    across: str = "time",
    width: int = 256,
    height: int = 128,
) -> dict[str, Any]:
    """`cells` of `width` columns and `height` rows; `x`, `y`: where they begin and how wide they are."""
    file = file_of(view, selection, file)
    place = extent(view, selection, file, height)
    bins = bins_of if across == "time" else _lanes
    begin, step = bins(view, selection, width)
    column = "start" if across == "time" else "lane"
    of_picture = f"({'c' if across == 'time' else 'lane'}.{column} - {begin}) // {step}"
    # Of a damaged run a call may lie years behind its end: columns until then would take all memory.
    at_x = f"least({width - 1}, greatest(0, {of_picture}))"
    which = f"{one_of('layer', place.layers)} and kind in ('read', 'write')"
    selected = conditions.calls(selection)
    cells = f"({file}, {at_x}, {selected}, {which}, {place.low}, {place.step})"
    sizes = f"from access_sizes({file}, {conditions.calls(replace(selection, t=None))})"
    return {
        "file": None if file == NO_FILE else file,
        "path": view.value(f"select path from files where file = {file}"),
        "x": {"begin": begin, "width": step, "bins": width},
        "y": {"begin": place.low, "width": place.step, "bins": height},
        "layers": list(place.layers),
        "cells": _cells(view, selection, file, cells, place),
        "stripe": view.value(f"from access_stripe({file})"),
        "block": PAGE,
        "sizes": view.remembered(
            sizes, lambda: view.table(sizes, {"from": "bytes", "below": "bytes"})
        ),
    }


def _cells(view: View, selection: Selection, file: int, arguments: str, place: Extent) -> Table:
    """What access_cells() gives, of fewer steps than it has to stand by itself: a statement of many is planned for
    longer than it runs."""
    placed = narrowed_to_file(view, selection, file).sql(f"from access_placed{arguments}")
    return table.of(
        spread.cells(placed, place.step),
        f"from access_cells{arguments}",
        {"x": "count", "y": "count"},
        note=note_of(view, selection, file, place.unknown),
    )
