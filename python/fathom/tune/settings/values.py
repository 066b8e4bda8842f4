"""A value of a settings file against its knob: within its limits, in the library's own numbers."""

import re
from collections.abc import Sequence
from typing import Any

from fathom.catalog.knobs import Knob, Value

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SIZE = re.compile(r"(-?[0-9]+) ?([kmgt]?)(?:ib)?", re.IGNORECASE)
#: Longest text of a hint that every MPI takes (Open MPI's MPI_MAX_INFO_VAL is 256).
LONGEST = 255


class ValueMistake(Exception):
    """What is wrong with a value, and what it may be."""


def of_knob(knob: Knob, given: Any) -> tuple[str, ...]:
    """The values as a library takes them, as texts; raises ValueMistake."""
    several = list(given) if isinstance(given, list) else [given]
    many = len(knob.values) == 1 and knob.values[0].many
    if len(several) != len(knob.values) and not (many and 1 <= len(several) <= 32):
        names = ", ".join(value.name for value in knob.values)
        raise ValueMistake(f"takes {len(knob.values)} values ({names}), {len(several)} given")
    kinds: Sequence[Value] = knob.values * len(several) if many else knob.values
    return tuple(_one(kind, value) for kind, value in zip(kinds, several, strict=True))


def _one(value: Value, given: Any) -> str:
    if value.kind == "choice":
        word = str(given).lower() if isinstance(given, bool) else str(given)
        if word not in value.words:
            raise ValueMistake(f"'{word}' is none of {', '.join(value.words)}")
        return str(value.numbers[value.words.index(word)]) if value.numbers else word
    if value.kind == "bool":
        word = str(given).lower()
        if word not in ("true", "false", "0", "1"):
            raise ValueMistake(f"'{given}' is neither true nor false")
        return "1" if word in ("true", "1") else "0"
    if value.kind == "text":
        return _text(str(given))
    if value.kind == "number":
        return _bounded(value, _number(given))
    return _bounded(value, _whole(value, given))


def _text(text: str) -> str:
    if not text or len(text) > LONGEST or not text.isprintable() or text != text.strip():
        raise ValueMistake(f"'{text}' is no text of 1 to {LONGEST} letters")
    return text


def _number(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ValueMistake(f"'{given}' is no number") from None


def _whole(value: Value, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise ValueMistake(f"'{given}' is no whole number")
    number = SIZE.fullmatch(str(given))
    if not number or (number[2] and value.kind != "bytes"):
        example = "write 65536, 64KiB or 1MiB" if value.kind == "bytes" else "write it in digits"
        raise ValueMistake(f"'{given}' is no whole number; {example}")
    return int(number[1]) * UNITS[number[2].lower()]


def _bounded(value: Value, number: float) -> str:
    low = value.least is not None and number < value.least
    if low or (value.most is not None and number > value.most) or not abs(number) < 1 << 63:
        most = "" if value.most is None else f" to {value.most:,}"
        raise ValueMistake(f"{number:,} is out of its range, from {value.least:,}{most}")
    return repr(number)
