"""One array: the process grid over its dimensions, from the elements that each rank touched."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from fathom.analysis.distribution.axis import IRREGULAR, ONE_RANK, Axis, axis
from fathom.analysis.distribution.boxes import Boxes, merged, product
from fathom.analysis.distribution.spans import Spans, section, spans

COPIES = -1  # in `order`: no dimension, but which of the ranks that have the same elements


@dataclass(frozen=True)
class Distribution:
    """How an array is distributed.

    `ranks`: those that touched it, ascending. The i-th of them is at the place whose numbers are the digits of i in the
    mixed radix of `order` (dimensions of more than one part, the fastest first). Where no such order is, `order` is
    empty and `places` has each one's numbers. `copies`: how many ranks have each element.
    """

    axes: tuple[Axis, ...]
    ranks: tuple[int, ...]
    copies: int = 1
    order: tuple[int, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()

    @property
    def regular(self) -> bool:
        """Is every dimension's distribution known?"""
        return all(axis.kind != IRREGULAR for axis in self.axes)

    @property
    def is_of_one_rank(self) -> bool:
        """Did one rank of several touch it?"""
        return bool(self.axes) and self.axes[0].kind == ONE_RANK

    def as_irregular(self) -> "Distribution":
        """The same, when it is not all."""
        return replace(self, axes=tuple(replace(axis, kind=IRREGULAR) for axis in self.axes))

    @property
    def share(self) -> float:
        """Share of the array's elements that any rank touched; of an irregular one of what its boxes span."""
        return prod(axis.touched / axis.extent if axis.extent else 1.0 for axis in self.axes)


def distribution(extents: Sequence[int], touched: Mapping[int, Boxes], job: int) -> Distribution:
    """Of an array of these extents (0: as far as it was touched) in a job of `job` ranks.

    `touched`: by rank the boxes it touched; what several calls touched counts as one.
    """
    held = {rank: merged(boxes) for rank, boxes in sorted(touched.items())}
    held = {rank: boxes for rank, boxes in held.items() if len(boxes)}
    full = _reached(extents, held.values())
    sets: dict[int, list[Spans]] = {}
    for rank, boxes in held.items():
        factors = product(boxes)
        if factors is None:
            return _irregular(full, held)
        sets[rank] = factors
    return _gridded(full, sets, job) or _irregular(full, held)


def _reached(extents: Sequence[int], held: Iterable[Boxes]) -> tuple[int, ...]:
    far = list(extents)
    for boxes in held:
        far = [max(a, int(b)) for a, b in zip(far, boxes[:, :, 1].max(axis=0), strict=True)]
    return tuple(far)


def _irregular(full: Sequence[int], held: Mapping[int, Boxes]) -> Distribution:
    axes = []
    for dimension, extent in enumerate(full):
        rows = [
            (int(boxes[:, dimension, 0].min()), int(boxes[:, dimension, 1].max())) for boxes in held.values()
        ]  # fmt: skip
        around = spans([(min(row[0] for row in rows), max(row[1] for row in rows))] if rows else [])
        touched = int(around[0, 1] - around[0, 0]) if rows else 0
        axes.append(Axis(IRREGULAR, max(1, len(held)), extent, touched, section(around)))
    return Distribution(tuple(axes), tuple(held))


def _gridded(full: Sequence[int], sets: Mapping[int, list[Spans]], job: int) -> Distribution | None:
    """The process grid; None: the ranks' parts make no grid."""
    axes, numbers = [], []
    for dimension, extent in enumerate(full):
        alike = {one[dimension].tobytes(): one[dimension] for one in sets.values()}
        keys = sorted(alike, key=lambda key: (*alike[key][0].tolist(), key))
        number = {key: i for i, key in enumerate(keys)}
        numbers.append([number[one[dimension].tobytes()] for one in sets.values()])
        axes.append(axis([alike[key] for key in keys], extent))
    places = list(zip(*numbers, strict=True))
    held = Counter(places)
    copies = max(held.values(), default=0)
    if len(held) != prod(one.parts for one in axes) or set(held.values()) != {copies}:
        return None
    if len(sets) == 1 < job:
        axes = [one if one.kind == IRREGULAR else replace(one, kind=ONE_RANK) for one in axes]
    order = _order(axes, copies, places)
    return Distribution(
        tuple(axes),
        tuple(sets),
        copies,
        order or (),
        () if order is not None else tuple(places),
    )


def _order(
    axes: Sequence[Axis], copies: int, places: Sequence[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Dimensions as a rank's number counts them through, the fastest first; None: in no such order."""
    seen: Counter[tuple[int, ...]] = Counter()
    digits: list[tuple[int, ...]] = []
    for place in places:
        digits.append((*place, seen[place]))
        seen[place] += 1
    names = [*range(len(axes)), COPIES]
    parts = [*(one.parts for one in axes), copies]
    where = {digit: i for i, digit in enumerate(digits)}
    weights = [
        where[tuple(int(other == at) for other in range(len(names)))] if parts[at] > 1 else 0
        for at in range(len(names))
    ]
    for i, digit in enumerate(digits):
        if i != sum(weight * number for weight, number in zip(weights, digit, strict=True)):
            return None
    used = [at for at in range(len(names)) if parts[at] > 1]
    return tuple(names[at] for at in sorted(used, key=lambda at: weights[at]))
