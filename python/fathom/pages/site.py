"""What accesses cost on the mounts of a site, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa

from fathom.run.site import Reference
from fathom.text import numbers
from fathom.text.tables import Column, heading, show, text


def _rate(per_byte: float) -> str:
    return f"{numbers.rate(1 / per_byte / 1e6)} MB/s"


COLUMNS = (
    Column("mount", "mount", text, right=False),
    Column("type", "file_system", text, right=False),
    Column("", "kind", text, right=False),
    Column("runs", "runs", numbers.count),
    Column("request", "request", numbers.seconds),
    Column("best tenth", "request_best", numbers.seconds),
    Column("rate", "per_byte", _rate),
    Column("best tenth", "per_byte_best", _rate),
)


def show_site(references: Sequence[Reference]) -> None:
    """To stdout."""
    heading("What accesses cost at this site (medians of runs; request: beyond its bytes)")
    show(COLUMNS, pa.Table.from_pylist([asdict(one) for one in references]))
