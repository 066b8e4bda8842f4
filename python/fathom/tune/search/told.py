"""What samplers are told and asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.tune.search.space import Point


@dataclass(frozen=True)
class Told:
    """A point that was tried, and what it cost: lower is better, infinite where it failed."""

    point: Point
    cost: float


class Sampler(Protocol):
    """Ask; what is told stands in the question."""

    def ask(self, told: Sequence[Told]) -> Point | None:
        """The next point, or None when there is nothing left to try."""
