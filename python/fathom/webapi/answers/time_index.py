"""Statements on a stretch of time read the copy of calls by time, where that is quicker than the table `calls`."""

from fathom.analysis import conditions
from fathom.analysis.selection import Ranges, Selection
from fathom.webapi.answers import by_time
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import duration, lane_count

Times = tuple[int, int]
#: So many calls are read from the copy in the order of time before one is unpacked from table `calls`, at least.
READ = 8

#: What statements on one file ask of its calls.
COLUMNS = "id, parent, process, layer, op, kind, file, start, duration, file_offset, size, bytes, error, selection"


def narrowed(view: View, selection: Selection, inside: bool = False) -> View:
    """The run for statements on calls that are selected, those that hold them, and, if `inside`, those that they hold:
    where that is quicker its `calls` are these and few others."""
    times = selection.t
    if not view.opened.by_time or times is None:
        return view
    if READ * _part(view, selection.lanes) < _long(view, times):
        return view
    copy = View(view.opened, view.runs, view.stop)
    copy.look_at(by_time.within(_with_inner(view, times) if inside else times))
    return copy


def narrowed_to_file(view: View, selection: Selection, file: int) -> View:
    """The same for statements on one file: its calls of that time and those lanes, held for the statements and requests
    that look at them next."""
    of_time = narrowed(view, selection)
    if of_time is view or selection.t is None:
        return view
    lanes = conditions.calls(Selection(lanes=selection.lanes))
    text = f"select {COLUMNS} from calls as c where file = {file} and {lanes}"
    held = view.opened.latest((selection.t, text), lambda: of_time.sql(text), view.stop.check)
    return of_time.looking_at(held)


def _with_inner(view: View, times: Times) -> Times:
    """From the first begin of the calls that last into a time to the last end."""
    (bounds,) = view.rows(
        f"select min(start) as first, max(stop) as last from {by_time.within(times)}"
    )
    return times if bounds["first"] is None else (bounds["first"], bounds["last"])


def _long(view: View, times: Times) -> float:
    """The times as a part of the run's."""
    return (times[1] - times[0]) / max(1, duration(view))


def _part(view: View, lanes: Ranges | None) -> float:
    """The lanes, and those between them, as a share of all: `calls` is in the order of lanes."""
    if lanes is None:
        return 1.0
    first, last = min(one[0] for one in lanes), max(one[1] for one in lanes)
    return (last - first + 1) / max(1, lane_count(view))
