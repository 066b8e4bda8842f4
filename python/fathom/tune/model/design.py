"""Settings that a model is trained on: of some values of each knob, few trials in which each pair of values is met."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import numpy as np

from fathom.tune.model.factors import Factor, canonical, of_spaces
from fathom.tune.search.space import Dimension, Point, Space

#: Which values of knobs that are numbers: all; 1, 2, 4, …; the most, its half, a quarter, ….
DESIGNS = ("powers", "halves", "all")
#: Trials for each knob, where the budget has them; points drawn for each, the one that meets most that is new is taken.
EACH, DRAWN = 10, 100


def trained(dimension: Dimension, factor: Factor, design: str) -> tuple[int, ...]:
    """Numbers of a knob's values that are tried: of numbers those of the design, and all else."""
    numbers = {
        n: factor.number(canonical(dimension, given)) for n, given in enumerate(dimension.values)
    }
    known = [number for number in numbers.values() if number is not None]
    if design == "all" or not known:
        return tuple(numbers)
    unit = min(known) if design == "powers" and factor.kind == "bytes" else 1
    wanted = set(_halves(max(known)) if design == "halves" else _doubles(unit, max(known)))
    chosen = tuple(n for n, number in numbers.items() if number is None or number in wanted)
    return chosen if any(numbers[n] is not None for n in chosen) else tuple(numbers)


def _doubles(low: float, high: float) -> Iterator[float]:
    while low <= high:
        yield low
        low *= 2


def _halves(number: float) -> Iterator[float]:
    """Of whole numbers the whole part."""
    while number >= 1:
        yield number
        number = number // 2 if number == int(number) else number / 2
    yield number


def draw(space: Space, design: str, count: int, seed: int) -> list[Point]:
    """So many; fewer where there are no more. Any first part of them is a design too."""
    factors = {one.name: one for one in of_spaces((space,))}
    values = [trained(dimension, factors[dimension.name], design) for dimension in space.dimensions]
    pairs, random = _Pairs(space), Random(f"{seed} design")
    points: dict[Point, None] = {}
    while len(points) < count:
        drawn = (tuple(random.choice(some) for some in values) for _ in range(DRAWN))
        fresh = [
            candidate
            for candidate in dict.fromkeys(drawn)
            if candidate not in points and space.allowed(candidate)
        ]
        if not fresh:
            break
        point = pairs.rarest(fresh)
        points[point] = None
        pairs.add(point)
    return list(points)


class _Pairs:
    """How often two values of two knobs, and each value, were met together."""

    def __init__(self, space: Space) -> None:
        most = max(len(dimension.values) for dimension in space.dimensions)
        numbers = range(len(space.dimensions))
        self.pairs = np.array([*combinations(numbers, 2), *((n, n) for n in numbers)])
        self.counts = np.zeros((len(self.pairs), most, most))

    def add(self, point: Point) -> None:
        one = np.array(point)
        self.counts[(np.arange(len(self.pairs)), *one[self.pairs].T)] += 1

    def rarest(self, points: Sequence[Point]) -> Point:
        """Which of them meets most that is new."""
        each = np.array(points)[:, self.pairs]
        seen_pairs = self.counts[np.arange(len(self.pairs)), each[:, :, 0], each[:, :, 1]]
        return points[int(np.argmax((1 / (seen_pairs + 1)).sum(axis=1)))]
