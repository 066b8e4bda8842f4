"""Sets of whole numbers as intervals: an array of (first, end) rows, sorted, apart from each other, end exclusive."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.int64]
NOTHING: Spans = np.empty((0, 2), np.int64)


def spans(rows: Sequence[tuple[int, int]] | Spans) -> Spans:
    """Intervals in any order, touching or overlapping, as a set."""
    given = np.asarray(rows, np.int64).reshape(-1, 2)
    given = given[given[:, 1] > given[:, 0]]
    if len(given) < 2:
        return given
    given = given[np.argsort(given[:, 0], kind="stable")]
    ends = np.maximum.accumulate(given[:, 1])
    begins = np.flatnonzero(np.concatenate(([True], given[1:, 0] > ends[:-1])))
    lasts = np.append(begins[1:], len(given)) - 1
    return np.stack((given[begins, 0], ends[lasts]), axis=1)


def size(of: Spans) -> int:
    """How many numbers."""
    return int((of[:, 1] - of[:, 0]).sum())


def union(sets: Sequence[Spans]) -> Spans:
    """All numbers that are in one of them."""
    return spans(np.concatenate([NOTHING, *sets]))


def compress(of: Spans, within: Spans) -> Spans:
    """`of`, a part of `within`, when the numbers of `within` are counted from 0 without gaps."""
    before = np.concatenate(([0], np.cumsum(within[:, 1] - within[:, 0])))[:-1]
    place = np.searchsorted(within[:, 0], of[:, 0], side="right") - 1
    shift = before[place] - within[place, 0]
    # an interval of `of` lies in one of `within`, for those are apart; neighbours may touch now
    return spans(of + shift[:, None])


@dataclass(frozen=True)
class Section:
    """Pieces of `length` numbers, `step` apart, from `first` on; what reaches over `end` is cut off."""

    first: int
    end: int
    length: int
    step: int

    @property
    def whole(self) -> bool:
        """One interval?"""
        return self.first + self.length >= self.end


def section(of: Spans) -> Section | None:
    """The set as a regular section; None: it is none."""
    if not len(of):
        return None
    first, end = int(of[0, 0]), int(of[-1, 1])
    if len(of) == 1:
        return Section(first, end, end - first, end - first)
    length, step = int(of[0, 1]) - first, int(of[1, 0]) - first
    lengths = of[:, 1] - of[:, 0]
    even = bool((np.diff(of[:, 0]) == step).all() and (lengths[:-1] == length).all())
    return Section(first, end, length, step) if even and int(lengths[-1]) <= length else None
