"""One dimension: how its indices are shared out among the places of a process grid.

After High Performance Fortran (`BLOCK`, `CYCLIC`, `*`, `GEN_BLOCK`, `SHADOW`). What is named here is exact: made again
from the name, every place has the very indices that were seen; else it is IRREGULAR.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np

from fathom.analysis.distribution.spans import Section, Spans, compress, section, size, union

BLOCK, GEN_BLOCK, CYCLIC, WHOLE = "BLOCK", "GEN_BLOCK", "CYCLIC", "*"
ONE_RANK, IRREGULAR = "ONE_RANK", "IRREGULAR"


@dataclass(frozen=True)
class Axis:
    """How one dimension is distributed over `parts` places.

    Numbers of `section` (null: in no regular section) are counted without gaps; of those place i has, with `size` b,
    BLOCK: [i b, (i + 1) b); CYCLIC: every `parts`-th piece of b from the i-th on; GEN_BLOCK: `sizes[i]` behind those
    before. `ghosts`: so many more on either side, where there are any. GEN_BLOCK in an irregular section has `starts`
    in the dimension itself.
    """

    kind: str
    parts: int
    extent: int
    touched: int
    section: Section | None
    size: int | None = None
    sizes: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    ghosts: tuple[int, int] = (0, 0)

    def even(self, in_bytes: bool) -> bool:
        """GEN_BLOCK of sizes that differ by one at most: N elements on P ranks without BLOCK's rounding.

        Bytes: by one unit at most, the largest that divides all, where every size is several of them.
        """
        if self.kind != GEN_BLOCK:
            return False
        unit = gcd(*self.sizes) if in_bytes else 1
        least = min(self.sizes)
        return max(self.sizes) - least <= unit and (unit == 1 or least > unit)


def axis(places: Sequence[Spans], extent: int) -> Axis:
    """The distribution of a dimension of `extent` indices; `places`: distinct sets, by their first index."""
    covered = union(places)
    regular = section(covered)
    base = Axis(IRREGULAR, len(places), extent, size(covered), regular)
    if regular is None:
        return _apart(places, base)
    if len(places) == 1:
        return _with(base, WHOLE)
    inside = [compress(place, covered) for place in places]
    if all(len(place) == 1 for place in inside):
        firsts = [int(place[0, 0]) for place in inside]
        ends = [int(place[0, 1]) for place in inside]
        return _blocks(firsts, ends, base) or _ghosts(firsts, ends, base) or base
    return _cyclic(inside, base) or base


def _with(
    base: Axis,
    kind: str,
    size: int | None = None,
    sizes: Sequence[int] = (),
    ghosts: tuple[int, int] = (0, 0),
    starts: Sequence[int] = (),
) -> Axis:
    return Axis(
        kind, base.parts, base.extent, base.touched, base.section, size, tuple(sizes), tuple(starts), ghosts
    )  # fmt: skip


def _apart(places: Sequence[Spans], base: Axis) -> Axis:
    """Places of one interval each, with gaps between them that follow no rule."""
    if len(places) < 2 or any(len(place) != 1 for place in places):
        return base
    firsts = [int(place[0, 0]) for place in places]
    ends = [int(place[0, 1]) for place in places]
    if any(end > first for end, first in zip(ends, firsts[1:], strict=False)):
        return base
    sizes = [end - first for first, end in zip(firsts, ends, strict=True)]
    return _with(base, GEN_BLOCK, sizes=sizes, starts=firsts)


def _blocks(firsts: Sequence[int], ends: Sequence[int], base: Axis) -> Axis | None:
    """Neighbours that touch; the last may be the smaller one."""
    if list(ends[:-1]) != list(firsts[1:]):
        return None
    sizes = [end - first for first, end in zip(firsts, ends, strict=True)]
    if len(set(sizes[:-1])) == 1 and sizes[-1] <= sizes[0]:
        return _with(base, BLOCK, sizes[0])
    return _with(base, GEN_BLOCK, sizes=sizes)


def _ghosts(firsts: Sequence[int], ends: Sequence[int], base: Axis) -> Axis | None:
    """Neighbours that overlap by as much everywhere."""
    parts, total = len(firsts), base.touched
    if any(b <= a for a, b in pairwise(firsts)):
        return None
    guesses = [-(-total // parts), firsts[2] - firsts[1] if parts > 2 else firsts[1], firsts[1]]
    for block in dict.fromkeys(guesses):
        ghosts = (block - firsts[1], ends[0] - block)
        if _is_widened(firsts, ends, block, ghosts, total):
            return _with(base, BLOCK, block, ghosts=ghosts)
    overlaps = {end - first for end, first in zip(ends, firsts[1:], strict=False)}
    overlap = overlaps.pop()
    low = overlap // 2
    cores = [0, *(first + low for first in firsts[1:]), total]
    sizes = [after - before for before, after in pairwise(cores)]
    if overlaps or overlap <= 0 or min(sizes) < overlap:
        return None
    return _with(base, GEN_BLOCK, sizes=sizes, ghosts=(low, overlap - low))


def _is_widened(
    firsts: Sequence[int], ends: Sequence[int], block: int, ghosts: tuple[int, int], total: int
) -> bool:
    """Are these blocks of that size, each with ghosts of at most a block, cut off at the array's ends?"""
    low, high = ghosts
    if not (0 <= low <= block and 0 <= high <= block and low + high > 0):
        return False
    return all(
        first == max(0, i * block - low) and end == min(total, (i + 1) * block + high) and i * block < total
        for i, (first, end) in enumerate(zip(firsts, ends, strict=True))
    )  # fmt: skip


def _cyclic(inside: Sequence[Spans], base: Axis) -> Axis | None:
    """Pieces of one length, dealt out in turn; the last piece of all may be shorter."""
    piece = int(inside[0][0, 1] - inside[0][0, 0])
    for i, place in enumerate(inside):
        firsts = np.arange(i * piece, base.touched, base.parts * piece, dtype=np.int64)
        ends = np.minimum(firsts + piece, base.touched)
        if not np.array_equal(place, np.stack((firsts, ends), axis=1)):
            return None
    return _with(base, CYCLIC, piece)
