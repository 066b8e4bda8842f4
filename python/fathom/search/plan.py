"""Which trial comes next. It follows from the rows of the ledger alone, so a search may be killed and goes on.

One look at the program as it is, its noise by repeats, the search, then fresh runs of the best: the best of a search is
also the luckiest, so it is judged only by runs that were not part of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

from fathom.search.ledger import Trial
from fathom.search.objective import Objective
from fathom.search.options import Options
from fathom.search.samplers import SAMPLERS, Told
from fathom.search.space import Point, Space

#: Rounds of finals before one may be dropped; proposals in a row that bring nothing new before the search ends.
ROUNDS, IDLE = 3, 100


@dataclass(frozen=True)
class Next:
    """A trial to run; `known`: its point was measured before, and its result stands."""

    stage: str
    round: int
    point: Point
    known: bool = False


class Plan:
    """Of one search."""

    def __init__(self, options: Options, objective: Objective, space: Space) -> None:
        self.options, self.objective, self.space = options, objective, space
        self.seeds = tuple(dict.fromkeys((space.default, *space.seeds, *self._corners())))

    def cost(self, trial: Trial) -> float:
        """Lower is better; what failed, hung or was wrong is infinitely bad."""
        if trial.state not in ("done", "known") or trial.score is None:
            return math.inf
        return self.objective.cost(trial.score)

    def next(self, trials: Sequence[Trial]) -> Next | None:
        """The next trial; None: the search is done."""
        defaults = [one for one in trials if one.stage == "default"]
        if len(defaults) < self.options.repeats:
            return Next("default", len(defaults), self.space.default)
        finals = [one for one in trials if one.stage == "final"]
        return (None if finals else self._search(trials)) or self._final(trials)

    def measured(self, trials: Sequence[Trial]) -> dict[Point, float]:
        """Median cost of each point that was run before the finals."""
        costs: dict[Point, list[float]] = {}
        for one in trials:
            if one.stage in ("default", "search") and one.state not in ("known", "running"):
                costs.setdefault(one.point, []).append(self.cost(one))
        return {point: median(found) for point, found in costs.items()}

    def _search(self, trials: Sequence[Trial]) -> Next | None:
        rows = [one for one in trials if one.stage == "search"]
        spent = sum(one.seconds or 0.0 for one in trials)
        run = sum(one.state != "known" for one in rows)
        over = self.options.seconds is not None and spent >= self.options.seconds
        idle = len(rows) >= IDLE and all(one.state == "known" for one in rows[-IDLE:])
        every = len(self.measured(trials)) >= self.space.size
        if over or idle or every or run >= self.options.trials:
            return None
        if len(rows) < len(self.seeds):
            point: Point | None = self.seeds[len(rows)]
        else:
            point = self._asked(trials, rows)
        if point is None:
            return None
        return Next("search", len(rows), point, point in self.measured(trials))

    def _asked(self, trials: Sequence[Trial], rows: Sequence[Trial]) -> Point | None:
        """The sampler's word, in what screening left of the space."""
        inert = self.inert(trials)
        space = self.space.without(inert)
        told = [Told(_without(one.point, inert), self.cost(one)) for one in rows]
        return SAMPLERS[self.options.sampler](space, self.options.seed).ask(told)

    def _corners(self) -> list[Point]:
        """For screening: each knob alone, at its first and its last value."""
        if not self.options.screen:
            return []
        return [
            point
            for number, one in enumerate(self.space.dimensions)
            for value in sorted({1, len(one.values) - 1})
            if self.space.allowed(point := self.space.alone(number, value))
        ]

    def inert(self, trials: Sequence[Trial]) -> frozenset[int]:
        """Knobs that alone change nothing beyond the noise of the default."""
        if not self.options.screen:
            return frozenset()
        noise = [self.cost(one) for one in trials if one.stage == "default"]
        low, high = min(noise), max(noise)
        found = self.measured(trials)
        changed = {
            number
            for point in self._corners()
            for number, value in enumerate(point)
            if value and not low <= found.get(point, math.inf) <= high
        }
        return frozenset(range(len(self.space.dimensions))) - changed

    def finalists(self, trials: Sequence[Trial]) -> list[Point]:
        """The default, and the best of the search."""
        found = self.measured(trials)
        better = [point for point in found if point != self.space.default]
        good = sorted((one for one in better if math.isfinite(found[one])), key=found.__getitem__)
        return [self.space.default, *good[: self.options.finalists]]

    def costs(self, trials: Sequence[Trial], before: float = math.inf) -> dict[Point, list[float]]:
        """What each finalist's fresh runs cost, of the rounds before this one."""
        found: dict[Point, list[float]] = {point: [] for point in self.finalists(trials)}
        for one in trials:
            if one.stage == "final" and one.round < before and one.state != "running":
                found[one.point].append(self.cost(one))
        return found

    def _final(self, trials: Sequence[Trial]) -> Next | None:
        """In rounds, each in an order of its own: what drifts on the machine meets all alike."""
        there = {(one.round, one.point) for one in trials if one.stage == "final"}
        for turn in range(max(self.options.repeats, ROUNDS)):
            left = self.racing(trials, turn)
            Random(f"{self.options.seed} final {turn}").shuffle(left)
            for point in left:
                if (turn, point) not in there:
                    return Next("final", turn, point)
        return None

    def racing(self, trials: Sequence[Trial], turn: int) -> list[Point]:
        """Finalists that are still in at this round: those that failed never win, nor those that lost every time."""
        costs = self.costs(trials, turn)
        if turn < 1:
            return list(costs)
        sound = {point: found for point, found in costs.items() if max(found) < math.inf}
        least = min((max(found) for found in sound.values()), default=math.inf)
        return [
            point
            for point, found in costs.items()
            if point == self.space.default
            or (point in sound and (turn < ROUNDS or min(found) <= least))
        ]


def _without(point: Point, inert: frozenset[int]) -> Point:
    return tuple(0 if number in inert else value for number, value in enumerate(point))
