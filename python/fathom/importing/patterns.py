"""Offsets that Recorder 3 wrote as patterns: a line over ranks (`a*r+b`), or the distance from the call before."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Functions of which ranks are compared; of pread Recorder computes the distance, and writes the offset.
ACROSS = frozenset(
    f"{name}{more}"
    for names, ends in (
        ("lseek pread pwrite", ("", "64")),
        ("MPI_File_read_at MPI_File_write_at", ("", "_all")),
    )
    for name in names.split()
    for more in ends
)
WITHIN = ACROSS - {"pread", "pread64"} | {"MPI_File_set_view"}
NUMBER = "-?[0-9]{1,18}"
INTEGER = re.compile(NUMBER, re.ASCII)
LINE = re.compile(rf"({NUMBER})\*r\+({NUMBER})", re.ASCII)
UNKNOWN = ""


class Kept(NamedTuple):
    """Of one rank and function: how many signatures there are, and which lines are in them."""

    signatures: int
    lines: frozenset[str]


def numbers(ranks: Iterable[Mapping[str, Kept]]) -> list[dict[str, int]]:
    """By rank and function, the `r` of a line. Recorder compares the ranks that have equally many signatures of a
    function, and numbers these from 0."""
    met: dict[tuple[str, Kept], int] = {}
    found = []
    for rank in ranks:
        mine = {}
        for function, kept in rank.items():
            mine[function] = met.get((function, kept), 0)
            met[function, kept] = mine[function] + 1
        found.append(mine)
    return found


class Offsets:
    """Of one rank, whose calls are asked for in their order."""

    def __init__(self, numbers: Mapping[str, int], within: bool, known: bool) -> None:
        """`within`: distances were written; `known`: calls are in the order in which they were made."""
        self._numbers, self._within, self._known = numbers, within, known
        self._before: dict[str, int | None] = {}

    def real(self, function: str, word: str) -> str:
        """The offset that an argument of a function stands for."""
        if function in self._numbers and (line := LINE.fullmatch(word)):
            word = str(int(line[1]) * self._numbers[function] + int(line[2]))
        if not self._within or function not in WITHIN:
            return word
        before = self._before.get(function, 0)
        whole = self._known and before is not None and INTEGER.fullmatch(word)
        at = (before or 0) + int(word) if whole else None
        self._before[function] = at
        return UNKNOWN if at is None else str(at)
