"""A sampler: it is given the points that were tried with their costs, and says which to try next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.tune.search.space import Point


@dataclass(frozen=True)
class Observation:
    """A point that was tried, and what it cost: lower is better, infinite where it failed."""

    point: Point
    cost: float


class Sampler(Protocol):
    """It keeps no state of its own: all that was tried is in the question."""

    def ask(self, observations: Sequence[Observation]) -> Point | None:
        """The next point, or None when there is nothing left to try."""
