"""Begins and ends of calls in an order in which they nest.

Ids of a stream rise as calls begin, so with each call's depth they are a tree. A call ends just before the next one
that is no deeper begins: so orders come from places alone, also where times are equal. Calls of servers may overlap
in a stream; those are laid into lanes, in each of which calls nest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fathom.interop.exports.pieces import Array, Calls


@dataclass
class Events:
    """Begins and ends in order; a track is a lane of a stream, and its events stand together. Fields have a row for
    each event, so that a call is there twice."""

    calls: Calls
    lane: Array
    ends: Array  # is it the end?

    @property
    def time(self) -> Array:
        """ns."""
        return np.where(self.ends, self.calls.stop, self.calls.start)

    def part(self, which: Array | slice) -> "Events":
        """Those at these places."""
        return Events(self.calls.take(which), self.lane[which], self.ends[which])


def events(pieces: Iterator[Calls]) -> Iterator[Events]:
    """Of calls in the order of ids, piece by piece. In a stream's last track of a piece stands what may go on in the
    next; times of a lane never fall."""
    held: tuple[Calls, Array] | None = None
    piece = next(pieces, None)
    while piece is not None:
        after = next(pieces, None)
        begun = 0
        lane = np.zeros(len(piece), np.int32)
        if held:
            begun = len(held[0])
            piece = held[0].followed_by(piece)
            lane = np.concatenate([held[1], lane])
        nested, held = _piece(piece, lane, begun, last=after is None)
        yield nested
        piece = after


def _piece(
    calls: Calls, lane: Array, begun: int, *, last: bool
) -> tuple[Events, tuple[Calls, Array]]:
    """The events of a piece whose first calls have `begun` before; calls that are open at its end, and their lanes."""
    first = _first(calls, lane)
    depth = _depths(calls, first)
    after = _after(depth)
    fresh = np.arange(len(calls)) >= begun
    if _overlap(calls, after, first) or lane.any():
        lane = _lanes(calls, lane, begun)
        order = np.lexsort((lane, calls.stream))  # stable: ids rise in each lane
        calls, lane, fresh = calls.take(order), lane[order], fresh[order]
        first = _first(calls, lane)
        depth = _depths(calls, first)
        after = _after(depth)
    open_ = np.zeros(len(calls), bool)
    if not last:
        track_ends = np.append(np.flatnonzero(first)[1:], len(calls))
        end = track_ends[np.cumsum(first) - 1]
        latest = calls.start[calls.stream == calls.stream[-1]].max()
        open_ = (after >= end) & (calls.stream == calls.stream[-1]) & (calls.stop >= latest)
    places = np.arange(len(calls))
    slots = np.full(2 * len(calls), -1, np.int64)
    slots[(2 * places - depth)[fresh]] = 2 * places[fresh]
    slots[(2 * after - 1 - depth)[~open_]] = 2 * places[~open_] + 1
    slots = slots[slots >= 0]
    call = slots >> 1
    nested = Events(calls.take(call), lane[call], (slots & 1).astype(bool))
    return nested, (calls.take(open_), lane[open_])


def _first(calls: Calls, lane: Array) -> Array:
    """Is it the first call of its track?"""
    new = (calls.stream[1:] != calls.stream[:-1]) | (lane[1:] != lane[:-1])
    return np.concatenate([[True], new])


def _depths(calls: Calls, first: Array) -> Array:
    """How many calls of the same track are around each. It lies in the last one that began of a level above its own,
    where none of a higher level began since, and that one lasts as long. (Calls that are not selected are none.)"""
    places = np.arange(len(calls))
    since = np.maximum.accumulate(np.where(first, places, 0)) - 1
    out = np.zeros(len(calls), np.int64)
    for level in np.unique(calls.depth)[:-1]:
        above = np.maximum.accumulate(np.where(calls.depth == level, places, -1))
        inside = (calls.depth > level) & (above > since)
        inside &= calls.stop[above] >= calls.stop
        out = np.where(inside, out[above] + 1, out)
        since = np.maximum(since, above)
    return out


def _after(depth: Array) -> Array:
    """Of each call the next that is no deeper, or the number of calls. A track's first call has depth 0."""
    out = np.full(len(depth), len(depth))
    for level in np.unique(depth):
        no_deeper = np.flatnonzero(depth <= level)
        own = np.flatnonzero(depth[no_deeper] == level)
        following = np.append(no_deeper, len(depth))
        out[no_deeper[own]] = following[own + 1]
    return out


def _overlap(calls: Calls, after: Array, first: Array) -> bool:
    """Does a call of a track begin before one ended that does not hold it?"""
    has = after < len(calls)
    following = after[has]
    return bool((~first[following] & (calls.start[following] < calls.stop[has])).any())


def _lanes(calls: Calls, lane: Array, begun: int) -> Array:
    """A lane for each call of a stream that has overlapping ones: that of the call that holds it, else the first free
    one. Rare, and short streams, so one by one."""
    out = lane.copy()
    lanes: list[list[tuple[int, int, int]]] = []  # of each lane the open calls: stop, depth, id
    stream = -1
    for at in range(len(calls)):
        if calls.stream[at] != stream:
            stream, lanes = int(calls.stream[at]), []
        one = (int(calls.stop[at]), int(calls.depth[at]), int(calls.id[at]))
        held_by = (int(calls.start[at]), int(calls.parent[at]))
        chosen = int(lane[at]) if at < begun else _lane(lanes, one, *held_by)
        lanes.extend([] for _ in range(chosen + 1 - len(lanes)))
        lanes[chosen].append(one)
        out[at] = chosen
    return out


def _lane(
    lanes: list[list[tuple[int, int, int]]], one: tuple[int, int, int], start: int, parent: int
) -> int:
    """The lane whose last open call is the parent, else one that holds this call, else a free one."""
    stop, depth, _ = one
    holding = free = len(lanes)
    for number, opened in enumerate(lanes):
        while opened and opened[-1][0] <= start and opened[-1][2] != parent:
            opened.pop()
        if not opened:
            free = min(free, number)
        elif opened[-1][0] >= stop and opened[-1][2] == parent:
            return number
        elif opened[-1][0] >= stop and opened[-1][1] < depth:
            holding = min(holding, number)
    return holding if holding < len(lanes) else free
