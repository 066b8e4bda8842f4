"""`strips`: what lanes do, layer over layer: each call as long as there are few, else what fills each bin of time."""

from dataclasses import replace
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer, number, table
from fathom.webapi.answers.captured import missing
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import duration, lane_count
from fathom.webapi.answers.table import notes
from fathom.webapi.answers.time_index import narrowed

#: Spans at most.
LIMIT = 10_000
#: Lanes of an answer when none are chosen.
LANES = 16


@answer("strips", width=number(1, 8192))
def strips(view: View, selection: Selection, *, width: int = 1024) -> dict[str, Any]:
    """Spans, or bins: `width` equal parts of the selected times."""
    is_cut = selection.lanes is None and lane_count(view) > LANES
    cut = f"the first {LANES} lanes; choose others" if is_cut else None
    shown = replace(selection, lanes=((0, LANES - 1, 1),)) if is_cut else selection
    note = notes(missing(view, shown), cut)
    where = conditions.calls(shown)
    of_calls = narrowed(view, shown)
    # One more than may be shown are looked at, in any order: so many are soon found where there are more.
    few = of_calls.sql(f"from strip_spans({where}, {LIMIT + 1})")
    if few.num_rows <= LIMIT:
        spans = table.of(few, f"from strip_spans({where})", note=note)
        return {"spans": spans, "bins": None, "limit": LIMIT}
    first, last = selection.t or (0, duration(view))
    bins = of_calls.table(f"from strip_bins({where}, {first}, {last}, {width})", note=note)
    return {"spans": None, "bins": bins, "limit": LIMIT}
