"""Compact rows made long: what a file says once of all its rows, and rows made of other rows.

Everything here turns TOML tables into TOML tables; load.py reads what comes out as if it had been written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Table = dict[str, Any]


class ExpandError(ValueError):
    """A compact row that cannot be made long: its key, and what is wrong."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(problem)
        self.key = key


def names_of(op: str) -> dict[str, str]:
    """The words that `rows` and `variant` may use: MPI_Send, mpi_send, send."""
    lower = op.lower()
    return {"op": op, "lower": lower, "tail": lower.partition("_")[2]}


def with_rows(row: Mapping[str, Any], rows: Mapping[str, Any]) -> Table:
    """The row, with the keys that `rows` gives and it does not; words in lists stand for its name."""
    words = names_of(str(row.get("op", "")))
    given = {
        key: [_fill(one, words) for one in value] if isinstance(value, list) else value
        for key, value in rows.items()
    }
    return {**given, **row}


def with_variants(
    row: Mapping[str, Any], variants: Mapping[str, Mapping[str, str]]
) -> Iterator[Table]:
    """The row itself, then one made of it for each name in its `variants`."""
    own = {key: value for key, value in row.items() if key != "variants"}
    yield own
    words = {**names_of(str(row.get("op", ""))), "args": str(row.get("args", ""))}
    for name in row.get("variants", []):
        if name not in variants:
            raise ExpandError("variants", f"'{name}' is no [api.variant] of this file")
        variant = {**own, **{key: _fill(text, words) for key, text in variants[name].items()}}
        yield {key: value for key, value in variant.items() if variants[name].get(key) != ""}


def large_form(row: Mapping[str, Any], large: Mapping[str, str]) -> Table:
    """The form for large counts: `large` of the row says which arguments get which wider type."""
    args = str(row.get("args", ""))
    for name, wider in row["large"].items():
        args, substitutions = re.subn(rf"\bint (\**{name}\b)", rf"{wider} \1", args)
        if not substitutions:
            raise ExpandError("large", f"'{name}' is no argument of type int")
    symbols = [f"{symbol}{large['suffix']}" for symbol in row.get("symbols", [])]
    return {"symbols": symbols, "args": args, "since": large["since"]}


def _fill(text: Any, words: Mapping[str, str]) -> Any:
    if not isinstance(text, str):
        return text
    return re.sub(r"\{(\w+)\}", lambda match: words.get(match[1], match[0]), text)
