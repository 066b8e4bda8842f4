"""How one process's part of an array lies in it: one run, runs in nested strides, or none of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.distribution.boxes import Boxes, merged
from fathom.analysis.distribution.spans import Spans, section

CONTIGUOUS, STRIDED, NESTED, IRREGULAR = "contiguous", "strided", "nested strides", "irregular"


@dataclass(frozen=True)
class Access:
    """`run` bytes in one piece, repeated by `levels`: (count, step in bytes), the innermost first."""

    kind: str
    run: int | None = None
    levels: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Pieces:
    """What is known of an irregular array: its pieces (boxes), bytes of the smallest and the largest."""

    count: int
    least: int
    most: int
    in_turn: bool  # of one dimension: the ranks have one after the other, from the first on again


def pieces(held: Mapping[int, Boxes], element_bytes: int) -> Pieces | None:
    """Of all ranks' boxes; None: there are none."""
    small = {rank: merged(boxes) for rank, boxes in sorted(held.items())}
    if not sum(map(len, small.values())):
        return None
    boxes = np.concatenate(list(small.values()))
    sizes = (boxes[:, :, 1] - boxes[:, :, 0]).prod(axis=1) * element_bytes
    owners = np.repeat(np.arange(len(small)), [len(one) for one in small.values()])
    owners = owners[np.argsort(boxes[:, 0, 0], kind="stable")]
    count = len(np.unique(owners))
    in_turn = boxes.shape[1] == 1 and len(owners) > count > 1
    in_turn = in_turn and bool((owners == np.resize(owners[:count], len(owners))).all())
    return Pieces(len(boxes), int(sizes.min()), int(sizes.max()), in_turn)


def access(sets: Sequence[Spans] | None, extents: Sequence[int], element_bytes: int) -> Access:
    """Of a part that is all combinations of `sets`, one per dimension, in row-major order; null: of another."""
    if sets is None or any(section(spans_) is None for spans_ in sets):
        return Access(IRREGULAR)
    unit = run = element_bytes
    levels: list[tuple[int, int]] = []
    for spans_, extent in zip(reversed(sets), reversed(extents), strict=True):
        lengths = spans_[:, 1] - spans_[:, 0]
        if not levels and run == unit:
            run = int(lengths[0]) * unit
        elif lengths[0] > 1:
            _add(levels, int(lengths[0]), unit)
        if len(spans_) > 1:
            _add(levels, len(spans_), int(spans_[1, 0] - spans_[0, 0]) * unit)
        if len(spans_) > 1 and (np.diff(lengths) != 0).any():
            return Access(IRREGULAR)
        unit *= extent
    kind = (CONTIGUOUS, STRIDED)[len(levels)] if len(levels) < 2 else NESTED
    return Access(kind, run, tuple(levels))


def _add(levels: list[tuple[int, int]], count: int, step: int) -> None:
    """One level more; one that goes on where the last ended is the same."""
    if levels and levels[-1][0] * levels[-1][1] == step:
        levels[-1] = (levels[-1][0] * count, levels[-1][1])
    else:
        levels.append((count, step))
