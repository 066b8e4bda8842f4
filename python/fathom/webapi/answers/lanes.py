"""`lanes`: the rows of the pictures, one per process."""

from dataclasses import replace

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table
from fathom.webapi.answers.time_index import narrowed


@answer("lanes")
def lanes(view: View, selection: Selection) -> Table:
    """One row per lane that is selected, with its I/O calls: of counters, so of every level; of a selection of calls
    those recorded in full."""
    of_calls = replace(selection, lanes=None) != Selection()
    sums = "lane_sums()"
    if of_calls:
        chosen = conditions.outermost(view, selection)
        sums = f"lane_sums_of_calls({conditions.calls(selection)}, {chosen})"
    rows = f"lane_rows({conditions.lanes(selection)}, 'sums_')"
    return narrowed(view, selection).table(f"with sums_ as (from {sums}) from {rows}")
