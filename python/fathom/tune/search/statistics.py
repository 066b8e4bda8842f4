"""Are these runs better than those? By medians and ranks: run times are few and seldom normal (Hoefler, Belli 2015)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

#: The interval holds the truth 95 times of 100; from so many drawings.
SURE, DRAWINGS = 0.95, 10_000


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """Where the ratio of two medians lies, by drawing both samples anew (percentile bootstrap). All are above 0."""
    random = np.random.default_rng(0)  # the same runs have the same interval
    drawn = (
        np.median(random.choice(np.asarray(sample), (DRAWINGS, len(sample))), axis=1)
        for sample in (above, below)
    )
    ratios = np.divide(*drawn)
    rest = (1 - SURE) / 2
    low, high = np.quantile(ratios, (rest, 1 - rest))
    return float(low), float(high)


def cliffs_delta(ours: Sequence[float], others: Sequence[float]) -> float:
    """How much more often one of ours is below one of the others than above: 1 always, 0 as often, -1 never."""
    signs = ((one < other) - (one > other) for one in ours for other in others)
    return sum(signs) / (len(ours) * len(others))


def rank_test(ours: Sequence[float], others: Sequence[float]) -> float:
    """How likely ranks that are as uneven are if both are the same: Mann and Whitney's test, two-sided, with ties.

    Exact: all ways of choosing our ranks are counted by their sum.
    """
    ranks = _doubled_ranks([*ours, *others])
    ways: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in ours)]
    for rank in ranks:
        for chosen in range(len(ours), 0, -1):
            for total, count in ways[chosen - 1].items():
                ways[chosen][total + rank] += count
    middle = len(ours) * sum(ranks)  # times the number of ranks, so all stays whole
    far = abs(sum(ranks[: len(ours)]) * len(ranks) - middle)
    uneven = sum(
        count for total, count in ways[-1].items() if abs(total * len(ranks) - middle) >= far
    )
    return uneven / math.comb(len(ranks), len(ours))


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each; equal ones share the mean of theirs."""
    below = {value: sum(other < value for other in values) for value in set(values)}
    same = Counter(values)
    return [2 * below[value] + same[value] + 1 for value in values]


def holm(likely: Mapping[str, float]) -> dict[str, float]:
    """The same of several tests at once, so that one of them is right by luck no more often than one test would be."""
    names = sorted(likely, key=lambda name: likely[name])
    raised = (min(1.0, likely[name] * (len(names) - place)) for place, name in enumerate(names))
    return dict(zip(names, accumulate(raised, max), strict=True))
