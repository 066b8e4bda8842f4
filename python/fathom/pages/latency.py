"""Answers to queries as text."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from fathom.analysis.latency.ask import Answer
from fathom.text import numbers, tables
from fathom.text.column import Column
from fathom.text.tables import text

#: Rows of a table on the page.
FEW = 20
TITLES = {
    "layer": "Layers, over all these calls (mean: of one call)",
    "process": "By {who}",
    "call": "By call (the longest, in order)",
    "subcall": "By sub-call (the longest, in order)",
    "request": "Requests to servers (the longest, in order)",
    "server": "By server",
    "pair": "By {who} and server",
    "detail": "By call and server",
    "collective": "Collectives (the longest, in order)",
}
#: On the page; the others are in --json, and alone by --view.
PAGE = ("layer", "process", "call", "request", "server", "collective")
HEADINGS = {
    "seconds": "time",
    "start_seconds": "start",
    "server_seconds": "in servers",
    "server_mb_per_s": "MB/s of servers",
    "mb_per_s": "MB/s",
    "best_mb_per_s": "its MB/s",
    "subcall": "sub-call",
    "subcalls": "sub-calls",
    "server_name": "name",
    "path": "file",
}
SPARE = {"start_seconds": 4, "least_seconds": 3, "mean_seconds": 1, "calls": 2, "id": 6}


def joules(value: float | None) -> str:
    """1.5 -> `1.5 J`."""
    return numbers.UNKNOWN if value is None else f"{numbers.rate(value)} J"


def _writer(name: str) -> Callable[..., str]:
    for ending, write in (
        ("seconds", numbers.known_seconds if "communication" in name else numbers.seconds),
        ("mb_per_s", numbers.rate),
        ("joules", joules),
        ("bytes", numbers.size),
    ):
        if name.endswith(ending):
            return write
    return numbers.count


def columns(
    table: pa.Table, layers: Sequence[str] = (), *, named: bool = False
) -> tuple[Column, ...]:
    """How each column of an answer looks: of layers their names; names of servers only where asked for."""
    out = []
    for field in table.schema:
        if field.name in ("server_name", "id") and not named:
            continue
        words = field.name.removesuffix("_seconds").replace("_", " ")
        heading = words if words in layers else HEADINGS.get(field.name, words)
        if pa.types.is_string(field.type):
            out.append(Column(heading, field.name, text, right=False, is_path=field.name == "path"))
        else:
            out.append(
                Column(heading, field.name, _writer(field.name), spare=SPARE.get(field.name, 0))
            )
    return tuple(out)


def longest(table: pa.Table, most: int) -> pa.Table:
    """The rows with the most seconds, in their order."""
    by = next(
        (n for n in ("seconds", "server_seconds", "mean_seconds") if n in table.column_names), None
    )
    if table.num_rows <= most or by is None:
        return table.slice(0, most)
    times = table[by].to_pylist()
    best = sorted(range(len(times)), key=lambda row: -(times[row] or 0))[:most]
    return pa.concat_tables([table.slice(row, 1) for row in sorted(best)])


def title(view: str, answer: Answer) -> str:
    """What a table is."""
    return TITLES[view].format(who=answer.who)


def show(answer: Answer, most: int) -> None:
    """Prints the page: its tables, `most` rows of each, and which server is which."""
    blank, shown_servers = False, set[int]()
    for name in PAGE:
        table = answer.views.get(name)
        if table is None or not table.num_rows:
            continue
        if blank:
            print()
        blank = True
        few = table.num_rows if name == "layer" else most
        cut = f", {few:,} of {table.num_rows:,}" if table.num_rows > few else ""
        tables.heading(title(name, answer) + cut)
        shown = longest(table, few)
        tables.show(columns(shown, answer.layers), shown)
        if "server" in shown.column_names:
            shown_servers |= set(shown["server"].to_pylist())
    _legend(answer, shown_servers)


def _legend(answer: Answer, numbers_shown: set[int]) -> None:
    """Which server is which, of those that were printed."""
    known = [(number, name) for number, name in answer.servers if number in numbers_shown]
    if known:
        print()
        tables.heading("Servers")
    for number, name in known:
        print(f"  {number}  {tables.printable(name)}")


def as_json(answer: Answer, rows: Callable[[pa.Table], list[dict[str, Any]]]) -> dict[str, Any]:
    """Everything, raw."""
    return {
        "servers": [{"server": number, "name": name} for number, name in answer.servers],
        "views": {name: rows(table) for name, table in answer.views.items()},
        "notes": answer.notes,
    }
