"""`query`: IOPro's queries as they are typed, their tables and what is drawn of them."""

from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from fathom.analysis.latency import language, model
from fathom.analysis.latency import segment as segments
from fathom.analysis.latency.ask import Answer
from fathom.analysis.selection import Selection
from fathom.pages import bars, latency
from fathom.run.limitations import explain_missing, reads_and_writes
from fathom.webapi.answers import answer, number, table, text
from fathom.webapi.answers.session import View
from fathom.webapi.answers.stoppable import Stoppable
from fathom.webapi.answers.table import Table

ROWS = 10_000
#: Here a call is its number; its id opens it.
UNITS = {"call": "count", "id": "call", "server": "count", "subcall": "count", "joules": "joule"}


@answer("query", required=("q",), q=text, limit=number(1, ROWS))
def query(view: View, _: Selection, *, q: str, limit: int = 1000) -> dict[str, Any]:
    """Of calls and requests the `limit` longest."""
    words, segment = segments.read(q)
    asked = language.parse(words)
    views = frozenset(latency.PAGE) | bars.VIEWS
    source = Stoppable(view)
    try:
        with explain_missing(view.run.manifest, reads_and_writes):
            reply = model.answer(source, asked, segment, limit, views)
    finally:
        source.release()
    return {
        "query": str(asked),
        "tables": _tables(reply),
        "picture": asdict(bars.picture(asked, reply, limit)),
        "servers": reply.servers,
        "notes": reply.notes,
    }


def _tables(reply: Answer) -> list[dict[str, Any]]:
    """Those of the page in a terminal, each below its title."""
    shown = ((name, reply.views.get(name)) for name in latency.PAGE)
    return [
        {"title": latency.title(name, reply), "rows": _table(rows, reply.layers)}
        for name, rows in shown
        if rows is not None and rows.num_rows
    ]


def _table(rows: pa.Table, layers: list[str]) -> Table:
    """With the headings that it has in a terminal."""
    seconds = {name: "s" for name in rows.column_names if name.endswith("seconds")}
    shown = table.of(rows, "", UNITS | seconds)
    headings = [column.heading for column in latency.columns(rows, layers, named=True)]
    units = [unit for _, unit in shown.columns]
    return replace(shown, columns=list(zip(headings, units, strict=True)))
