"""What commands print as JSON: tables in it a row a line, and some thousand rows at a time, however many there are."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from fathom.run.store import as_json
from fathom.text.quoting import json_lines, json_text

ROWS = 10_000  # that are text at the same time


def show(content: Mapping[str, Any] | pa.Table) -> None:
    """Prints an object, whose values may be tables, or a table."""
    pieces = _rows(content) if isinstance(content, pa.Table) else _object(content)
    for piece in pieces:
        sys.stdout.write(piece)
    sys.stdout.write("\n")


def _object(content: Mapping[str, Any]) -> Iterator[str]:
    before = "{"
    for key, value in content.items():
        yield f"{before}\n  {json.dumps(key)}: "
        if isinstance(value, pa.Table):
            yield from _rows(value, "  ")
        else:
            yield json_text(value).replace("\n", "\n  ")
        before = ","
    yield "\n}" if content else "{}"


def _rows(table: pa.Table, margin: str = "") -> Iterator[str]:
    before = "["
    for first in range(0, table.num_rows, ROWS):
        text = []
        for row in as_json(table.slice(first, ROWS)):
            text.append(f"{before}\n{margin}  {json_lines(json.dumps(row, ensure_ascii=False))}")
            before = ","
        yield "".join(text)
    yield f"\n{margin}]" if table.num_rows else "[]"
