"""Statements on what is inside a query's calls, put together of pieces.

They are no macros: a macro's body is planned and worked out at each use, and these use `held` and its like several
times. What is about the calls themselves is: `analysis/sql/latency.sql`.
"""

import re
from functools import cache
from importlib import resources


@cache
def statement(name: str, **parts: str) -> str:
    """Text of NAME.sql.

    `{PART}` in it stands for the part given, else for the text of PART.sql; the parts given hold inside it too.
    """
    text = resources.files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return re.sub(
        r"\{(\w+)\}",
        lambda part: parts[part[1]] if part[1] in parts else statement(part[1], **parts),
        text,
    )


@cache
def combining(name: str, **parts: str) -> str | None:
    """Text of NAME.combine.sql, for rows of NAME.sql that parts of a run gave; none: it needs the whole."""
    if not resources.files(__package__).joinpath(f"{name}.combine.sql").is_file():
        return None
    return statement(f"{name}.combine", **parts)
