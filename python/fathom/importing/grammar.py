"""A directory that Recorder 2.5 wrote: for each rank the signatures of its calls (function, depth, arguments), a
grammar that says in which order they came, and their times. Integers are the writer's own: little-endian."""

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from fathom.importing.lines import Damaged

READ = "2.5"
# recorder.mt: ranks, seconds since 1970, seconds of a tick, words of a buffer, compression, are tables merged?
# Names of functions follow.
HEADER = struct.Struct("<i4xddiii4x")
# Of a signature: its number, a rank, bytes of its key, calls. Of a key: thread, function, depth, how many arguments,
# bytes of these.
ENTRY, KEY = struct.Struct("<iiii"), struct.Struct("<QBBBi")
NUMBER = struct.Struct("<i")
TIMES = 8
START = -1  # the rule that a grammar begins with


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


Rules = dict[int, tuple[int, ...]]


class Recording:
    """The whole directory."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.version = self._version()
        data = self._read("recorder.mt")
        if len(data) < HEADER.size:
            raise Damaged("recorder.mt breaks off")
        self.ranks, self.start, self.tick, _, packed, self.merged = HEADER.unpack_from(data)
        # A state between releases had the same number and other fields: of these, the start is none.
        if not (0 < self.ranks < 1 << 24 and 1e9 < self.start < 8e9 and 1e-9 <= self.tick <= 1):
            raise Damaged(f"recorder.mt is not as Recorder {READ}.0 wrote it")
        if packed or self.merged not in (0, 1):
            raise Damaged(f"its times are compressed, which Recorder {READ}.0 never did")
        self.names = data[HEADER.size :].decode(errors="replace").split("\n")
        self._grammars = self._merged() if self.merged else list(range(self.ranks))
        self._shared = self._signatures(0) if self.merged else []

    def rank(self, rank: int) -> Calls:
        """What one rank did."""
        signatures = self._shared or self._signatures(rank)
        times = self._read(f"{rank}.ts")
        number = self._grammars[rank]
        rules = self._rules(number)
        name = f"{number}.cfg"
        calls = _length(rules, len(signatures), name)
        # Said before any rule is unfolded: a few bytes of grammar may stand for any number of calls.
        if calls * TIMES != len(times):
            raise Damaged(f"{rank}.ts has times of {len(times) / TIMES:g} calls, {name} {calls}")
        return Calls(signatures, array("i", _unfolded(rules)), array("I", times))

    def _version(self) -> str:
        if not (self.place / "VERSION").is_file():
            raise Damaged(
                "no VERSION in it: name the directory of one run, which has 0.cst and recorder.mt; "
                "Recorder writes VERSION last, in MPI_Finalize"
            )
        said = self._read("VERSION").decode(errors="replace").strip()
        if said.split(".")[:2] != READ.split("."):
            raise Damaged(f"written by Recorder {said!r:.20}; traces of version {READ} are read")
        return said

    def _read(self, name: str) -> bytes:
        path = self.place / name
        if not path.is_file():
            raise Damaged(f"{name} is missing")
        return path.read_bytes()

    def _merged(self) -> list[int]:
        """Which grammar is each rank's; they are numbered from 0."""
        data = self._read("ug.mt")
        if len(data) != NUMBER.size * (self.ranks + 1):
            raise Damaged(f"ug.mt is not that of {self.ranks} ranks")
        *grammars, count = array("i", data)
        if not all(0 <= one < count for one in grammars):
            raise Damaged("ug.mt names a grammar that is not there")
        return grammars

    def _signatures(self, rank: int) -> list[Signature]:
        name = f"{rank}.cst"
        try:
            return list(self._entries(self._read(name)))
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
            if number in found or not KEY.size <= size <= len(data) - at:
                raise ValueError
            found[number] = self._signature(data[at : at + size])
            at += size
        if len(found) != count:
            raise ValueError
        for number in range(count):
            yield found[number]

    def _signature(self, key: bytes) -> Signature:
        thread, function, depth, count, size = KEY.unpack_from(key)
        # A blank behind each argument; those within became underscores.
        words = key[KEY.size :].decode(errors="replace").split(" ")
        if size != len(key) - KEY.size or words.pop() or len(words) != count:
            raise ValueError
        known = function < len(self.names) and self.names[function]
        return Signature(thread, known or f"function {function}", depth, tuple(words))

    def _rules(self, number: int) -> Rules:
        """By number: symbols, each with how often it comes. Numbers below 0 are rules, others signatures."""
        name = f"{number}.cfg"
        data = self._read(name)
        if len(data) % NUMBER.size or not data:
            raise Damaged(f"{name} breaks off")
        words = array("i", data)
        found: Rules = {}
        at = 1
        while at + 2 <= len(words):
            rule, symbols = words[at], words[at + 1]
            body = tuple(words[at + 2 : at + 2 + 2 * symbols]) if symbols >= 0 else ()
            if rule >= 0 or rule in found or len(body) != 2 * symbols:
                raise Damaged(f"{name} is damaged")
            found[rule] = body
            at += 2 + len(body)
        if at != len(words) or len(found) != words[0] or START not in found:
            raise Damaged(f"{name} is damaged")
        return found


def _length(rules: Rules, signatures: int, name: str) -> int:
    """How many calls the grammar stands for; every rule is looked at once, those that it names first."""
    lengths: dict[int, int] = {}
    within: set[int] = set()
    todo = [START]
    while todo:
        rule = todo[-1]
        body = rules[rule]
        within.add(rule)
        missing = [one for one in body[::2] if one < 0 and one not in lengths]
        if any(one not in rules or one in within for one in missing):
            raise Damaged(f"{name}: a rule is missing, or holds itself")
        if missing:
            todo += dict.fromkeys(missing)
            continue
        if any(often < 1 for often in body[1::2]) or any(one >= signatures for one in body[::2]):
            raise Damaged(f"{name} names a call that is not there")
        pairs = zip(body[::2], body[1::2], strict=True)
        lengths[rule] = sum(often * (lengths[one] if one < 0 else 1) for one, often in pairs)
        within.discard(rule)
        todo.pop()
        while todo and todo[-1] in lengths:
            todo.pop()
    return lengths[START]


def _unfolded(rules: Rules) -> Iterator[int]:
    """Numbers of signatures, call by call."""
    # Rules that are being read: where in its body, and how often the symbol there is still to come.
    todo = [(START, 0, rules[START][1] if rules[START] else 0)]
    while todo:
        rule, at, often = todo.pop()
        body = rules[rule]
        if at >= len(body):
            continue
        if often > 1 and body[at] < 0:
            todo.append((rule, at, often - 1))
        else:
            todo.append((rule, at + 2, body[at + 3] if at + 3 < len(body) else 0))
        symbol = body[at]
        if symbol >= 0:
            yield from repeat(symbol, often)
        else:
            todo.append((symbol, 0, rules[symbol][1] if rules[symbol] else 0))
