"""Pure functions from tables to tables. Each has its SQL in a .sql file beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources
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


def compose(text: str, part: Callable[[str], str]) -> str:
    """A statement whose `{PART}` are put in; what is put in is not looked through again."""
    return re.sub(r"\{(\w[\w/]*)\}", lambda match: part(match[1]), text)


@cache
def statement(name: str, **parts: str) -> str:
    """Text of `analysis/NAME.sql`, where NAME may be `folder/name`.

    `{PART}` in it (or `{folder/part}`) stands for the part given, else for the text of PART.sql in the same folder,
    else in this one; the parts given hold inside it too.
    """
    package = resources.files(__package__)
    text = package.joinpath(f"{name}.sql").read_text(encoding="utf-8")
    folder = name.rpartition("/")[0]

    def part(word: str) -> str:
        if word in parts:
            return parts[word]
        beside = f"{folder}/{word}" if folder else word
        return statement(beside if package.joinpath(f"{beside}.sql").is_file() else word, **parts)

    return compose(text, part)


@cache
def combining(name: str, **parts: str) -> str | None:
    """Text of `analysis/NAME.combine.sql`, for rows of NAME.sql that parts of a run gave; none: it needs the whole."""
    if not resources.files(__package__).joinpath(f"{name}.combine.sql").is_file():
        return None
    return statement(f"{name}.combine", **parts)
