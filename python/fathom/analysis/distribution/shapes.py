"""The shapes of table `selections`, made whole again: of a hyperslab of more than 64 blocks only hash and box are kept.

Such a shape is found by trying regular ones until the hash is right, as runtime/handlers/selection.c makes it:
64 bits leave no doubt.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from math import prod
from typing import Any, TypeVar

import numpy as np

from fathom.analysis import Source
from fathom.analysis.distribution.boxes import Boxes
from fathom.analysis.distribution.spans import spans
from fathom.analysis.distribution.strides import Nest, settled
from fathom.errors import DamagedRun

T = TypeVar("T")

MASK = (1 << 64) - 1
TRIES = 20_000  # regular shapes that are tried for one box
HYPERSLABS = 2  # what HDF5's hashes begin with; netCDF's with 0
LISTED = 1_000_000  # boxes that one shape may have


@dataclass(frozen=True)
class Shape:
    """One selection.

    `boxes`: its elements, from its box's corner on; of a view the bytes of a tile. A view of many blocks has them as
    `nest` instead. Neither: they are not known.
    """

    total: int
    box: tuple[int, ...]
    boxes: Boxes | None
    displacement: int
    period: int
    nest: Nest | None = None


def shapes(source: Source) -> dict[int, Shape]:
    """By number of the selection."""
    rows = source.sql("from used_selections()").to_pylist()
    return {row["selection"]: fitting(_shape, row) for row in rows}


def fitting(read: Callable[[dict[str, Any]], T], row: dict[str, Any]) -> T:
    """What is read of a selection. Errors: DamagedRun where its lists do not fit together."""
    try:
        return read(row)
    except (ValueError, IndexError, OverflowError, TypeError) as error:
        raise DamagedRun(
            f"selections: row {row['selection']}: its lists do not fit together; pack the run again, with --force"
        ) from error


def _shape(row: dict[str, Any]) -> Shape:
    box = tuple(row["box_count"])
    boxes, nest = None, None
    if not row["total"]:
        boxes = np.empty((0, max(1, len(box)), 2), np.int64)
    elif row["exact"]:
        given = np.array([row["block_start"], row["block_count"]], np.int64).reshape(
            2, -1, len(box)
        )
        boxes = np.stack((given[0], given[0] + given[1]), axis=2)
    elif row["form"] == "elements":
        boxes = _regular(box, row["total"], row["hash"])
    else:
        nest, boxes = _parts(row)
    return Shape(row["total"], box, boxes, row["displacement"], row["period"], nest)


def nests_of(row: dict[str, Any]) -> list[Nest]:
    """Parts of a view's period that are repeated level within level."""
    nests, used = [], 0
    for start, length, depth in zip(
        row["part_start"] or [], row["part_bytes"] or [], row["part_levels"] or [], strict=True
    ):
        levels = [*zip(row["part_count"], row["part_stride"], strict=True)][used : used + depth]
        used += depth
        nests.append(settled(Nest(start, length, tuple(reversed(levels)))))
    return nests


def _parts(row: dict[str, Any]) -> tuple[Nest | None, Boxes | None]:
    """A view's repeated blocks: nested strides when there is one such part, else every block."""
    nests = nests_of(row)
    if len(nests) == 1:
        return nests[0], None
    blocks = [boxes_of(one) for one in nests]
    known = [one for one in blocks if one is not None]
    if not known or len(known) < len(blocks):
        return None, None
    every = spans(np.concatenate(known)[:, 0, :])
    return None, every[:, None, :]


def boxes_of(nest: Nest) -> Boxes | None:
    """Every run of it, in ascending order; None: too many."""
    if prod(count for count, _ in nest.levels) > LISTED:
        return None
    firsts = np.array([nest.first], np.int64)
    for count, step in reversed(nest.levels):
        firsts = (firsts[:, None] + np.arange(count, dtype=np.int64) * step).ravel()
    return np.stack((firsts, firsts + nest.run), axis=1)[:, None, :]


def _mix(value: int, word: int) -> int:
    value = ((value ^ word) * 0x9E3779B97F4A7C15) & MASK
    return value ^ (value >> 29)


def hash_of(
    strides: Sequence[int], counts: Sequence[int], blocks: Sequence[int], begin: int
) -> int:
    """As the runtime has it for a regular hyperslab."""
    value = begin
    for stride, count, block in zip(strides, counts, blocks, strict=True):
        for word in (stride if count > 1 else 0, count, block):
            value = _mix(value, word)
    return value


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, min(number, 1_000_000) + 1) if d * d <= number and number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def _ways(box: int, share: int) -> Iterator[tuple[int, int, int]]:
    """(stride, count, block) that touch `share` numbers and span `box`."""
    if share == box:
        yield 1, 1, box
    for count in _divisors(share):
        if count < 2 or share == box:
            continue
        stride, left = divmod(box - share // count, count - 1)
        if left == 0 and stride > share // count:
            yield stride, count, share // count


def _shares(box: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """How many indices of each dimension: dimensions that fill their box first."""
    if len(box) == 1:
        if total <= box[0]:
            yield (total,)
        return
    firsts = [d for d in _divisors(total) if d <= box[0]]
    firsts.sort(key=lambda d: d != box[0])
    for first in firsts:
        for rest in _shares(box[1:], total // first):
            yield first, *rest


def _regular(box: Sequence[int], total: int, hash_: int) -> Boxes | None:
    tries = 0
    for shares in _shares(box, total):
        for ways in combinations(*(list(_ways(b, s)) for b, s in zip(box, shares, strict=True))):
            tries += 1
            if tries > TRIES:
                return None
            stride, count, block = zip(*ways, strict=True)
            if hash_ in (hash_of(stride, count, block, begin) for begin in (HYPERSLABS, 0)):
                return _boxes(stride, count, block)
    return None


def _boxes(stride: Sequence[int], count: Sequence[int], block: Sequence[int]) -> Boxes | None:
    if prod(count) > LISTED:
        return None
    firsts = np.stack(
        [
            one.ravel()
            for one in np.meshgrid(
                *(np.arange(n, dtype=np.int64) * s for s, n in zip(stride, count, strict=True)),
                indexing="ij",
            )
        ],
        axis=1,
    )
    return np.stack((firsts, firsts + np.asarray(block, np.int64)), axis=2)
