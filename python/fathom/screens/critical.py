"""`critical`: who held the others up, from when until when (docs/selection.md)."""

from fathom.analysis.selection import Selection
from fathom.screens import answer
from fathom.screens.opened import View
from fathom.screens.statements import statement
from fathom.screens.table import Table


@answer("critical")
def critical(view: View, _: Selection) -> Table:
    """One row per phase and lane, of the whole run; none where nobody looked for who is critical."""
    return view.table(statement("critical"))
