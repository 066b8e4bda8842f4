"""Names of files as text of C, shell, TOML, JSON and CSV. Each writes plainly what is known to be harmless there, and
escapes all else: a name may hold any letter."""

import json
import os
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

C = re.compile(
    rb"[A-Za-z0-9 !#%&'()*+,./:;<=>@\[\]^_`{|}~-]"
)  # no $: a line's places; no ?: trigraphs
CSV = re.compile(r"[\w ./:;+*%()<>=@~^&!?#'|-]*")


def c_string(text: str) -> str:
    """A string of C. What is no plain ASCII is three octal digits: the name stays the same with trigraphs, and the
    source has no letters that turn it around."""
    letters = (bytes([one]) for one in text.encode(errors="surrogateescape"))
    safe = (one.decode() if C.match(one) else f"\\{one[0]:03o}" for one in letters)
    return f'"{"".join(safe)}"'


def shell(words: Sequence[str]) -> str:
    """A command line to be typed, in one line: control characters as bash and most others have them."""
    return " ".join(map(_word, words))


def _word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    every = (
        letter if letter.isprintable() and letter not in "'\\"
        else "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
        for letter in word
    )  # fmt: skip
    return f"$'{''.join(every)}'"


def toml(value: Any) -> str:
    """A text, a number, a truth value or a list of such. Unlike in JSON a letter beyond U+FFFF is one escape, and half
    a letter is none."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return f"[{', '.join(map(toml, value))}]"
    whole = value.encode(errors="replace").decode()
    every = (one if one.isprintable() and one not in '"\\' else _escape(one) for one in whole)
    return f'"{"".join(every)}"'


def _escape(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def json_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """For people and programs: letters stay as they are, but those that a terminal acts upon or hides are escapes.
    `default`: what becomes of values that JSON has not."""
    return json_lines(json.dumps(value, indent=2, ensure_ascii=False, default=default))


def json_lines(text: str) -> str:
    """The same of JSON that was written with its letters as they are."""
    lines = text.split("\n")
    return "\n".join(one if one.isprintable() else _shown(one) for one in lines)


def _shown(line: str) -> str:
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def csv_field(value: Any) -> str:
    """A value; nothing for null. A list is JSON, as `fathom export` writes it."""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = "" if value is None else str(value)
    return text if CSV.fullmatch(text) else '"' + text.replace('"', '""') + '"'
