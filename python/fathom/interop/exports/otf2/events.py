"""Calls as events: regions nested as the calls are, and what each did on its handle."""

import ctypes
from collections.abc import Iterator
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

import _otf2
import pyarrow as pa

from fathom.interop.exports.otf2 import library
from fathom.interop.exports.otf2.definitions import CALL, ERROR, OFFSET, SERVES, SITE, location
from fathom.interop.exports.otf2.library import I32, I64, POINTER, U8, U32, U64, Archive, check
from fathom.interop.exports.otf2.tables import Tables
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

#: What a call adds at its end, in this order (calls.sql).
COMPLETED, SOUGHT, LOCKED, UNLOCKED, TRIED, CREATED, ENDED, SERVING, RECEIVED = range(9)
#: What it adds at its begin.
SENT = 9
#: An action that is no operation on a handle, and an addition too.
COLLECTIVE = 16
#: Parts of the other actions.
POSTED = 8
EXCLUSIVE, SHARED = _otf2.LOCK_EXCLUSIVE.value, _otf2.LOCK_SHARED.value
FLAG_NONBLOCKING = _otf2.IO_OPERATION_FLAG_NON_BLOCKING.value
FLAG_COLLECTIVE = _otf2.IO_OPERATION_FLAG_COLLECTIVE.value

#: Flags of an action, by what is left of it without its mode.
FLAGS = (0, FLAG_COLLECTIVE, FLAG_NONBLOCKING, FLAG_COLLECTIVE | FLAG_NONBLOCKING)
NOWHERE = _otf2.UNDEFINED_UINT32.value

Extra = dict[str, int]


class Writers:
    """The library's functions that write one event each, and a list of attributes, which they empty."""

    def __init__(self) -> None:
        base = (POINTER, POINTER, U64)  # writer, attributes, time
        self.enter = library.function("EvtWriter_Enter", *base, U32)
        self.leave = library.function("EvtWriter_Leave", *base, U32)
        self.begin = library.function("EvtWriter_IoOperationBegin", *base, U32, U8, U32, U64, U64)
        self.issued = library.function("EvtWriter_IoOperationIssued", *base, U32, U64)
        self.complete = library.function("EvtWriter_IoOperationComplete", *base, U32, U64, U64)
        self.seek = library.function("EvtWriter_IoSeek", *base, U32, I64, U8, U64)
        self.create = library.function("EvtWriter_IoCreateHandle", *base, U32, U8, U32, U32)
        self.destroy = library.function("EvtWriter_IoDestroyHandle", *base, U32)
        self.acquire = library.function("EvtWriter_IoAcquireLock", *base, U32, U8)
        self.release = library.function("EvtWriter_IoReleaseLock", *base, U32, U8)
        self.attempt = library.function("EvtWriter_IoTryLock", *base, U32, U8)
        self.together = library.function("EvtWriter_MpiCollectiveBegin", *base)
        self.apart = library.function("EvtWriter_MpiCollectiveEnd", *base, U8, U32, U32, U64, U64)
        self.send = library.function("EvtWriter_MpiSend", *base, U32, U32, U32, U64)
        self.receive = library.function("EvtWriter_MpiRecv", *base, U32, U32, U32, U64)
        self.add_u64 = library.function("AttributeList_AddUint64", POINTER, U32, U64)
        self.add_i32 = library.function("AttributeList_AddInt32", POINTER, U32, I32)
        self.add_place = library.function(
            "AttributeList_AddSourceCodeLocationRef", POINTER, U32, U32
        )
        self.attributes: int = ctypes.cast(_otf2.AttributeList_New(), POINTER).value or 0


class Lane:
    """A location: calls that lie in each other or follow each other."""

    def __init__(self, writers: Writers, tables: Tables, writer: int) -> None:
        """`writer`: the library's, of this location."""
        self.writers, self.tables, self.writer = writers, tables, writer
        self._open: list[tuple[Any, ...]] = []

    def put(
        self, _stream: int, call: int, parent: int, start: int, stop: int, region: int, handle: int, action: int,
        size: int, moved: int, offset: int, site: int, error: int, extras: list[Extra] | None,
    ) -> bool:  # fmt: skip
        """Enters a call, and leaves those before it that do not hold it; False where one of these lasts on."""
        open_calls = self._open
        while open_calls and open_calls[-1][0] != parent:
            if open_calls[-1][1] > start:
                return False
            self._end(*open_calls.pop())
        open_calls.append((call, stop, region, handle, action, moved, error, extras))
        if region < 0:
            return True
        write, writer = self.writers, self.writer
        attributes = write.attributes
        failed = write.add_u64(attributes, CALL, call)
        if site >= 0:
            failed |= write.add_place(attributes, SITE, self.tables.places[site])
        failed |= write.enter(writer, attributes, start, region)
        if action == COLLECTIVE:
            failed |= write.together(writer, None, start)
        elif action >= 0:
            if offset >= 0:
                failed |= write.add_u64(attributes, OFFSET, offset)
            flags = FLAGS[action >> 2]
            failed |= write.begin(writer, attributes, start, handle, action & 3, flags, size, call)
        for extra in extras or ():
            if extra["what"] == SENT:
                to, where, tag, length = extra["on"], extra["a"], extra["b"], extra["c"]
                failed |= write.send(writer, None, start, to, where, tag, length)
        if failed:
            check(failed)
        return True

    def end(self) -> None:
        """Leaves all that is open."""
        while self._open:
            self._end(*self._open.pop())

    def _end(
        self, call: int, stop: int, region: int, handle: int, action: int, moved: int, error: int,
        extras: list[Extra] | None,
    ) -> None:  # fmt: skip
        """What a call did by its end, and its LEAVE."""
        if region < 0:
            return
        write, writer, failed = self.writers, self.writer, 0
        if action >= 0 and action != COLLECTIVE:
            if action & POSTED:
                failed = write.issued(writer, None, stop, handle, call)
            else:
                failed = write.complete(writer, None, stop, handle, moved, call)
        for extra in extras or ():
            if extra["what"] != SENT:
                failed |= self._extra(stop, **extra)
        if error:
            failed |= write.add_i32(write.attributes, ERROR, error)
        failed |= write.leave(writer, write.attributes, stop, region)
        if failed:
            check(failed)

    def _extra(self, time: int, what: int, on: int, a: int, b: int, c: int) -> int:
        """One of the additions; the meaning of `a`, `b` and `c` is that of calls.sql."""
        write, writer = self.writers, self.writer
        if what == COMPLETED:
            return write.complete(writer, None, time, on, b, a)
        if what == SOUGHT:
            return write.seek(writer, None, time, on, a, b, c)
        if what == CREATED:
            opened = self.tables.opening(on)
            return write.create(writer, None, time, on, opened.mode, opened.creation, opened.status)
        if what == ENDED:
            return write.destroy(writer, None, time, on)
        if what == SERVING:
            return write.add_u64(write.attributes, SERVES, a)  # of the LEAVE that comes next
        if what == RECEIVED:
            return write.receive(writer, None, time, on, a, b, c)
        if what == COLLECTIVE:
            return write.apart(writer, None, time, a, on, NOWHERE if b < 0 else b, c, 0)
        lock = {LOCKED: write.acquire, UNLOCKED: write.release, TRIED: write.attempt}[what]
        return lock(writer, None, time, on, SHARED if a else EXCLUSIVE)


class Events:
    """Writes the events of all streams, each to its location, and, of servers that did several things at once, to
    more. A stream with no selected call has none."""

    def __init__(
        self, selected: Selected, tables: Tables, archive: Archive, progress: Progress
    ) -> None:
        self.selected, self.tables, self.archive, self.progress = (
            selected,
            tables,
            archive,
            progress,
        )
        self.writers = Writers()

    def write(self) -> None:
        """All of them."""
        for stream, rows in groupby(self._rows(), key=itemgetter(0)):
            lanes = [self._lane(stream, 0)]
            put = lanes[0].put
            for row in rows:
                if not put(*row) and not any(lane.put(*row) for lane in lanes[1:]):
                    lanes.append(self._lane(stream, len(lanes)))
                    lanes[-1].put(*row)
            for lane in lanes:
                lane.end()
                self.archive.close(lane.writer)

    def _lane(self, stream: int, number: int) -> Lane:
        return Lane(self.writers, self.tables, self.archive.open(location(stream, number)))

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        where, around = self.selected.where, self.selected.around
        numbers = {
            "completed": COMPLETED, "sought": SOUGHT, "locked": LOCKED, "unlocked": UNLOCKED, "tried": TRIED,
            "created": CREATED, "ended": ENDED, "serving": SERVING, "collective": COLLECTIVE,
            "received": RECEIVED, "sent": SENT,
        }  # fmt: skip
        part = (
            "true" if where == around else f"c.stream in (select stream from calls where {where})"
        )
        codes = ", ".join(f"code_{name} := {number}" for name, number in numbers.items())
        text = (
            f"from otf2_calls({where}, {around}, {part}, {self.tables.selected.shift},"
            f" 'handle', 'communicator', 'speaker', 'collective_op', {codes})"
        )
        for batch in self.selected.batches(text):
            self.progress.add(int((batch["region"].to_numpy() >= 0).sum()))
            yield from zip(*(_values(column) for column in batch.columns), strict=True)


def _values(column: pa.Array) -> Any:
    """As Python has them, the quick way for each kind of column."""
    if column.null_count == len(column):
        return repeat(None, len(column))
    if column.null_count or pa.types.is_nested(column.type):
        return column.to_pylist()
    return column.to_numpy().tolist()
