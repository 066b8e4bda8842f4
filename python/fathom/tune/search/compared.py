"""Two samples of costs, one against the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fathom.tune.search.statistics import SURE, cliffs_delta, rank_test, ratio_interval


@dataclass(frozen=True)
class Compared:
    """How much better ours are. Ratios are above 1 where they are, and None where a run failed or a score is not
    above 0."""

    ratio: float | None  # of medians
    low: float | None  # its bootstrap interval
    high: float | None
    delta: float  # Cliff's
    p: float  # Mann and Whitney's

    def ahead(self, worth: float) -> bool:
        """Is it better by what is worth having?"""
        return self.delta > 0 if self.ratio is None else self.ratio >= 1 + worth

    def gain(self, worth: float) -> bool:
        """And that not by luck?"""
        apart = self.p <= 1 - SURE and (self.low is None or self.low > 1)
        return apart and self.ahead(worth)


def compare(ours: Sequence[float], others: Sequence[float]) -> Compared:
    """Costs, lower is better; of what is to be high they are below 0."""
    delta, p = cliffs_delta(ours, others), rank_test(ours, others)
    every = (*ours, *others)
    if max(every) < math.inf and (min(every) > 0 or max(every) < 0):
        above, below = (others, ours) if min(every) > 0 else (ours, others)
        ratio = median(above) / median(below)
        return Compared(ratio, *ratio_interval(above, below), delta, p)
    return Compared(None, None, None, delta, p)
