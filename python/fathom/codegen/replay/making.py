"""What the makers of statements share: names of files, slots for what is open, the largest transfer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fathom.codegen.replay.calls import Call, Recorded
from fathom.codegen.replay.fold import Line


class Cannot(Exception):
    """Why a call cannot be made again."""


class LeftOut(Exception):
    """A call that moves no data, and is not made again."""


@dataclass
class Slots:
    """Places of an array in C: the lowest that is free is taken."""

    free: list[int] = field(default_factory=list)
    used: int = 0
    of: dict[int, int] = field(default_factory=dict)

    def take(self, key: int) -> int:
        """A place for what was opened."""
        if self.free:
            at = heappop(self.free)
        else:
            at, self.used = self.used, self.used + 1
        self.of[key] = at
        return at

    def give(self, key: int) -> int:
        """Its place, which is free from now on."""
        at = self.of.pop(key)
        heappush(self.free, at)
        return at


class Names:
    """The files by number: in the order in which ranks come to them, rank after rank where they do so at once."""

    def __init__(self, recorded: Recorded) -> None:
        first: dict[str, tuple[int, int]] = {}
        for rank, calls in enumerate(recorded.calls):
            index_of_path: dict[str, int] = {}
            for call in calls:
                inside = call.layer == "hdf5" and not call.op.startswith("H5F")
                for path in () if inside else (call.path, call.arguments.get("to")):
                    if path and path not in index_of_path:
                        index_of_path[path] = len(index_of_path)
                        first[path] = min(
                            first.get(path, (index_of_path[path], rank)),
                            (index_of_path[path], rank),
                        )
        self.paths = sorted(first, key=lambda path: (first[path], path))
        self._number = {path: at for at, path in enumerate(self.paths)}

    def __getitem__(self, path: str) -> int:
        return self._number[path]


@dataclass
class Making:
    """Of one rank: what is open where."""

    recorded: Recorded
    names: Names
    rank: int
    slots: dict[str, Slots] = field(default_factory=dict)
    largest: int = 0

    def slot(self, array: str) -> Slots:
        """The places of one array."""
        return self.slots.setdefault(array, Slots())

    def room(self, call: Call) -> int:
        """Bytes that a call moves; the program's memory is as large as the largest."""
        if call.size is None or call.size < 0:
            raise Cannot("its size was not recorded")
        self.largest = max(self.largest, call.size)
        return call.size

    def opened(self, array: str, call: Call) -> int:
        """Where what this call is on is open."""
        at = self.slot(array).of.get(call.object or 0)
        if at is None:
            raise Cannot("what it is on was opened by a call that is not replayed")
        return at

    def take_slot(self, array: str, call: Call) -> int:
        return self.slot(array).take(call.object or 0)

    def gave(self, array: str, call: Call) -> int:
        at = self.opened(array, call)
        self.slot(array).give(call.object or 0)
        return at


def flags(value: int, known: Mapping[str, int], otherwise: str = "0") -> str:
    """A number as the names of its bits; those of several bits come first in `known`."""
    words, rest = [], value
    for name, bits in known.items():
        if bits and rest & bits == bits:
            words.append(name)
            rest &= ~bits
    if rest:
        words.append(hex(rest))
    return " | ".join(words) or otherwise


Lines = list[Line]
