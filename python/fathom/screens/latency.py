"""`latency`: how long calls took, as histograms that add up: by op, and over time."""

from dataclasses import replace
from typing import Any

from fathom.screens import answer, choice, conditions, number, table
from fathom.screens.captured import missing
from fathom.screens.near import near
from fathom.screens.opened import View
from fathom.screens.selection import Selection
from fathom.screens.span import bins_of
from fathom.screens.statements import statement

#: The histograms from `cells`: the same rows as their own statements give from the calls.
BUCKETS = """select layer, {op} as op, bucket, sum(calls) as calls, sum(time) as time
    from cells group by all order by layer, op, bucket"""
OVER_TIME = """select layer, "time bin", bucket, sum(calls) as calls
    from cells group by all order by layer, "time bin", bucket"""


@answer("latency", by=choice("op", "layer"), width=number(1, 1024))
def latency(view: View, selection: Selection, by: str = "op", width: int = 256) -> dict[str, Any]:
    """`buckets`, `over time` and, where no call was recorded one by one, `counted`: mean and extremes of each op."""
    note = missing(view, selection)
    selected = conditions.calls(selection)
    begin, step = bins_of(view, selection, width)
    parts = {"selected": selected, "begin": str(begin), "width": str(step)}
    op = "op" if by == "op" else "null::varchar"
    of_calls = near(view, selection)
    of_calls.keep("cells", statement("latency_cells", **parts))
    buckets = of_calls.sql(BUCKETS.format(op=op))
    return {
        "buckets": table.of(buckets, statement("latency_buckets", op=op, **parts), note=note),
        "over time": table.of(
            of_calls.sql(OVER_TIME),
            statement("latency_over_time", **parts),
            {"time bin": "count"},
            note=note,
        ),
        "counted": None if buckets.num_rows else _counted(view, selection),
        "begin": begin,
        "width": step,
    }


def _counted(view: View, selection: Selection) -> table.Table:
    text = statement("latency_counted", selected=conditions.calls(replace(selection, t=None)))
    known = "counters know no time: these are of the whole run" if selection.t else None
    return view.table(text, {"shortest": "ns"}, note=known)
