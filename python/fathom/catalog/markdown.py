"""Tables of Markdown, and where they stand on a page that is written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

MARK = re.compile(r"(<!-- made of catalog/[a-z]+\.toml: ([^>]*) -->\n).*?(<!-- end -->)", re.S)


def table_text(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A table."""
    head = list(heads)
    rule = "|---" * len(head) + "|"
    return "\n".join([_line(head), rule, *map(_line, lines)])


def _line(cells: Iterable[object]) -> str:
    return "".join(f"| {cell} " if cell != "" else "| " for cell in cells) + "|"


def marked(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """A page with its tables made anew: each stands between `<!-- made of FILE: NAME -->` and `<!-- end -->`."""
    return MARK.sub(lambda match: f"{match[1]}\n{tables[match[2]]()}\n\n{match[3]}", text)
