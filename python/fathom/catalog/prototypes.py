"""C prototypes as the catalog writes them: split into parameters, put together again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .model import Parameter

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_FUNCTION_POINTER = re.compile(r"\(\s*\*\s*([A-Za-z_]\w*)\s*\)")
_LAST_NAME = re.compile(r"([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$")
_TYPE_WORDS = frozenset(
    "void char short int long float double signed unsigned const volatile restrict struct union enum".split()
)


class PrototypeError(ValueError):
    """A prototype that cannot be read; the text says which part."""


def split_arguments(text: str) -> list[str]:
    """Split at the commas that are in no bracket."""
    parts: list[str] = []
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return parts


def parse_parameter(text: str) -> Parameter:
    """Read one declaration, such as "const void *buf" or "int (*compare)(const void *)"."""
    match = _FUNCTION_POINTER.search(text)
    if match:
        return Parameter(text, match[1], text[: match.start(1)] + text[match.end(1) :])
    match = _LAST_NAME.search(text)
    if not match or match[1] in _TYPE_WORDS or not text[: match.start(1)].strip():
        raise PrototypeError(f"'{text}' names no argument: write its type and its name")
    return Parameter(text, match[1], (text[: match.start(1)] + match[2]).strip())


def parse_arguments(text: str) -> tuple[tuple[Parameter, ...], bool]:
    """Return the parameters of "int fd, ..." and whether the prototype is variadic."""
    if text.strip() in ("", "void"):
        return (), False
    parts = split_arguments(text)
    variadic = parts[-1] == "..."
    if variadic:
        parts.pop()
    parameters = tuple(parse_parameter(part) for part in parts)
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise PrototypeError(f"argument '{name}' is there twice")
    return parameters, variadic


def identifiers(expression: str) -> set[str]:
    """The words of a C expression that could name an argument."""
    without_text = re.sub(r'"[^"]*"|\b\d\w*', "", expression)
    members = set(re.findall(r"(?:\.|->)\s*([A-Za-z_]\w*)", without_text))
    called = set(re.findall(r"([A-Za-z_]\w*)\s*\(", without_text))
    return set(IDENTIFIER.findall(without_text)) - members - called


def declare(parameters: Iterable[Parameter], variadic: bool = False) -> list[str]:
    """The parameter list of a declaration, one text per parameter."""
    texts = [parameter.text for parameter in parameters]
    return [*texts, "..."] if variadic else texts or ["void"]


def join_type(type_: str, name: str) -> str:
    """ "char *" and "path" make "char *path"; "int" and "fd" make "int fd"."""
    return type_ + name if type_.endswith("*") else f"{type_} {name}"
