"""The form of an answer with rows: columns with units, rows, how many there were, the SQL that gives the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fathom.run.store import plain

#: What a column of this name holds, where the answer says nothing else.
UNITS = {
    "start": "ns", "stop": "ns", "time": "ns", "duration": "ns", "nested": "ns", "exclusive": "ns", "longest": "ns",
    "busy": "ns", "median": "ns", "io time": "ns", "inclusive": "ns", "communication": "ns",
    "bytes": "bytes", "size": "bytes", "bytes read": "bytes", "bytes written": "bytes", "file_offset": "bytes",
    "calls": "count", "lanes": "count", "rank": "count", "process": "count", "depth": "count", "thread": "count",
    "threads": "count", "bin": "count", "bucket": "count", "error": "count", "result": "count", "errors": "count",
    "recorded": "count",
    "call": "call", "parent": "call", "from": "call", "to": "call", "lane": "lane", "file": "file",
    "overlap": "share", "share": "share",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows as JSON has them."""

    columns: list[tuple[str, str]]  # name, unit
    rows: list[list[Any]]
    total: int
    sql: str = ""
    note: str | None = None

    def as_json(self) -> dict[str, Any]:
        """docs/view-api.md, Answer."""
        columns = [{"name": name, "unit": unit} for name, unit in self.columns]
        return {
            "columns": columns, "rows": self.rows, "total": self.total, "sql": self.sql, "note": self.note,
        }  # fmt: skip

    def column(self, name: str) -> list[Any]:
        """Its values."""
        at = [one for one, _ in self.columns].index(name)
        return [row[at] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns."""
        names = [name for name, _ in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def notes(*parts: str | None) -> str | None:
    """What is to be said beside the rows, in one line."""
    return "; ".join(one for one in parts if one) or None


def _values(column: pa.ChunkedArray, unit: str) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if unit == "call":
        return [None if value is None else str(value) for value in values]
    kind = column.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return values if is_plain else [plain(value) for value in values]


def of(
    rows: pa.Table,
    sql: str,
    units: Mapping[str, str] | None = None,
    total: int | None = None,
    note: str | None = None,
) -> Table:
    """An answer of these rows; `units` go before what names say."""
    given = UNITS | dict(units or {})
    names = [(name, given.get(name, "text")) for name in rows.column_names]
    values = [_values(rows[name], unit) for name, unit in names]
    every = [list(row) for row in zip(*values, strict=True)]
    return Table(names, every, rows.num_rows if total is None else total, sql, note)
