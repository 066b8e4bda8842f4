"""`compare`: two open runs, as `fathom diff` compares them: the same functions, so the same numbers."""

from typing import Any

from fathom.analysis import Remembered, difference
from fathom.analysis.difference import Side
from fathom.analysis.selection import Selection
from fathom.webapi.answers import answer, number, table, text
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table

TABLES = {
    "setup": difference.configuration,
    "whole": difference.whole,
    "layers": difference.layers,
    "ops": difference.functions,
    "files": difference.files,
    "ranks": difference.ranks,
}
SECONDS = "s"
#: A parameter whose name Python keeps for itself.
WITH: dict[str, Any] = {"with": text}


def _unit(name: str) -> str:
    if name.startswith("bytes"):
        return "bytes"
    if "seconds" in name or name == "difference":
        return SECONDS
    return "text" if name in ("a", "b", "what", "of", "setting", "example") else "count"


def _side(view: View) -> Side:
    return view.once(
        "side", lambda: Side(view.opened.name, view.run.manifest, Remembered(view.run))
    )


def _table(name: str, a: Side, b: Side, limit: int) -> Table:
    rows = TABLES[name](a, b)
    words = ("path", "op", "layer", "caller", "quantity")
    units = {column: "text" if column in words else _unit(column) for column in rows.column_names}
    first = rows.slice(0, limit)
    note = None
    if rows.num_rows > limit:
        note = f"the {limit:,} largest differences of {rows.num_rows:,}; fathom diff has all"
    return table.of(first, "", units, rows.num_rows, note)


@answer("compare", required=("with",), limit=number(1, 5000), **WITH)
def compare(view: View, selection: Selection, limit: int = 500, **other: str) -> dict[str, Any]:
    """`a` is the run, `b` the run `with`: whole runs, whatever is selected. Seconds, as `fathom diff` has them."""
    a, b = _side(view), _side(view.runs.view(other["with"], with_runtime=view.run.with_runtime))
    tables = view.once(
        ("compare", b.name, limit),
        lambda: {name: _table(name, a, b, limit) for name in TABLES},
    )
    whole = (
        None if selection == Selection() else "runs are compared whole: the selection is left out"
    )
    return {
        "a": a.name,
        "b": b.name,
        "one each": difference.ONE_EACH,
        "incomparable": difference.incomparable(a, b),
        "note": whole,
    } | tables
