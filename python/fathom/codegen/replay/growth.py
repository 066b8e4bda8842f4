"""A run's arrays on another number of ranks, or with larger blocks: where what a rank had lies then.

Each rank's block stays as it was, times `factor`; the array grows along the dimension that ranks count through last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

from fathom.analysis.distribution.array import COPIES, Distribution
from fathom.analysis.distribution.axis import BLOCK, GEN_BLOCK, Axis
from fathom.analysis.distribution.patterns import Pattern
from fathom.analysis.distribution.strides import Nest, box_of, settled
from fathom.codegen.hints.decomposition import Inexpressible, unrolled

Box = tuple[tuple[int, int], ...]  # per dimension, the slowest first: from, to


class Irregular(Exception):
    """Why something cannot be made for other ranks or sizes."""


@dataclass(frozen=True)
class Job:
    """The run's ranks, those that are wanted, and by how much each one's block grows."""

    was: int
    ranks: int
    factor: Fraction

    def __str__(self) -> str:
        more = "" if self.factor == 1 else f", each one's part {self.factor} times as large"
        return f"{self.ranks} ranks instead of {self.was}{more}"

    def like(self, rank: int) -> int:
        """Which one of the run's ranks shows what this one does: one that is not the first, where others confirm it."""
        return min(rank, 1) if self.was > 2 else 0

    @property
    def same(self) -> "Job":
        """The run itself."""
        return Job(self.was, self.was, Fraction(1))


@dataclass(frozen=True)
class Grown:
    """One array before and after.

    `order`: dimensions that are shared out in blocks, as a rank's number counts through them, with their parts; the
    last one grows. `blocks`: by dimension of which each rank has a block its size before and after.
    """

    extents: tuple[int, ...]
    grown: tuple[int, ...]
    order: tuple[tuple[int, int], ...]
    blocks: tuple[tuple[int, tuple[int, int]], ...]

    @property
    def stays(self) -> bool:
        """Is everything where it was, whichever rank has it?"""
        return not self.blocks

    def box(self, box: Box, rank: int, to: int) -> Box:
        """What another rank has where this one had `one`."""
        moved, at, place_of_other = list(box), self._place(rank), self._place(to)
        for dimension, (size, grown) in self.blocks:
            low, high = (edge - at.get(dimension, 0) * size for edge in box[dimension])
            if low < 0 or high > size:
                raise Irregular("a rank moves more than its own part")
            if size != grown and (low, high) != (0, size):
                raise Irregular(
                    "a rank moves its part in several calls: whether more of them or longer ones is not known"
                )
            base = place_of_other.get(dimension, 0) * grown
            moved[dimension] = (base + low, base + (grown if size != grown else high))
        return tuple(moved)

    def _place(self, rank: int) -> dict[int, int]:
        """Its numbers in the process grid."""
        place = {}
        for dimension, parts in self.order[:-1]:
            rank, place[dimension] = divmod(rank, parts)
        if self.order:
            place[self.order[-1][0]] = rank
        return place


def grown(pattern: Pattern, job: Job, own: bool) -> Grown:
    """`own`: the array is one of many alike, each in a file of one rank."""
    if pattern.why or not pattern.regular:
        raise Irregular(pattern.why or "how it is spread over the ranks follows no rule")
    try:
        of = unrolled(pattern.distribution)
    except Inexpressible as why:
        raise Irregular(str(why)) from why
    extents = tuple(axis.extent for axis in of.axes)
    if all(axis.parts == 1 for axis in of.axes):
        everyone = tuple(range(job.was))
        if not own and of.ranks not in ((0,), everyone[1:], everyone):
            raise Irregular(f"only {len(of.ranks)} of {job.was} ranks touch it")
        if not own or job.factor == 1:
            return Grown(extents, extents, (), ())
        first = _times(extents[0], job.factor)
        return Grown(extents, (first, *extents[1:]), (), ((0, (extents[0], first)),))
    _check(of, job.was)
    *others, along = of.order
    parts, left = divmod(job.ranks, prod(of.axes[d].parts for d in others))
    if left:
        grid = " x ".join(str(of.axes[d].parts) for d in sorted(of.order))
        raise Irregular(
            f"a grid of {grid} ranks grows by {job.was // of.axes[along].parts} at a time"
        )
    blocks = {d: (of.axes[d].size or 0,) * 2 for d in of.order}
    blocks[along] = (blocks[along][0], _times(blocks[along][0], job.factor))
    after = [
        parts * blocks[d][1] if d == along else extent for d, extent in enumerate(extents)
    ]  # fmt: skip
    order = tuple((d, of.axes[d].parts) for d in of.order)
    return Grown(extents, tuple(after), order, tuple(blocks.items()))


def _times(size: int, factor: Fraction) -> int:
    whole = size * factor
    if whole.denominator != 1:
        raise Irregular(f"blocks of {size} have no whole size times {factor}")
    return int(whole)


def _check(distribution: Distribution, ranks: int) -> None:
    if distribution.ranks != tuple(range(ranks)):
        raise Irregular(f"only {len(distribution.ranks)} of {ranks} ranks have a part of it")
    if distribution.places or not distribution.order:
        raise Irregular("its parts are in no order of the ranks")
    if COPIES in distribution.order:
        raise Irregular("several ranks have the same part of it")
    for axis in distribution.axes:
        if axis.parts > 1 and (why := _uneven(axis)):
            raise Irregular(why)


def _uneven(axis: Axis) -> str:
    """Why a dimension is not in blocks of one size; "": it is."""
    if any(axis.ghosts):
        return "neighbours have the same elements at their edges"
    whole = axis.section is not None and axis.section.whole and axis.touched == axis.extent
    if not whole:
        return "only some of its elements are touched"
    if axis.kind not in (BLOCK, GEN_BLOCK):
        return "pieces are dealt out in turn along one of several dimensions"
    if axis.kind == GEN_BLOCK or axis.touched != (axis.size or 0) * axis.parts:
        return "the ranks' parts differ in size"
    return ""


@dataclass(frozen=True)
class Region:
    """Bytes of a file that are an array."""

    begin: int
    array: Grown
    grown_begin: int = 0

    @cached_property
    def bytes(self) -> int:
        """Before."""
        return prod(self.array.extents)

    @cached_property
    def grown_bytes(self) -> int:
        """After."""
        return prod(self.array.grown)

    def moved(self, nest: Nest, rank: int, to: int) -> Nest:
        """Bytes that another rank has where this one had `one`."""
        fastest = self.array.extents[:0:-1]
        units = [*accumulate((1, *fastest), mul)]
        edges = None
        if all(step in units for _, step in nest.levels):
            edges = box_of(nest, self.begin, units, [*fastest, 0])
        if edges is None or edges[-1][1] > self.array.extents[0]:
            raise Irregular("what a rank moves at once is no box of the array")
        return self._nest(self.array.box(tuple(edges[::-1]), rank, to))

    def _nest(self, box: Box) -> Nest:
        first, unit, levels = self.grown_begin, 1, []
        for (low, high), extent in zip(reversed(box), reversed(self.array.grown), strict=True):
            first += low * unit
            levels.append((high - low, unit))
            unit *= extent
        return settled(Nest(first, 1, tuple(levels)))


@dataclass(frozen=True)
class Layout:
    """The arrays of a file, one behind another; what lies between them stays as long as it was."""

    regions: tuple[Region, ...] = ()

    @property
    def stays(self) -> bool:
        """Is every byte where it was?"""
        return all(region.array.stays for region in self.regions)

    def region(self, at: int) -> Region:
        """That has this byte."""
        for region in self.regions:
            if region.begin <= at < region.begin + region.bytes:
                return region
        raise Irregular(f"byte {at} is in no array that was found")

    def point(self, at: int, rank: int, to: int) -> int:
        """Where something begins: the file, an array, a rank's part, or in it."""
        if at == 0:
            return 0
        one = self.region(at)
        return one.grown_begin if at == one.begin else one.moved(Nest(at, 1, ()), rank, to).first


def layout(patterns: Sequence[Pattern], job: Job, own: bool) -> Layout:
    """Of a file of which only bytes were seen."""
    arrays: dict[int, Grown] = {}
    for pattern in patterns:
        begin = pattern.origin or 0
        grown_array = grown(pattern, job, own)
        if arrays.setdefault(begin, grown_array) != grown_array:
            raise Irregular("it is not read as it is written")
    regions: list[Region] = []
    end, grown_end = 0, 0
    for begin, array in sorted(arrays.items()):
        if begin < end:
            raise Irregular("arrays that were found in it overlap")
        regions.append(Region(begin, array, grown_end + begin - end))
        end = begin + regions[-1].bytes
        grown_end = regions[-1].grown_begin + regions[-1].grown_bytes
    return Layout(tuple(regions))


def growth(arrays: Mapping[str, Grown]) -> list[str]:
    """What becomes of arrays, in a line each that differs."""
    names_of: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if array.extents != array.grown:
            words = [" x ".join(map(str, extents)) for extents in (array.extents, array.grown)]
            names_of.setdefault(" becomes ".join(words), []).append(name)
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {words}"
        for words, names in names_of.items()
    ]
