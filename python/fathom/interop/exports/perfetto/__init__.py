"""Perfetto: a track for each thread, slices that nest, arrows between them, counters."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fathom.interop.exports import nesting, pieces
from fathom.interop.exports.perfetto import counters
from fathom.interop.exports.perfetto.flows import Flows
from fathom.interop.exports.perfetto.packets import (
    ARGUMENT,
    BEGIN,
    CATEGORY,
    END,
    NAME,
    STRING,
    Packets,
    annotation,
    clocks,
    events,
    interned,
)
from fathom.interop.exports.perfetto.protobuf import Array, Column, numbers, only
from fathom.interop.exports.perfetto.tracks import Tracks
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected

#: Events that are encoded at a time: their bytes fit into a processor's cache.
AT_ONCE = 8192
#: Arguments of a slice: their names' numbers are their places, from 1.
CALL, FILE, OFFSET, SIZE, BYTES, ERROR, STATE = range(1, 8)
ARGUMENTS = ("call", "file", "offset", "size", "bytes", "error", "state")
UINT, INT, INTERNED_TEXT = 3, 4, 17  # fields of an argument's value


@dataclass
class Words:
    """Texts that were told to the reader. Of files only those that have calls."""

    selected: Selected
    packets: Packets
    ops: dict[pieces.Op, int]
    categories: Array  # of each op
    _files: set[int] = field(default_factory=set)

    @classmethod
    def begin(cls, selected: Selected, packets: Packets) -> "Words":
        """Tells names of ops, layers, arguments, states."""
        ops = pieces.operations(selected)
        layers = sorted({one.layer for one in ops})
        packets.add(
            interned(ARGUMENT, enumerate(ARGUMENTS, 1)),
            interned(CATEGORY, enumerate(layers, 1)),
            interned(NAME, ((number, one.op) for number, one in enumerate(ops, 1))),
            interned(STRING, enumerate(pieces.STATES, 1)),
        )
        numbers_ = np.array([layers.index(one.layer) + 1 for one in ops], np.uint64)
        return cls(selected, packets, ops, numbers_)

    def files(self, used: Array) -> None:
        """Tells the paths of these files, as far as they are new."""
        new = sorted({int(one) for one in np.unique(used)} - self._files - {pieces.NO_FILE})
        if new:
            paths = self.selected.run.sql(
                "select file, path from files where list_contains($files, file)", files=new
            )
            rows = zip(paths["file"].to_pylist(), paths["path"].to_pylist(), strict=True)
            self.packets.add(interned(STRING, ((_file(file), path) for file, path in rows)))
            self._files.update(new)


def _file(file: int) -> int:
    """The number of a file's path among texts."""
    return file + len(pieces.STATES) + 1


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """Writes the trace. What it cannot hold is given, a line each."""
    with out.open("wb") as file:
        packets = Packets(file)
        packets.add(clocks(selected.started - selected.shift))
        tracks = Tracks(selected, packets)
        tracks.processes()
        words = Words.begin(selected, packets)
        flows = Flows(selected)
        for nested in nesting.events(pieces.pieces(selected, words.ops)):
            words.files(nested.calls.file)
            flows.look(nested.calls.id)
            for first in range(0, len(nested.ends), AT_ONCE):
                part = nested.part(slice(first, first + AT_ONCE))
                packets.add(_slices(part, tracks, words, flows))
            progress.add(int(nested.ends.sum()))
        lost = counters.write(selected, tracks, packets)
        packets.end()
    return lost


def _slices(nested: nesting.Events, tracks: Tracks, words: Words, flows: Flows) -> bytes:
    """Begins and ends of slices."""
    calls, begins = nested.calls, ~nested.ends
    kinds = np.where(begins, BEGIN, END)
    parts = [*numbers(9, kinds), *numbers(11, _uuids(nested, tracks))]
    parts += only(begins, [*numbers(3, words.categories[calls.op]), *numbers(10, calls.op + 1)])
    parts += _arguments(calls, begins)
    return events(nested.time, parts, flows.tails(calls.id, begins))


def _uuids(nested: nesting.Events, tracks: Tracks) -> Array:
    """The track of each event; those of a track stand together."""
    stream, lane = nested.calls.stream, nested.lane
    new = np.append(True, (stream[1:] != stream[:-1]) | (lane[1:] != lane[:-1]))
    uuids = [tracks.lane(int(stream[at]), int(lane[at])) for at in np.flatnonzero(new)]
    place: Array = np.cumsum(new) - 1
    return np.take(np.array(uuids, np.uint64), place)


def _arguments(calls: pieces.Calls, begins: Array) -> list[Column]:
    file = calls.file.astype(np.int64)
    return [
        *annotation(CALL, UINT, calls.id, begins),
        *annotation(FILE, INTERNED_TEXT, file + _file(0), begins & (calls.file != pieces.NO_FILE)),
        *annotation(OFFSET, INT, calls.offset, begins & (calls.offset != pieces.UNKNOWN)),
        *annotation(SIZE, INT, calls.size, begins & (calls.size != pieces.UNKNOWN)),
        *annotation(BYTES, INT, calls.bytes, begins & (calls.bytes != pieces.UNKNOWN)),
        *annotation(ERROR, INT, calls.error, begins & (calls.error != 0)),
        *annotation(STATE, INTERNED_TEXT, calls.state + 1, begins & (calls.state > 0)),
    ]
