"""Calls as events: ENTER and LEAVE of regions, nested as the calls are."""

import ctypes
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import _otf2

from fathom.export.otf2.definitions import CALL
from fathom.export.otf2.library import POINTER, U32, U64, Archive, check, function
from fathom.export.otf2.tables import REGIONS, Tables
from fathom.export.progress import Progress
from fathom.export.selected import Selected

NONE = -1

#: Calls of the streams that have selected ones, each before those it holds. What is not selected is read to know what
#: the selected ones lie in.
CALLS = f"""
select stream, id, parent, start + {{shift}} as start, start + {{shift}} + duration as stop,
	case when {{where}} then region else {NONE} end as region
from calls join ({REGIONS}) as region using (layer, op, kind)
where {{around}}
order by stream, start, id
"""

Row = tuple[int, int, int | None, int, int, int]


class Events:
    """Writes the events of all streams. A stream with no selected call has no location."""

    def __init__(self, selected: Selected, tables: Tables, archive: Archive, progress: Progress):
        self.selected, self.tables, self.archive, self.progress = (
            selected,
            tables,
            archive,
            progress,
        )
        self._enter = function("EvtWriter_Enter", POINTER, POINTER, U64, U32)
        self._leave = function("EvtWriter_Leave", POINTER, POINTER, U64, U32)
        self._attribute = function("AttributeList_AddUint64", POINTER, U32, U64)
        self._attributes = ctypes.cast(_otf2.AttributeList_New(), POINTER).value

    def write(self) -> dict[int, int]:
        """All of them; gives their number by stream."""
        counted = {}
        for stream, rows in groupby(self._rows(), key=itemgetter(0)):
            with self.archive.events(stream) as writer:
                counted[stream] = self._stream(writer, rows)
        return counted

    def _rows(self) -> Iterator[Row]:
        statement = CALLS.format(
            shift=self.tables.shift, where=self.selected.where, around=self.selected.around
        )
        for batch in self.selected.batches(statement):
            self.progress.add(batch.num_rows)
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _stream(self, writer: int, rows: Iterator[Row]) -> int:
        enter, leave, attribute, attributes = (
            self._enter,
            self._leave,
            self._attribute,
            self._attributes,
        )
        open_calls: list[tuple[int, int, int]] = []  # id, stop, region
        events = 0
        for _, call, parent, start, stop, region in rows:
            while open_calls and open_calls[-1][0] != parent:
                _, stopped, left = open_calls.pop()
                if left != NONE:
                    check(leave(writer, None, stopped, left))
            open_calls.append((call, stop, region))
            if region != NONE:
                check(attribute(attributes, CALL, call) or enter(writer, attributes, start, region))
                events += 2
        while open_calls:
            _, stopped, left = open_calls.pop()
            if left != NONE:
                check(leave(writer, None, stopped, left))
        return events
