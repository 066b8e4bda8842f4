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
        found.look_at(by_time.within(file, _with_inner(view, file, times)[1] if inside else times))
    return found


def _brush(view: View, file: Path, times: Times, lanes: Ranges | None) -> Brush | None:
    """All that is needed of a brush, whatever is asked; None of too many."""
    of_lanes = conditions.calls(Selection(lanes=lanes))
    calls, wide = _with_inner(view, file, times, of_lanes)
    if calls > MOST:
        return None
    brush = view.brushed(f"from {by_time.within(file, wide)} and {of_lanes} limit {MOST + 1}")
    return brush if view.value(f'select count(*) from "{brush.table}"') <= MOST else None


def _with_inner(view: View, file: Path, times: Times, which: str = "true") -> tuple[int, Times]:
    """How many calls last into a time, and the time from the first begin of these to the last end."""
    (found,) = view.rows(
        "select count(*) as calls, min(start) as first, max(stop) as last"
        f" from {by_time.within(file, times)} and {which}"
    )
    return found["calls"], (found["first"], found["last"]) if found["calls"] else times


def _long(view: View, times: Times) -> float:
    """The times as a part of the run's."""
    return (times[1] - times[0]) / max(1, duration(view))


def _part(view: View, lanes: Ranges | None) -> float:
    """The lanes, with what lies between them, as a part of all: in `calls` each lane's lie together."""
    if lanes is None:
        return 1.0
    first, last = min(one[0] for one in lanes), max(one[1] for one in lanes)
    return (last - first + 1) / max(1, lane_count(view))
