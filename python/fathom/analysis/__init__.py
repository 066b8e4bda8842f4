"""Pure functions from tables to tables. Each has its SQL in a .sql file beside it."""

from functools import cache
from importlib import resources
from typing import Any, Protocol

import pyarrow as pa


class Source(Protocol):
    """What answers SQL over a run's tables: `fathom.store.Run`, or tables in memory."""

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""


@cache
def statement(name: str) -> str:
    """Text of `analysis/NAME.sql`."""
    return resources.files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
