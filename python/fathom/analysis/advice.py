"""Advice for the program at hand: parts that are about a library or a language are said where it is used."""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from fathom.catalog import layers
from fathom.catalog.languages import LANGUAGES, spoken

# `[hdf5|netcdf: text]`; parts side by side are one match.
PART = re.compile(r"\[(\w[\w |.]*): ?([^]]*)\]")
PARTS = re.compile(rf"(?:{PART.pattern})+")
#: What a condition may name: a layer that the program itself calls, one called at all, the language, several ranks.
WORDS = frozenset(
    (*layers.names(), *(f"{name} below" for name in layers.names()), *LANGUAGES, "ranks")
)
#: `hdf5 1.14`, `hdf5 before 1.10.2`, `h5py 3.7`.
_VERSIONED = re.compile(r"(\w[\w ]*?) (before )?(\d[\d.]*)")

Version = tuple[int, ...]


def _version(text: str) -> Version:
    """The numbers that it begins with: of `2.3.0+cpu` 2, 3, 0."""
    numbers = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def is_condition(word: str) -> bool:
    """May advice ask it?"""
    return word in WORDS or re.fullmatch(_VERSIONED, word) is not None


@dataclass(frozen=True)
class Program:
    """What advice is for: `words` that hold, and of each library, by its name in lower case, the lowest version that
    is in use. Of a library whose version is not known the newest is supposed."""

    words: frozenset[str]
    versions: dict[str, Version]

    def __contains__(self, word: object) -> bool:
        versioned = re.fullmatch(_VERSIONED, str(word))
        if not versioned:
            return word in self.words
        name, before, number = versioned.groups()
        if name in layers.names() and name not in self.words:
            return False
        version = self.versions.get(name)
        is_older = version is not None and version < _version(number)
        return is_older if before else not is_older


def lowest_versions(libraries: Iterable[str]) -> dict[str, Version]:
    """Of texts like `HDF5 1.10.8`."""
    lowest: dict[str, Version] = {}
    for text in libraries:
        name, _, number = text.rpartition(" ")
        version = _version(number)
        if name and version:
            name = name.lower()
            lowest[name] = min(version, lowest.get(name, version))
    return lowest


def conditions(text: str) -> Iterator[str]:
    """What the parts of a header's line ask for."""
    for part in re.finditer(PART, text):
        yield from part[1].split("|")


def fitting(text: str, used: Container[str]) -> str:
    """The parts whose condition holds. Those side by side are a list, unless they bring their own comma."""

    def joined(match: re.Match[str]) -> str:
        parts = [
            part[2]
            for part in re.finditer(PART, match[0])
            if any(word in used for word in part[1].split("|"))
        ]
        return "".join(
            f"; {part}" if number and re.match(r"\w|\{", part) else part
            for number, part in enumerate(parts)
        )

    return re.sub(PARTS, joined, text)


def advice(text: str, used: Container[str], language: str) -> str:
    """A header's `fix`, or a row's text for it, for a program of this language that uses these."""
    return spoken(fitting(text, used), language, used)
