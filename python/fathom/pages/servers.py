"""Forwarding servers, one per row."""

from typing import Any

from fathom.run import database
from fathom.text import numbers
from fathom.text.tables import Column, show, text

COLUMNS = [
    Column("server", "name", text, right=False),
    Column("address", "address", text, right=False, spare=2),
    Column("state", "state", text, right=False),
    Column("connections", "others", numbers.count),
    Column("requests", "requests", numbers.count),
    Column("writes", "writes", numbers.count, spare=1),
    Column("store writes", "store_writes", numbers.count),
    Column("written", "written_bytes", numbers.size),
    Column("read", "read_bytes", numbers.size),
    Column("buffered", "buffered_bytes", numbers.size, spare=1),
]


def show_servers(states: list[dict[str, Any]]) -> None:
    """What each said of itself, or why it did not."""
    names = [column.name for column in COLUMNS]
    rows = [{"state": state.get("error", "up")} | state for state in states]
    show(COLUMNS, database.table_of([{name: row.get(name) for name in names} for row in rows]))
