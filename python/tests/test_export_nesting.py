"""Begins and ends of calls, whatever they are cut into: nested, in the order of time, each call once."""

from collections import defaultdict
from dataclasses import fields
from random import Random
from typing import Any

import numpy as np
import pytest
from fathom.interop.exports.nesting import Events, events
from fathom.interop.exports.pieces import NO_CALL, Calls

Row = dict[str, Any]


def tree(random: Random, stream: int, overlap: bool) -> list[Row]:
    """Calls of a stream, many of no duration; with `overlap`, outermost ones that do not wait for each other."""
    rows: list[Row] = []

    def grow(start: int, room: int, depth: int, parent: int) -> int:
        number = (stream << 40) + len(rows)
        row = {"id": number, "stream": stream, "start": start, "depth": depth, "parent": parent}
        rows.append(row)
        at = start
        while depth < 4 and room and random.random() < 0.6:
            at = grow(at + random.randrange(2), room // 2, depth + 1, number)
        row["stop"] = at + random.choice((0, 0, 1, room))
        return int(row["stop"])

    at = 0
    for _ in range(random.randrange(1, 40)):
        stop = grow(at, random.randrange(9), 0, NO_CALL)
        at = random.randint(rows[-1]["start"], stop) if overlap else stop + random.randrange(2)
    return rows


def calls(rows: list[Row]) -> Calls:
    kinds = {"id": np.uint64, "parent": np.uint64}
    columns = {
        one.name: np.array([row.get(one.name, 0) for row in rows], kinds.get(one.name, np.int64))
        for one in fields(Calls)
    }
    return Calls(**columns)


def cut(random: Random, rows: list[Row], pieces: int) -> list[list[Row]]:
    places = sorted(random.sample(range(1, len(rows)), min(pieces, len(rows) - 1)))
    return [rows[a:b] for a, b in zip([0, *places], [*places, len(rows)], strict=True)]


def replayed(parts: list[Events]) -> dict[tuple[int, int], list[tuple[int, bool, int]]]:
    """Of each track: call, is it its end, when."""
    out = defaultdict(list)
    for part in parts:
        columns = (part.calls.stream, part.lane, part.calls.id, part.ends, part.time)
        for stream, lane, call, ends, time in zip(*(one.tolist() for one in columns), strict=True):
            out[stream, lane].append((call, ends, time))
    return out


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_calls_nest_in_tracks(seed: int, overlap: bool) -> None:
    random = Random(seed)
    rows = [row for stream in range(3) for row in tree(random, stream, overlap and stream != 1)]
    known = {row["id"]: row for row in rows}
    seen = set()
    pieces = (calls(part) for part in cut(random, rows, seed % 5))
    for (stream, lane), track in replayed(list(events(pieces))).items():
        open_: list[int] = []
        assert [time for _, _, time in track] == sorted(time for _, _, time in track)
        for call, ends, time in track:
            assert call >> 40 == stream
            if ends:
                assert open_.pop() == call and known[call]["stop"] == time
            else:
                seen.add(call)
                assert known[call]["start"] == time
                # Only what the tables say holds it does.
                assert known[call]["parent"] == (open_[-1] if open_ else NO_CALL)
                open_.append(call)
        assert not open_
        assert overlap or lane == 0
    assert seen == known.keys()


@pytest.mark.parametrize("seed", range(20))
def test_what_lies_between_may_be_missing(seed: int) -> None:
    random = Random(seed)
    rows = tree(random, 0, overlap=False)
    known = {row["id"]: row for row in rows}
    some = [row for row in rows if random.random() < 0.6] or rows
    part = {row["id"] for row in some}
    open_: list[int] = []
    for call, ends, _ in replayed(list(events(iter([calls(some)]))))[0, 0]:
        if ends:
            assert open_.pop() == call
            continue
        around = known[call]["parent"]
        while around != NO_CALL and around not in part:
            around = known[around]["parent"]
        nearest = open_[-1] if open_ else NO_CALL
        # A call of no duration may lie at the end of another one that is no longer around it.
        tie = known.get(nearest, {}).get("stop") == known[call]["start"] == known[call]["stop"]
        assert nearest == around or tie
        open_.append(call)
