"""The bins of time that a picture has."""

from fathom.screens.opened import View
from fathom.screens.selection import Selection


def bins_of(view: View, selection: Selection, bins: int) -> tuple[int, int]:
    """Where the selected time begins, and how long each of `bins` equal parts of it is, in ns."""
    whole = view.once("duration", lambda: view.value("select duration from runs")) or 1
    begin, end = selection.t or (0, whole)
    return begin, max(1, -(-(end - begin) // bins))
