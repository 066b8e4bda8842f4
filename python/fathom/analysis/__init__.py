"""Pure functions from tables to tables. Each has its SQL in a .sql file beside it."""

import re
from functools import cache
from importlib import resources
from typing import Any, Protocol

import pyarrow as pa


class Source(Protocol):
    """What answers SQL over a run's tables: `fathom.store.Run`, or tables in memory."""

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""


class Remembered:
    """A source that asks each question once: analyses of one page may stand on one another."""

    def __init__(self, source: Source) -> None:
        """`source` answers what is asked the first time."""
        self._source = source
        self._answers: dict[tuple[str, str], pa.Table] = {}

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""
        question = (text, repr(sorted(values.items())))
        if question not in self._answers:
            self._answers[question] = self._source.sql(text, **values)
        return self._answers[question]


@cache
def statement(name: str, **parts: str) -> str:
    """Text of `analysis/NAME.sql`; `{PART}` in it stands for the part given, else for the text of `PART.sql`."""
    text = resources.files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda part: parts.get(part[1]) or statement(part[1]), text)
