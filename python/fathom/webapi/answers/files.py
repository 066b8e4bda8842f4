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
from fathom.webapi.answers.statements import statement
from fathom.webapi.answers.table import Table
from fathom.webapi.answers.time_index import narrowed

STATEMENTS = {"file": "files_tree", "rank": "files_ranks", "op": "files_ops"}
UNITS = {"files": "count", "most lanes": "count"}


def common_folder(view: View) -> str:
    """The deepest folder that holds all files, with its slash."""
    (row,) = view.rows(statement("files_ends"))
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
    counted = selection.t is None
    parts = {
        "selected": conditions.calls(selection),
        "by": "process" if by == "rank" else "file",
        "under": quoted(folder),
    }
    base = statement("files_counted" if counted else "files_calls", **parts)
    sums = statement("files_sums", **parts)
    text = statement(STATEMENTS[by], file_calls=base, sums=sums, **parts)
    note = _note(view, selection, by)
    return {"under": folder, "table": narrowed(view, selection).table(text, UNITS, limit, note)}


def _each(view: View, selection: Selection, limit: int) -> Table:
    on_files = "file is not null"
    text = statement(
        "files_each",
        selected=conditions.calls(selection),
        least=least(view, selection, limit, on_files),
        limit=str(limit),
    )
    rows = narrowed(view, selection).sql(text)
    total = how_many(view, selection, on_files) if rows.num_rows == limit else None
    return table.of(rows, text, UNITS, total, _note(view, selection, "call"))


def _note(view: View, selection: Selection, by: str) -> str | None:
    if view.once("no files", lambda: not view.value("select count(file) from counters")):
        return no_files(view)
    if selection.t is None and by != "call":
        return None
    return missing(view, selection)
