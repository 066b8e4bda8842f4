"""The longest of many calls, and how many there are, without a look at each where counters know."""

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.webapi.answers.session import View
from fathom.webapi.answers.time_index import narrowed


def least(view: View, selection: Selection, limit: int, which: str = "true") -> str:
    """A condition of `calls` that holds for the `limit` longest selected I/O calls and for few others; `which`: of the
    counters whose calls are asked for, if not all."""
    if selection.t is not None:
        return "true"
    selected = conditions.calls(selection)
    shortest = view.value(f"from least_of_longest({selected}, {which}, {limit})")
    return "true" if shortest is None else f"duration >= {shortest}"


def how_many(view: View, selection: Selection, which: str = "true") -> int:
    """Selected I/O calls that are recorded one by one."""
    is_timed = selection.t is not None
    of_calls = narrowed(view, selection)
    count = "count(*) from calls" if is_timed else "coalesce(sum(recorded), 0) from counters"
    where = f"{conditions.calls(selection)} and {which} and is_io(c.layer, c.kind)"
    return int(of_calls.value(f"select {count} as c where {where}"))
