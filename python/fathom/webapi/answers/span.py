"""How large a run is, and the bins of time that a picture has."""

from fathom.analysis.selection import Selection
from fathom.webapi.answers.session import View


def duration(view: View) -> int:
    """How long the run took, in ns; 0 where nothing was recorded."""
    return view.once("duration", lambda: view.value("select duration from runs")) or 0


def lane_count(view: View) -> int:
    """Lanes of the run, one for each process."""
    return int(view.once("lane count", lambda: view.value("select count(*) from processes")))


def bins_of(view: View, selection: Selection, bins: int) -> tuple[int, int]:
    """Where the selected time begins, and how long each of `bins` equal parts of it is, in ns."""
    begin, end = selection.t or (0, duration(view) or 1)
    return begin, max(1, -(-(end - begin) // bins))
