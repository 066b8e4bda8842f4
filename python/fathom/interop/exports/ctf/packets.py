"""Packets of a CTF stream, and their index."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO
from uuid import UUID

import numpy as np

from fathom.interop.exports.nesting import Events
from fathom.interop.exports.pieces import UNKNOWN, Array, Calls

EVENT = [("id", "<u4"), ("time", "<u8")]
ENTRY = np.dtype([
    *EVENT, ("call", "<u8"), ("parent", "<i8"), ("file", "<u4"), ("offset", "<i8"), ("size", "<i8"),
])  # fmt: skip
EXIT = np.dtype([*EVENT, ("call", "<u8"), ("bytes", "<i8"), ("error", "<i4"), ("state", "u1")])
PACKET = np.dtype([
    ("magic", "<u4"), ("uuid", "u1", 16), ("stream_id", "<u4"),
    ("begin", "<u8"), ("end", "<u8"), ("content", "<u8"), ("size", "<u8"), ("number", "<u8"),
    ("node", "<u4"), ("process", "<u4"), ("pid", "<u4"), ("tid", "<u4"), ("rank", "<i4"),
])  # fmt: skip
MAGIC = 0xC1FC1FC1
#: Of LTTng's index, which readers use to find a time without reading all: big-endian, like the network.
INDEX_HEAD = np.dtype([("magic", ">u4"), ("major", ">u4"), ("minor", ">u4"), ("bytes", ">u4")])
INDEX = np.dtype([
    (name, ">u8") for name in (
        "offset", "size", "content", "begin", "end", "discarded", "stream", "instance", "number",
    )
])  # fmt: skip
INDEX_MAGIC = 0xC1F1DCC1


@dataclass(frozen=True)
class Thread:
    """What is the same in all events of a stream."""

    stream: int
    node: int
    process: int
    pid: int
    tid: int
    rank: int | None

    @property
    def name(self) -> str:
        """Of its file: what Trace Compass calls its channel."""
        whose = f"process_{self.process}" if self.rank is None else f"rank_{self.rank}"
        return f"{whose}_tid_{self.tid}_stream_{self.stream}"


def _values(calls: Calls, name: str) -> Array:
    """What a field holds: -1 where a number is not known."""
    if name == "call":
        return calls.id
    values: Array = getattr(calls, name)
    if name == "parent":
        return values.view(np.int64)  # no call is -1 there
    return np.where(values == UNKNOWN, np.int64(-1), values) if values.dtype == "i8" else values


def encoded(ordered_events: Events) -> tuple[bytes, list[int]]:
    """Events as bytes; where each begins, and the end of the last."""
    calls, ends = ordered_events.calls, ordered_events.ends
    entry, exit_ = np.zeros(int((~ends).sum()), ENTRY), np.zeros(int(ends.sum()), EXIT)
    for form, which in ((entry, ~ends), (exit_, ends)):
        form["id"] = 2 * calls.op[which] + (form is exit_)
        form["time"] = ordered_events.time[which]
        for name in (form.dtype.names or ())[len(EVENT) :]:
            form[name] = _values(calls, name)[which]
    content = np.empty((len(ends), ENTRY.itemsize), np.uint8)
    content[~ends] = entry.view(np.uint8).reshape(-1, ENTRY.itemsize)
    content[ends, : EXIT.itemsize] = exit_.view(np.uint8).reshape(-1, EXIT.itemsize)
    sizes = np.where(ends, EXIT.itemsize, ENTRY.itemsize)
    there = np.arange(ENTRY.itemsize) < sizes[:, None]
    return content[there].tobytes(), [0, *np.cumsum(sizes).tolist()]


class Stream:
    """A stream's file and its index, written packet by packet."""

    def __init__(self, place: Path, uuid: UUID, thread: Thread) -> None:
        self.thread = thread
        self._uuid = np.frombuffer(uuid.bytes, np.uint8)
        name = thread.name
        self._file: BinaryIO = (place / name).open("wb")
        self._index: BinaryIO = (place / "index" / f"{name}.idx").open("wb")
        head = (INDEX_MAGIC, 1, 1, INDEX.itemsize)
        self._index.write(np.array([head], INDEX_HEAD).tobytes())
        self._number = self._at = 0

    def packet(self, content: bytes, times: tuple[int, int]) -> None:
        """Writes encoded events of this stream, the first and the last at these times, as a packet."""
        bits = 8 * (PACKET.itemsize + len(content))
        first, last = times
        who: tuple[Any, ...] = (
            self.thread.node, self.thread.process, self.thread.pid, self.thread.tid,
            -1 if self.thread.rank is None else self.thread.rank,
        )  # fmt: skip
        head = (MAGIC, self._uuid, 0, first, last, bits, bits, self._number, *who)
        self._file.write(np.array([head], PACKET).tobytes())
        self._file.write(content)
        place = (self._at, bits, bits, first, last, 0, 0, self.thread.stream, self._number)
        self._index.write(np.array([place], INDEX).tobytes())
        self._number += 1
        self._at += bits // 8

    def close(self) -> None:
        """All is in the files."""
        self._file.close()
        self._index.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()
