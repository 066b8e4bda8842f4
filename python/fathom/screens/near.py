"""Where the calls of a selection are looked for: among all, or, in a large run, among those of its time alone."""

from pathlib import Path

from fathom.screens import by_time, conditions
from fathom.screens.brush import MOST, Brush
from fathom.screens.opened import View
from fathom.screens.selection import Ranges, Selection
from fathom.screens.span import duration, lane_count

Times = tuple[int, int]


def near(view: View, selection: Selection, inside: bool = False) -> View:
    """The run for statements on calls that are selected, those that hold them, and, if `inside`, those that they hold:
    where that is quicker its `calls` are these and few others."""
    file, times = view.opened.by_time, selection.t
    if file is None or times is None or _part(view, selection.lanes) < _long(view, times):
        return view
    found = View(view.opened, view.runs, view.stop)
    key = (file, times, selection.lanes)
    found.brush = view.opened.brushes.of(
        key, lambda: _brush(view, file, times, selection.lanes), view.stop.check
    )
    if found.brush:
        found.look_at(f'"{found.brush.table}"')
    else:
        found.look_at(by_time.within(file, _with_inner(view, file, times) if inside else times))
    return found


def _brush(view: View, file: Path, times: Times, lanes: Ranges | None) -> Brush | None:
    """All that is needed of a brush, whatever is asked; None of too many."""
    wide = by_time.within(file, _with_inner(view, file, times))
    calls = f"from {wide} and {conditions.calls(Selection(lanes=lanes))}"
    if view.value(f"select count(*) {calls}") > MOST:
        return None
    return view.brushed(calls)


def _with_inner(view: View, file: Path, times: Times) -> Times:
    """From the first begin to the last end of the calls that last into a time."""
    (ends,) = view.rows(
        f"select min(start) as first, max(stop) as last from {by_time.within(file, times)}"
    )
    return times if ends["first"] is None else (ends["first"], ends["last"])


def _long(view: View, times: Times) -> float:
    """The times as a part of the run's."""
    return (times[1] - times[0]) / max(1, duration(view))


def _part(view: View, lanes: Ranges | None) -> float:
    """The lanes, with what lies between them, as a part of all: in `calls` each lane's lie together."""
    if lanes is None:
        return 1.0
    first, last = min(one[0] for one in lanes), max(one[1] for one in lanes)
    return (last - first + 1) / max(1, lane_count(view))
