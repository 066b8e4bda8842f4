"""`latency`: how long calls took, as histograms that add up: by op, and over time."""

from dataclasses import replace
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer, choice, number, table
from fathom.webapi.answers.captured import missing
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import bins_of
from fathom.webapi.answers.time_index import narrowed

#: The histograms from `cells`: the same rows as their own statements give from the calls.
BUCKETS = """select layer, {op} as op, bucket, sum(calls) as calls, sum(time) as time
    from cells group by all order by layer, op, bucket"""
OVER_TIME = """select layer, "time bin", bucket, sum(calls) as calls
    from cells group by all order by layer, "time bin", bucket"""
#: Of more calls than this percentiles are told from the histogram: exactly, all would be held in memory.
EXACT = 10_000_000
UNITS = dict.fromkeys(("time", "median", "90 %", "99 %", "longest"), "ns")


@answer("latency", by=choice("op", "layer"), width=number(1, 1024))
def latency(view: View, selection: Selection, by: str = "op", width: int = 256) -> dict[str, Any]:
    """Histograms and percentiles; `counted`, where no call was recorded one by one: mean and extremes of each op."""
    note = missing(view, selection)
    selected = conditions.calls(selection)
    begin, step = bins_of(view, selection, width)
    op = "op" if by == "op" else "null::varchar"
    of_calls = narrowed(view, selection)
    binned = f"{selected}, {begin}, {step}"
    cells = f"from duration_cells({binned})"
    of_calls.keep("cells", cells)
    buckets = of_calls.sql(BUCKETS.format(op=op))
    return {
        "buckets": table.of(buckets, f"from duration_buckets({selected}, {op})", note=note),
        "over time": table.of(
            of_calls.sql(OVER_TIME),
            f"from duration_over_time({binned})",
            {"time bin": "count"},
            note=note,
        ),
        "percentiles": _percentiles(of_calls, cells, selected, op),
        "counted": None if buckets.num_rows else _counted(view, selection),
        "begin": begin,
        "width": step,
    }


def _percentiles(of_calls: View, cells: str, selected: str, op: str) -> table.Table:
    """Exact, or of very many calls at most 19 % above."""
    if (of_calls.value("select sum(calls) from cells") or 0) <= EXACT:
        return of_calls.table(f"from duration_percentiles({selected}, {op})", UNITS)
    rows = of_calls.sql(f"from cell_percentiles('cells', {op})")
    text = f"with cells as ({cells}) from cell_percentiles('cells', {op})"
    remark = f"of more than {EXACT:,} calls: percentiles are at most 19 % above the true ones"
    return table.of(rows, text, UNITS, note=remark)


def _counted(view: View, selection: Selection) -> table.Table:
    text = f"from duration_counters({conditions.calls(replace(selection, t=None))})"
    known = "counters know no time: these are of the whole run" if selection.t else None
    return view.table(text, {"shortest": "ns"}, note=known)
