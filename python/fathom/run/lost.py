"""What was recorded and is not in the tables: no answer of the rest shows it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from fathom.errors import printable
from fathom.text.quoting import shell

#: Marks that say so.
KINDS = (
    "damage", "missing stream", "missing chunks", "missing blocks", "missing node part", "missing ranks",
)  # fmt: skip


def marks(sql: Callable[..., pa.Table]) -> list[dict[str, Any]]:
    """Their kind and detail."""
    asked = "select kind, detail from marks where list_contains($kinds, kind) order by all"
    rows: list[dict[str, Any]] = sql(asked, kinds=list(KINDS)).to_pylist()
    return rows


def say(sql: Callable[..., pa.Table], run: Path) -> None:
    """One line on stderr, of the first of them."""
    rows = marks(sql)
    if not rows:
        return
    name = run.name.removesuffix(".fathom")
    first = f"{name}: {rows[0]['kind']}: {rows[0]['detail']}"
    more = f", and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    all_ = shell(["fathom", "query", str(run), "--sql", "from marks"])
    print(f"fathom: {printable(first)}{more}; answers are of the rest: {all_}", file=sys.stderr)
