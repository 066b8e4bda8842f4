"""Bytes of files as arrays: through the views of MPI-IO, and by plain offsets.

A view that takes lines in one call tells of an array with lines; the same bytes in as many calls are turns of one long
row. So a view is taken apart by its strides first, offsets only when no distribution of one row explains them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathom.analysis import Source
from fathom.analysis.distribution.array import distribution
from fathom.analysis.distribution.axis import Axis
from fathom.analysis.distribution.boxes import Boxes
from fathom.analysis.distribution.shapes import Shape
from fathom.analysis.distribution.spans import NOTHING, Spans, union
from fathom.analysis.distribution.strides import Nest, array_of, nest
from fathom.analysis.distribution.touched import Row, Touched, begin, groups, with_lists
from fathom.analysis.distribution.views import bytes_of, tiles_of

TURNS = 64  # arrays behind one another that are looked for in a file


def raw(source: Source, known: Mapping[int, Shape], part: Mapping[str, Any]) -> list[Touched]:
    """Arrays in files that were read and written as bytes."""
    return [*_viewed(source, known, part), *_plain(source, part)]


def _boxes(of: Spans) -> Boxes:
    return of[:, None, :]


# ---- by offsets


def _plain(source: Source, part: Mapping[str, Any]) -> Iterator[Touched]:
    rows = with_lists(source.sql("from bytes_by_rank($inside, $part)", **part), "firsts", "ends")
    for group in groups(rows, "file", "layer", "direction"):
        array = begin(group[0], (0,), 1)
        for row in group:
            array.add(row)
        held = {row["who"]: np.stack((row["firsts"], row["ends"]), axis=1) for row in group}
        yield from _by_spans(array, held)


def _by_spans(array: Touched, held: Mapping[int, Spans]) -> list[Touched]:
    """One row, an array by its strides, arrays one behind the other; else one row that is irregular."""
    held = {rank: one for rank, one in held.items() if len(one)}
    if not held:
        return []
    row = _placed(array, held)
    if _is_regular(row):
        return [row]
    nests = {rank: nest(one) for rank, one in held.items()}
    lined = _lined(array, nests, row.origin or 0)
    return [lined] if lined else _turns(array, held) or [row]


def _placed(array: Touched, held: Mapping[int, Spans]) -> Touched:
    """As one row of bytes from the first that was touched."""
    origin = min(int(one[0, 0]) for one in held.values())
    boxes = {rank: _boxes(one - origin) for rank, one in held.items()}
    return replace(array, origin=origin, held=boxes, unknown={})


def _is_regular(array: Touched) -> bool:
    return distribution(array.extents, array.held, len(array.held)).regular


def _lined(
    array: Touched, nests: Mapping[int, Nest | None], origin: int, strides: Sequence[int] = ()
) -> Touched | None:
    """As an array with lines, when the ranks' strides tell of one that is regular."""
    known = {rank: nest for rank, nest in nests.items() if nest is not None}
    fitted = array_of(known, origin, strides) if len(known) == len(nests) else None
    if fitted is None:
        return None
    extents, boxes = fitted
    if len(extents) > 1 and all(box[0, 0].tolist() == [0, 1] for box in boxes.values()):
        extents, boxes = extents[1:], {rank: box[:, 1:] for rank, box in boxes.items()}
    lined = replace(array, extents=extents, held=boxes, origin=origin, unknown={})
    return lined if _is_regular(lined) else None


def _turns(array: Touched, held: Mapping[int, Spans]) -> list[Touched]:
    """Arrays one behind the other: the n-th interval of every rank is its part of the n-th. Nothing: it is not so."""
    counts = {len(one) for one in held.values()}
    if len(counts) > 1 or not 2 <= min(counts) <= TURNS:
        return []
    turns = []
    for number in range(min(counts)):
        turn = _placed(array, {rank: one[number : number + 1] for rank, one in held.items()})
        (axis,) = distribution((0,), turn.held, len(held)).axes
        if not _is_one_piece(axis):
            return []
        bytes_ = sum(int(one[number, 1] - one[number, 0]) for one in held.values())
        turns.append(replace(turn, bytes=bytes_, calls=array.calls // min(counts)))
    return turns


def _is_one_piece(axis: Axis) -> bool:
    return bool(axis.kind in ("BLOCK", "GEN_BLOCK") and axis.section and axis.section.whole)


# ---- through views


def _viewed(
    source: Source, known: Mapping[int, Shape], part: Mapping[str, Any]
) -> Iterator[Touched]:
    table = source.sql("from views_by_rank($inside, $part)", **part)
    for group in groups(with_lists(table, "offsets", "sizes"), "file", "layer", "direction"):
        for rows in _by_displacement(group, known):
            array = begin(rows[0], (0,), 1)
            for row in rows:
                array.add(row)
            yield from _through(array, rows, known)


def _by_displacement(rows: Sequence[Row], known: Mapping[int, Shape]) -> list[list[Row]]:
    """Views that begin at one byte, for all ranks, are one array of the file; else all are."""
    parts: dict[int, list[Row]] = {}
    for row in rows:
        parts.setdefault(known[row["selection"]].displacement, []).append(row)
    ranks = {row["who"] for row in rows}
    if all({row["who"] for row in one} == ranks for one in parts.values()):
        return [parts[displacement] for displacement in sorted(parts)]
    return [list(rows)]


def _through(array: Touched, rows: Sequence[Row], known: Mapping[int, Shape]) -> list[Touched]:
    held: dict[int, Spans] = {}
    nests: dict[int, Nest | None] = {}
    counts = Counter(row["who"] for row in rows)
    for row in rows:
        shape, rank = known[row["selection"]], row["who"]
        offsets, sizes = row["offsets"].astype(float), row["sizes"]
        tiles = tiles_of(shape, offsets, sizes) if counts[rank] == 1 else None
        seen = None if tiles else bytes_of(shape, offsets, sizes)
        if tiles:
            nests[rank] = tiles
        elif seen is not None:
            held[rank] = union([held.get(rank, NOTHING), seen])
        else:
            return [_unknown(array, rows)]
    nests |= {rank: nest(one) for rank, one in held.items()}
    origin = min(known[row["selection"]].displacement for row in rows)
    periods = {known[row["selection"]].period for row in rows}
    strides = tuple(periods) if len(periods) == 1 and min(periods) > 1 else ()
    if any(one is None or one.levels for one in nests.values()):
        lined = (strides and _lined(array, nests, origin, strides)) or _lined(array, nests, origin)
        if lined:
            return [lined]
    return _by_spans(array, held) if len(held) == len(nests) else [_unknown(array, rows)]


def _unknown(array: Touched, rows: Sequence[Row]) -> Touched:
    why = (
        "views of more than 64 blocks that are no parts of an array, or offsets that are not known"
    )
    return replace(array, held={}, unknown={row["who"]: why for row in rows})
