"""`critical`: who held the others up, from when until when (docs/selection.md)."""

from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table


@answer("critical")
def critical(view: View, _: Selection) -> Table:
    """One row per phase and lane, of the whole run; none where nobody looked for who is critical."""
    return view.table("from critical_lanes()")
