"""A directory that Recorder 2.5 or 3.0 wrote: for each rank the signatures of its calls (function, depth, arguments),
a grammar that says in which order they came, and their times. Integers are the writer's own: little-endian."""

import struct
import sys
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from fathom.importing.grammar import Rules, length, rules, unfolded, used
from fathom.importing.lines import Damaged
from fathom.importing.parts import Parts
from fathom.importing.patterns import ACROSS, LINE, Kept, Offsets, numbers


@dataclass(frozen=True)
class Layout:
    """How a version writes it."""

    # recorder.mt: ranks, seconds since 1970, seconds of a tick; are times packed, are tables merged, of offsets: are
    # they lines over ranks, are they distances?
    header: struct.Struct
    # Where in it names of functions begin, and bytes of each; 0: a line each.
    names: int
    name: int
    # Of a signature's key: thread, function, depth, how many arguments, bytes of these.
    key: struct.Struct
    merged: str  # signatures of all ranks
    packed: bool  # is each table behind its sizes, compressed by zlib?
    threads: str  # the setting that records them


_OLD = Layout(
    struct.Struct("<i4xdd4xii4x"), 40, 0, struct.Struct("<QBBBi"), "0.cst", False, "RECORDER_LOG_TID"
)  # fmt: skip
_NEW = Layout(
    struct.Struct("<i12xdd4x4B"), 1024, 0, struct.Struct("<QIBBi"), "recorder.cst", True, "RECORDER_STORE_TID"
)  # fmt: skip
_WHOLE = replace(_NEW, header=struct.Struct("<12xi16xdd4x4B"), names=56, name=64)
# By version, and layout of recorder.dat (0: a directory). In the last, a key has a place in the code, too.
LAYOUTS = {
    ("2.5", 0): _OLD,
    ("3.0", 0): _NEW,
    ("3.0", 1): _WHOLE,
    ("3.0", 2): replace(_WHOLE, key=struct.Struct("<QIB4xBi")),
}
READ = "versions 2.5 and 3.0"
VERSION = struct.Struct("<iii")
# Of a signature: its number, a rank, bytes of its key, calls.
ENTRY = struct.Struct("<iiii")
# Before what is packed: its bytes there, and unpacked.
SIZES = struct.Struct("<QQ")
NUMBER, SIZE = struct.Struct("<i"), struct.Struct("<Q")
TIMES = 8
TIMES_OF_ALL = "recorder.ts"
MANY = 1 << 63


@dataclass(frozen=True)
class Signature:
    """Calls that are alike."""

    thread: int
    function: str
    depth: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Calls:
    """Of one rank, outermost ones in the order in which they began: which signature, and when, in ticks."""

    signatures: list[Signature]
    which: Sequence[int]
    times: Sequence[int]  # begin and end, each since the begin of the call before


class Recording:
    """The whole directory."""

    def __init__(self, place: Path) -> None:
        self._parts = Parts(place)
        self.version, self.layout = self._version()
        data = self._parts.read("recorder.mt")
        if len(data) < self.layout.names:
            raise Damaged("recorder.mt breaks off")
        self.ranks, self.start, self.tick, *flags = self.layout.header.unpack_from(data)
        packed, merged, lines, distances = map(bool, (*flags, 0, 0)[:4])
        self._packed, self._merged, self.distances = packed, merged, distances
        # States between releases had the same numbers and other fields: of these, the start is none, or names follow.
        good = 0 < self.ranks < 1 << 24 and 1e9 < self.start < 8e9 and 1e-9 <= self.tick <= 1
        between = data[self.layout.header.size : self.layout.names]
        if not good or set(flags) - {0, 1} or any(between):
            raise Damaged(f"recorder.mt is not as Recorder {self.version} wrote it")
        if packed and not self.layout.packed:
            raise Damaged(f"its times are compressed, which Recorder {self.version} never did")
        self.names = list(_names(data[self.layout.names :], self.layout.name))
        self._grammars, self._unique = self._grammars_of_ranks()
        self._shared = self._signatures(0) if merged else []
        self._numbers = numbers(map(self._kept, range(self.ranks))) if lines else None

    def rank(self, rank: int) -> Calls:
        """What one rank did."""
        signatures = self._shared or self._signatures(rank)
        times, source = self._times(rank)
        grammar, name = self._rules(rank)
        calls = length(grammar, len(signatures), name)
        # Said before any rule is unfolded: a few bytes of grammar may stand for any number of calls.
        if calls * TIMES != len(times):
            many = calls if calls < MANY else "far more"
            raise Damaged(f"{source} has times of {len(times) / TIMES:g} calls, {name} {many}")
        return Calls(signatures, array("i", unfolded(grammar)), array("I", times))

    def offsets(self, rank: int, known: bool) -> Offsets:
        """What arguments of its calls stand for; `known`: they are in the order in which they were made."""
        return Offsets(self._numbers[rank] if self._numbers else {}, self.distances, known)

    def _version(self) -> tuple[str, Layout]:
        if self._parts.layout:
            head = self._parts.read("recorder.mt", 0, VERSION.size)
            said = ".".join(map(str, VERSION.unpack(head))) if len(head) == VERSION.size else ""
        elif self._parts.has("VERSION"):
            said = self._parts.read("VERSION").decode(errors="replace").strip()
        else:
            raise Damaged(
                "no VERSION in it: name the directory of one run, which has recorder.mt or recorder.dat; "
                "Recorder writes VERSION last, in MPI_Finalize"
            )
        layout = LAYOUTS.get((".".join(said.split(".")[:2]), self._parts.layout))
        if layout is None:
            also = f", recorder.dat of layout {self._parts.layout}" if self._parts.layout else ""
            raise Damaged(f"written by Recorder {said!r:.20}{also}; traces of {READ} are read")
        return said, layout

    def _tables(self, name: str) -> list[bytes]:
        """What lies in a file."""
        data = self._parts.read(name)
        return list(_unpacked(data, name)) if self.layout.packed else [data]

    def _table(self, name: str) -> bytes:
        """The only one in a file."""
        tables = self._tables(name)
        if len(tables) != 1:
            raise Damaged(f"{name} has {len(tables)} tables")
        return tables[0]

    def _grammars_of_ranks(self) -> tuple[Sequence[int], list[bytes]]:
        """Which grammar is each rank's, numbered from 0; where they are in one file, all of them."""
        if not self._merged:
            return range(self.ranks), []
        data = self._parts.read("ug.mt")
        if len(data) != NUMBER.size * (self.ranks + 1):
            raise Damaged(f"ug.mt is not that of {self.ranks} ranks")
        *grammars, count = array("i", data)
        unique = self._tables("ug.cfg") if self.layout.packed else []
        if not all(0 <= one < count for one in grammars) or len(unique) not in (0, count):
            raise Damaged("ug.mt names a grammar that is not there")
        return grammars, unique

    def _rules(self, rank: int) -> tuple[Rules, str]:
        """A rank's grammar, and where it lies."""
        number = self._grammars[rank]
        name = "ug.cfg" if self._unique else f"{number}.cfg"
        return rules(self._unique[number] if self._unique else self._table(name), name), name

    def _times(self, rank: int) -> tuple[bytes, str]:
        """A rank's times, and where they lie."""
        if not self.layout.packed:
            return self._parts.read(f"{rank}.ts"), f"{rank}.ts"
        data = self._parts.read(TIMES_OF_ALL, *self._pieces[rank])
        # A rank without calls has nothing there.
        return b"".join(_unpacked(data, TIMES_OF_ALL)) if self._packed else data, TIMES_OF_ALL

    @cached_property
    def _pieces(self) -> list[tuple[int, int]]:
        """Where in the times of all ranks each one's are, and how many bytes."""
        sizes = self._parts.read(TIMES_OF_ALL, 0, SIZE.size * self.ranks)
        if len(sizes) < SIZE.size * self.ranks:
            raise Damaged(f"{TIMES_OF_ALL} breaks off")
        each = array("Q", sizes)
        *places, end = accumulate(each, initial=len(sizes))
        if end != self._parts.size(TIMES_OF_ALL):
            raise Damaged(f"{TIMES_OF_ALL} breaks off, or is damaged")
        return list(zip(places, each, strict=True))

    def _kept(self, rank: int) -> dict[str, Kept]:
        """Of functions that ranks were compared for: what is in a rank's signatures."""
        signatures = self._shared or self._signatures(rank)
        grammar, name = self._rules(rank)
        length(grammar, len(signatures), name)
        count: Counter[str] = Counter()
        lines: defaultdict[str, set[str]] = defaultdict(set)
        for one in map(signatures.__getitem__, used(grammar, len(signatures))):
            if one.function in ACROSS:
                count[one.function] += 1
                lines[one.function].update(filter(LINE.fullmatch, one.words))
        return {name: Kept(often, frozenset(lines[name])) for name, often in count.items()}

    def _signatures(self, rank: int) -> list[Signature]:
        name = self.layout.merged if self._merged else f"{rank}.cst"
        try:
            return list(self._entries(self._table(name)))
        except (struct.error, ValueError, KeyError):
            raise Damaged(f"{name} is damaged, or breaks off") from None

    def _entries(self, data: bytes) -> Iterator[Signature]:
        """By number; they stand in any order."""
        (count,) = NUMBER.unpack_from(data)
        found: dict[int, Signature] = {}
        at = NUMBER.size
        while at < len(data):
            number, _, size, _ = ENTRY.unpack_from(data, at)
            at += ENTRY.size
            if number in found or not self.layout.key.size <= size <= len(data) - at:
                raise ValueError
            found[number] = self._signature(data[at : at + size])
            at += size
        if len(found) != count:
            raise ValueError
        for number in range(count):
            yield found[number]

    def _signature(self, key: bytes) -> Signature:
        thread, function, depth, count, size = self.layout.key.unpack_from(key)
        # A blank behind each argument; those within became underscores.
        words = key[self.layout.key.size :].decode(errors="replace").split(" ")
        if size != len(key) - self.layout.key.size or words.pop() or len(words) != count:
            raise ValueError
        known = function < len(self.names) and self.names[function]
        return Signature(thread, known or f"function {function}", depth, tuple(words))


def _names(data: bytes, size: int) -> Iterator[str]:
    """Of functions; `size`: bytes of each, 0: a line each."""
    each = [data[at : at + size] for at in range(0, len(data), size)] if size else data.split(b"\n")
    for name in each:
        yield name.rstrip(b"\0").decode(errors="replace")


def _unpacked(data: bytes, name: str) -> Iterator[bytes]:
    """Tables that lie one behind the other."""
    at = 0
    while at < len(data):
        if len(data) - at < SIZES.size:
            raise Damaged(f"{name} breaks off")
        packed, size = SIZES.unpack_from(data, at)
        at += SIZES.size
        if packed > len(data) - at:
            raise Damaged(f"{name} breaks off")
        inflate = zlib.decompressobj()
        try:
            # One byte more than it should have shows one that has more, whatever that would come to.
            table = inflate.decompress(data[at : at + packed], min(size + 1, sys.maxsize))
        except zlib.error:
            raise Damaged(f"{name} is damaged") from None
        if len(table) != size or not inflate.eof or inflate.unused_data:
            raise Damaged(f"{name} is damaged")
        yield table
        at += packed
