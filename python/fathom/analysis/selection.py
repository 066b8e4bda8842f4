"""What of a run is asked: the selection that every request of the UI takes (docs/view-api.md), as SQL over `calls`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import unquote

from fathom.errors import UsageError

Ranges = tuple[tuple[int, int, int], ...]
"""First, last, step."""

#: Numbers that SQL's 64-bit integers hold.
MOST = 2**63 - 1


def whole(name: str, word: str, least: int = 0, most: int = MOST) -> int:
    """A whole number, or UsageError."""
    if not re.fullmatch(r"-?[0-9]{1,19}", word, re.ASCII) or not least <= int(word) <= most:
        limit = "" if most == MOST else f" to {most}"
        raise UsageError(f"{name}={word[:40]!r}: a whole number from {least}{limit} is expected")
    return int(word)


def _times(name: str, word: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?[0-9]+)-(-?[0-9]+)", word, re.ASCII)
    if not match:
        raise UsageError(f"{name}={word[:40]!r}: two times are expected, ns from the start: A-B")
    first, last = (whole(name, end, least=-MOST) for end in match.groups())
    if last <= first:
        raise UsageError(f"{name}={word[:40]!r}: it ends before it begins")
    return first, last


def ranges(name: str, word: str) -> Ranges:
    """Numbers as `0-63:8,70`, or UsageError."""
    matches = [
        re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part, re.ASCII) for part in word.split(",")
    ]
    numbers = []
    for match in matches:
        if match is None:
            raise UsageError(f"{name}={word[:40]!r}: numbers are expected, as 0-63:8,70")
        first = whole(name, match[1])
        numbers.append(
            (first, whole(name, match[2] or match[1]), whole(name, match[3] or "1", least=1))
        )
    return tuple(numbers)


def _words(name: str, word: str) -> tuple[str, ...]:
    words = tuple(unquote(one) for one in word.split(","))
    if not all(words):
        raise UsageError(f"{name}={word[:40]!r}: names with commas between them are expected")
    return words


def _ops(name: str, word: str) -> tuple[tuple[str, str], ...]:
    pairs = [one.partition(":") for one in _words(name, word)]
    if not all(layer and op for layer, _, op in pairs):
        raise UsageError(f"{name}={word[:40]!r}: layer and op are expected, as posix:pwrite")
    return tuple((layer, op) for layer, _, op in pairs)


def _numbers(name: str, word: str) -> tuple[int, ...]:
    return tuple(whole(name, one) for one in _words(name, word))


@dataclass(frozen=True)
class Selection:
    """None: everything."""

    t: tuple[int, int] | None = None  # ns, [first, last)
    lanes: Ranges | None = None
    layers: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    ops: tuple[tuple[str, str], ...] | None = None
    files: tuple[int, ...] | None = None
    servers: tuple[str, ...] | None = None


READERS = {
    "t": _times,
    "lanes": ranges,
    "layers": _words,
    "kinds": _words,
    "ops": _ops,
    "files": _numbers,
    "servers": _words,
}
assert READERS.keys() == {field.name for field in fields(Selection)}


def read(parameters: Mapping[str, str]) -> Selection:
    """Of a request's parameters; those of other names are left to others. Errors: UsageError."""
    given = {
        name: READERS[name](name, parameters[name]) for name in READERS if parameters.get(name)
    }
    return Selection(**given)  # type: ignore[arg-type]
