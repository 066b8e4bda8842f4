"""Packets of a trace (perfetto_trace.proto): what Fathom uses of it, with its fields' numbers."""

import zlib
from collections.abc import Iterable
from typing import BinaryIO

import numpy as np

from fathom.interop.exports.perfetto.protobuf import (
    Array,
    Column,
    constant,
    doubles,
    message,
    messages,
    number,
    numbers,
    only,
    rows,
    text,
)

PACKET = 1  # of the trace; fields of a packet:
CLOCKS, TIMESTAMP, SEQUENCE, EVENT, INTERNED, FLAGS, COMPRESSED, DESCRIPTOR = (
    6,
    8,
    10,
    11,
    12,
    13,
    50,
    60,
)
CLEARED, NEEDED = 1, 2  # flags: interned state begins here, and is needed
#: Interned data by the number of their field.
CATEGORY, NAME, ARGUMENT, STRING = 1, 2, 3, 29
BEGIN, END, COUNTER = 1, 2, 4  # types of event
REALTIME, BOOTTIME = 1, 6  # clocks
#: Packets are put together into blocks of so many bytes, and each is compressed.
BLOCK = 4 << 20
ONE_SEQUENCE = number(SEQUENCE, 1)


class Packets:
    """Writes packets, compressed block by block."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held: list[bytes] = []
        self._bytes = 0

    def add(self, *packets: bytes) -> None:
        """Whole packets, as bytes of the trace."""
        for one in packets:
            self._held.append(one)
            self._bytes += len(one)
        if self._bytes >= BLOCK:
            self.end()

    def end(self) -> None:
        """All are in the file."""
        if self._held:
            block = zlib.compress(b"".join(self._held), 1)
            self._file.write(message(PACKET, message(COMPRESSED, block)))
        self._held, self._bytes = [], 0


def clocks(started: int) -> bytes:
    """Time 0 of the trace is this time of day, ns since 1970."""
    pairs = ((BOOTTIME, 0), (REALTIME, started))
    snapshot = (message(1, number(1, clock), number(2, time)) for clock, time in pairs)
    first = number(FLAGS, CLEARED)
    return message(PACKET, number(TIMESTAMP, 0), ONE_SEQUENCE, first, message(CLOCKS, *snapshot))


def interned(field: int, words: Iterable[tuple[int, str]]) -> bytes:
    """Texts that events name by number from here on."""
    entries = (message(field, number(1, iid), text(2, word)) for iid, word in words)
    return message(PACKET, ONE_SEQUENCE, number(FLAGS, NEEDED), message(INTERNED, *entries))


def track(uuid: int, *parts: bytes) -> bytes:
    """A track's description."""
    return message(PACKET, ONE_SEQUENCE, message(DESCRIPTOR, number(1, uuid), *parts))


def annotation(name: int, field: int, values: Array, there: Array) -> list[Column]:
    """An argument of events: number of its name, and field of its value."""
    return only(there, messages(4, [constant(number(1, name)), *numbers(field, values)]))


def events(times: Array, parts: list[Column], tails: dict[int, bytes]) -> bytes:
    """A packet for each time: an event of these parts; `tails`: what rows have in addition."""
    more = np.zeros(len(times), np.int64)
    for row, tail in tails.items():
        more[row] = len(tail)
    event = messages(EVENT, parts, more)
    head = [*numbers(TIMESTAMP, times), constant(ONE_SEQUENCE + number(FLAGS, NEEDED))]
    content, ends = rows(messages(PACKET, [*head, *event], more), len(times))
    out, at = [], 0
    for row, tail in sorted(tails.items()):
        out += [content[at : ends[row]], tail]
        at = int(ends[row])
    return b"".join([*out, content[at:]])


def counters(times: Array, tracks: Array, values: Array) -> bytes:
    """Values of counters, whole or floating."""
    whole = values.dtype.kind in "iu"
    value = numbers(30, values) if whole else doubles(44, values)
    return events(times, [constant(number(9, COUNTER)), *numbers(11, tracks), *value], {})
