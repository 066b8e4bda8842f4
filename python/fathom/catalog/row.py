"""One TOML table of a catalog file with its place, and the keys that each kind of table may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .model import CatalogError, Parameter
from .prototypes import identifiers

API_KEYS: Mapping[str, type] = {
    "layer": str,
    "name": str,
    "library": list,
    "own": list,
    "inside": list,
    "below": str,
    "rows": dict,
    "variant": dict,
    "large": dict,
    "same": list,
    "headers": list,
    "system": list,
    "include": list,
    "error": str,
    "copies": int,
    "absorb": bool,
    "bindings_inside": bool,
    "types": dict,
    "each": dict,
    "async": dict,
    "left_out": dict,
    "looks_like": list,
    "undeclared": list,
    "buffers": list,
}
CALL_KEYS: Mapping[str, type] = {
    "op": str,
    "symbols": list,
    "args": str,
    "pass": str,
    "values": dict,
    "va": str,
    "returns": str,
    "kind": str,
    "file": str,
    "by": str,
    "dirfd": str,
    "object": str,
    "handle": str,
    "named": str,
    "opens": str,
    "closes": str,
    "size": str,
    "offset": str,
    "bytes": str,
    "moves": str,
    "result": str,
    "record": list,
    "when": str,
    "error": str,
    "fails": str,
    "before": str,
    "before_changes": list,
    "after": str,
    "tune": str,
    "tuned": str,
    "always": bool,
    "hot": bool,
    "row": bool,
    "keeps": str,
    "collective": bool,
    "beside": bool,
    "op_by": str,
    "buffer": str,
    "pieces": str,
    "offset_from": str,
    "since": str,
    "clears_errno": bool,
    "returns_twice": bool,
    "noreturn": bool,
    "syscalls": list,
    "fortran": list,
    "form": list,
    "large": dict,
    "otherwise": str,
    "async": str,
    "means": str,
}
#: What [api.async] says of the asynchronous forms of rows; all of it.
ASYNC_KEYS: Mapping[str, type] = {
    "before": str,
    "behind": str,
    "kind": str,
    "since": str,
    "result": str,
    "after": str,
}
FORM_KEYS: Mapping[str, type] = {
    "each": str,
    "since": str,
    "symbols": list,
    "args": str,
    "pass": str,
    "va": str,
    "given": dict,
}
_TYPE_NAMES = {
    str: "a text",
    list: "a list",
    int: "a number",
    bool: "true or false",
    dict: "a table",
}
ERRORS = ("errno", "nonzero", "negative", "minus_errno", "none")
NAME = re.compile(r"[A-Za-z_]\w*")
#: Names that a wrapper uses itself (wrappers.py).
RESERVED = frozenset(
    "c real ended asked at went recorded errno_before original va edge site tuned tunes".split()
)
_C_WORDS = frozenset(
    "c wrapper sizeof int long unsigned char void const struct int64_t uint64_t uint32_t int32_t size_t "
    "ssize_t off_t uintptr_t intptr_t mode_t errno true false stdin stdout".split()
)


class Row:
    """One TOML table with its place, so that every complaint can name it."""

    def __init__(
        self, path: Path, name: str, data: Mapping[str, Any], keys: Mapping[str, type]
    ) -> None:
        self.path, self.name, self.data = path, name, data
        for key, value in data.items():
            if key not in keys:
                raise self.error(key, "is no key of the catalog (docs/catalog.md lists them)")
            if not isinstance(value, keys[key]) or (keys[key] is int and isinstance(value, bool)):
                raise self.error(key, f"must be {_TYPE_NAMES[keys[key]]}")

    def error(self, key: str, problem: str) -> CatalogError:
        return CatalogError(self.path, self.name, key, problem)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            raise self.error(key, "is missing")
        return str(value)

    def flag(self, key: str) -> bool:
        return bool(self.data.get(key, False))

    def words(self, key: str) -> tuple[str, ...]:
        values = self.data.get(key, [])
        for value in values:
            if not isinstance(value, str):
                raise self.error(key, "must be a list of texts")
        return tuple(values)

    def pairs(self, key: str) -> dict[str, str]:
        values = self.data.get(key, {})
        for name, value in values.items():
            if not isinstance(value, str):
                raise self.error(f"{key}.{name}", "must be a text")
        return dict(values)


def expression(row: Row, key: str, known: set[str], result: Parameter | None = None) -> str:
    text = row.text(key, "")
    check_words(row, key, text, known | ({result.name} if result else set()))
    return text


def check_words(row: Row, key: str, expression: str, known: set[str]) -> None:
    """A lower-case word that is no argument is a slip; capitals are the library's constants."""
    for word in sorted(identifiers(expression) - known - _C_WORDS):
        if not word.isupper():
            raise row.error(key, f"'{word}' is no argument")


def one_of(row: Row, key: str, value: str, choices: Iterable[str]) -> str:
    if value not in choices:
        raise row.error(key, f"'{value}' is none of {', '.join(choices)}")
    return value
