"""The call tree as text: paths through lines of the program, and what their I/O calls were spent in. pages/flame.py
draws it."""

from __future__ import annotations

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.tree import call_tree
from fathom.pages.answers import place
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import text

ROWS = pa.schema(
    [
        ("depth", pa.int64()),
        ("name", pa.string()),
        ("layer", pa.string()),
        ("calls", pa.int64()),
        ("bytes", pa.decimal128(38)),  # sums pass 64 bits
        ("seconds", pa.float64()),
        ("self_seconds", pa.float64()),
        ("share", pa.float64()),
    ]
)


def _indented(name: str, depth: int) -> str:
    return "  " * depth + text(name)


COLUMNS = (
    Column("call", "name", _indented, right=False, also=("depth",)),
    Column("layer", "layer", text, right=False, spare=1),
    Column("calls", "calls", numbers.count),
    Column("bytes", "bytes", numbers.size, spare=2),
    Column("time", "seconds", numbers.seconds),
    Column("share", "share", numbers.percent),
    Column("self", "self_seconds", numbers.seconds),
)


def frames(source: Source) -> pa.Table:
    """The same with all functions that led to the calls, those of libraries too."""
    return rows(source, frames=True)


def rows(source: Source, frames: bool = False) -> pa.Table:
    """Each node before those below it, the most time first. `share`: of all I/O calls of the program; `self_seconds`:
    without recorded calls inside, null of a line or region, which has none of its own."""
    root = call_tree(source, place, frames)
    return pa.Table.from_pylist(
        [
            {
                "depth": depth,
                "name": node.name,
                "layer": node.layer or None,
                "calls": node.calls,
                "bytes": node.bytes,
                "seconds": node.time / 1e9,
                "self_seconds": node.self_time / 1e9 if node.layer not in ("", "user") else None,
                "share": node.time / (root.time or 1),
            }
            for depth, node in root.walk()
        ],
        schema=ROWS,
    )
