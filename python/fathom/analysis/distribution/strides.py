"""Bytes in nested strides, and the array that several ranks' strides tell of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fathom.analysis.distribution.boxes import Boxes
from fathom.analysis.distribution.spans import Spans

DEEPEST = 6  # strides inside one another


@dataclass(frozen=True)
class Nest:
    """Runs of `run` bytes from `first` on, repeated by `levels`: (count, step in bytes), the innermost first."""

    first: int
    run: int
    levels: tuple[tuple[int, int], ...]


def settled(nest: Nest) -> Nest:
    """The same in fewer levels: one that goes on where those inside end is no level of its own."""
    run, levels = nest.run, list[tuple[int, int]]()
    for count, step in nest.levels:
        if not levels and step == run:
            run *= count
        elif levels and step == levels[-1][0] * levels[-1][1]:
            levels[-1] = (levels[-1][0] * count, levels[-1][1])
        elif count > 1:
            levels.append((count, step))
    return Nest(nest.first, run, tuple(levels))


def nest(of: Spans) -> Nest | None:
    """Intervals as nested strides; None: they are not all of one length, or in no such order."""
    starts, lengths = of[:, 0], of[:, 1] - of[:, 0]
    if not len(of) or (lengths != lengths[0]).any():
        return None
    levels: list[tuple[int, int]] = []
    while len(starts) > 1:
        step = int(starts[1] - starts[0])
        other = np.flatnonzero(np.diff(starts) != step)
        count = int(other[0]) + 1 if len(other) else len(starts)
        if len(starts) % count or len(levels) == DEEPEST:
            return None
        rows = starts.reshape(-1, count)
        if (np.diff(rows, axis=1) != step).any():
            return None
        levels.append((count, step))
        starts = rows[:, 0]
    return Nest(int(of[0, 0]), int(lengths[0]), tuple(levels))


def array_of(
    nests: Mapping[int, Nest], origin: int, strides: Sequence[int] = ()
) -> tuple[tuple[int, ...], dict[int, Boxes]] | None:
    """Extents (slowest first; the slowest 0: open) and each rank's box of the array that begins at byte `origin`.

    Its strides are the ranks' own and `strides`; None: they do not divide one another, or a rank's part is no box. The
    fastest dimension counts bytes.
    """
    steps = sorted({step for nest in nests.values() for _, step in nest.levels} | set(strides))
    if any(after % before for before, after in pairwise(steps)):
        return None
    units = [1, *steps]
    extents = [*(after // before for before, after in pairwise(units)), 0]
    boxes = {}
    for rank, nest in nests.items():
        rows = box_of(nest, origin, units, extents)
        if rows is None:
            return None
        boxes[rank] = np.array([rows[::-1]], np.int64)
    return tuple(extents[::-1]), boxes


def box_of(
    nest: Nest, origin: int, units: Sequence[int], extents: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Per dimension, the fastest first, which indices a rank has."""
    counts = dict.fromkeys(units, 1)
    counts[1] = nest.run
    for count, step in nest.levels:
        counts[step] *= count
    at, rows = nest.first - origin, []
    for number, unit in enumerate(units):
        extent = extents[number]
        low = at // unit % extent if extent else at // unit
        count = counts[unit]
        if extent and count > extent:
            # whole lines are one run: they count in the next dimension
            lines, left = divmod(count, extent)
            if left or low:
                return None
            counts[units[number + 1]] *= lines
            count = extent
        if at < 0 or (extent and low + count > extent):
            return None
        rows.append((low, low + count))
    return rows
