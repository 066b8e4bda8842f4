"""Pure functions from tables to tables. Their SQL is in `sql/`: macros of DuckDB, which `fathom.run.macros` loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Source(Protocol):
    """What answers SQL over a run's tables: `fathom.run.store.Run`, or tables in memory."""

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""


def question(text: str, values: dict[str, Any]) -> str:
    """Tells one statement with its values from others."""
    return f"{text}\n{sorted(values.items())!r}"


class Remembered:
    """A source that asks each question once: analyses of one page may stand on one another."""

    def __init__(self, source: Source) -> None:
        """`source` answers what is asked the first time."""
        self._source = source
        self._answers: dict[str, pa.Table] = {}

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""
        key = question(text, values)
        if key not in self._answers:
            self._answers[key] = self._source.sql(text, **values)
        return self._answers[key]
