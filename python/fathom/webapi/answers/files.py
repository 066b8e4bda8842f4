"""`files`: the tree of files, and down from it: ranks, ops, calls of what is selected."""

import os.path
from pathlib import PurePosixPath
from typing import Any

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.run.database import quoted
from fathom.webapi.answers import answer, choice, number, table, text
from fathom.webapi.answers.captured import missing, no_files
from fathom.webapi.answers.longest import how_many, least
from fathom.webapi.answers.session import View
from fathom.webapi.answers.table import Table
from fathom.webapi.answers.time_index import narrowed

STATEMENTS = {"file": "file_tree", "rank": "file_ranks", "op": "file_ops"}
UNITS = {"files": "count", "most lanes": "count"}


def common_folder(view: View) -> str:
    """The deepest folder that holds all files, with its slash."""
    (row,) = view.rows("from file_ends()")
    if row["first"] is None:
        return "/"
    folders = [PurePosixPath(row[end]).parent for end in ("first", "last")]
    return str(os.path.commonpath(folders)).rstrip("/") + "/"


@answer("files", by=choice(*STATEMENTS, "call"), under=text, limit=number(1, 5000))
def files(
    view: View, selection: Selection, by: str = "file", under: str = "", limit: int = 500
) -> dict[str, Any]:
    """`under`: the folder that is shown (none given: the deepest that holds all), with a slash; `table`."""
    folder = under or view.once("common folder", lambda: common_folder(view))
    folder = folder if folder.endswith("/") else folder + "/"
    if by == "call":
        return {"under": folder, "table": _each(view, selection, limit)}
    rows = "file_calls_of_counters" if selection.t is None else "file_calls_of_calls"
    within = f", {quoted(folder)}" if by == "file" else ""
    text = (
        f"with calls_ as (from {rows}({conditions.calls(selection)}))"
        f" from {STATEMENTS[by]}('calls_'{within})"
    )
    note = _note(view, selection, by)
    return {"under": folder, "table": narrowed(view, selection).table(text, UNITS, limit, note)}


def _each(view: View, selection: Selection, limit: int) -> Table:
    on_files = "file is not null"
    shortest = least(view, selection, limit, on_files)
    text = f"from file_each({conditions.calls(selection)}, {shortest}, {limit})"
    rows = narrowed(view, selection).sql(text)
    total = how_many(view, selection, on_files) if rows.num_rows == limit else None
    return table.of(rows, text, UNITS, total, _note(view, selection, "call"))


def _note(view: View, selection: Selection, by: str) -> str | None:
    if view.once("no files", lambda: not view.value("select count(file) from counters")):
        return no_files(view)
    if selection.t is None and by != "call":
        return None
    return missing(view, selection)
