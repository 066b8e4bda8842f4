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


def first(sql: Callable[..., pa.Table]) -> dict[str, Any] | None:
    """Kind and detail of the first of them, and how many more there are."""
    asked = (
        "select kind, detail, count(*) over () - 1 as more from marks"
        " where list_contains($kinds, kind) order by kind, detail limit 1"
    )
    rows = sql(asked, kinds=list(KINDS)).to_pylist()
    return rows[0] if rows else None


def say(sql: Callable[..., pa.Table], run: Path) -> None:
    """One line on stderr, of the first of them."""
    mark = first(sql)
    if mark is None:
        return
    name = run.name.removesuffix(".fathom")
    what = f"{name}: {mark['kind']}: {mark['detail']}"
    more = f", and {mark['more']:,} more" if mark["more"] else ""
    all_ = shell(["fathom", "query", str(run), "--sql", "from marks"])
    print(f"fathom: {printable(what)}{more}; answers are of the rest: {all_}", file=sys.stderr)
