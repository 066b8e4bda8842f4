"""`latency`: how long calls took, as histograms that add up: by op, and over time."""

from dataclasses import replace
from typing import Any

from fathom.screens import answer, choice, conditions, number
from fathom.screens.captured import captured
from fathom.screens.opened import View
from fathom.screens.selection import Selection
from fathom.screens.span import bins_of
from fathom.screens.statements import statement


@answer("latency", by=choice("op", "layer"), width=number(1, 1024))
def latency(view: View, selection: Selection, by: str = "op", width: int = 256) -> dict[str, Any]:
    """`buckets`, `over time` and, of every level, `counted`: the mean and the extremes of each op."""
    note = captured(view, selection).note
    selected = conditions.calls(selection)
    begin, step = bins_of(view, selection, width)
    parts = {"selected": selected, "begin": str(begin), "width": str(step)}
    buckets = statement("latency_buckets", op="op" if by == "op" else "null::varchar", **parts)
    counted = statement("latency_counted", selected=conditions.calls(replace(selection, t=None)))
    known = "counters know no time: these are of the whole run" if selection.t else None
    return {
        "buckets": view.table(buckets, note=note),
        "over time": view.table(
            statement("latency_over_time", **parts), {"time bin": "count"}, note=note
        ),
        "counted": view.table(counted, {"shortest": "ns"}, note=known),
        "begin": begin,
        "width": step,
    }
