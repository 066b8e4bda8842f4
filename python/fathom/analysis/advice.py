"""Advice for the program at hand: parts that are about a library or a language are said where it is used."""

import re
from collections.abc import Iterator

from fathom.catalog import layers
from fathom.catalog.languages import LANGUAGES, spoken

# `[hdf5|netcdf: text]`; parts side by side are one match.
PART = re.compile(r"\[(\w[\w |]*): ?([^]]*)\]")
PARTS = re.compile(rf"(?:{PART.pattern})+")
#: What a condition may name: a layer that the program itself calls, one called at all, the language, several ranks.
WORDS = frozenset(
    (*layers.names(), *(f"{name} below" for name in layers.names()), *LANGUAGES, "ranks")
)


def conditions(text: str) -> Iterator[str]:
    """What the parts of a header's line ask for."""
    for part in re.finditer(PART, text):
        yield from part[1].split("|")


def fitting(text: str, used: frozenset[str]) -> str:
    """The parts whose condition holds. Those side by side are a list, unless they bring their own comma."""

    def joined(match: re.Match[str]) -> str:
        parts = [part[2] for part in re.finditer(PART, match[0]) if used & {*part[1].split("|")}]
        return "".join(
            f"; {part}" if number and re.match(r"\w|\{", part) else part
            for number, part in enumerate(parts)
        )

    return re.sub(PARTS, joined, text)


def advice(text: str, used: frozenset[str], language: str) -> str:
    """A header's `fix`, or a row's text for it, for a program of this language that uses these."""
    return spoken(fitting(text, used), language)
