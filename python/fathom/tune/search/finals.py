"""Fresh runs: the best of a search is also its luckiest, so only runs that were no part of it say what it gains.

A race says which of the best is the winner. The proof runs it, the program as it is, an expert's rule and each
sampler's best in rounds, each round in an order of its own, so that what drifts on the machine meets all alike. The
ablation sets each knob of the winner back, but of a finding's remedy, which is one.
"""

import math
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median

from fathom.tune.search.compared import Compared, compare
from fathom.tune.search.ledger import Step, Trial
from fathom.tune.search.options import Options
from fathom.tune.search.space import Point, Space

STAGES = ("race", "proof", "ablation")
#: Rounds of a race, and after which one may be dropped.
ROUNDS, DROPPED = 3, 2
Missing = Generator[Step, None, None]


@dataclass
class Standing:
    """What the fresh runs say. `winner`: None, where every one of the best failed."""

    winner: Point | None
    proof: dict[Point, list[Trial]] = field(default_factory=dict)
    settings: Point | None = None  # the winner without its inert knobs
    #: Of each knob that the winner sets, by number: the winner against itself without it; None: it cannot be without.
    without: dict[int, Compared | None] = field(default_factory=dict)


class Finals:
    """Of one search: its best, in order, and whom they are compared with, by name."""

    def __init__(
        self, options: Options, cost: Callable[[Trial], float], space: Space,
        finalists: Sequence[Point], contenders: Mapping[str, Point],
    ) -> None:  # fmt: skip
        self.options, self.cost, self.space = options, cost, space
        self.finalists, self.contenders = finalists, contenders

    def next(self, trials: Sequence[Trial]) -> Step | None:
        """The next fresh run; None: all were."""
        return next(self._walk(trials), None)

    def standing(self, trials: Sequence[Trial]) -> Standing | None:
        """None: runs are missing."""
        walk = self._walk(trials)
        try:
            next(walk)
        except StopIteration as end:
            standing: Standing = end.value
            return standing
        return None

    def compare(self, ours: Sequence[Trial], others: Sequence[Trial]) -> Compared:
        """Two samples of runs."""
        return compare([self.cost(one) for one in ours], [self.cost(one) for one in others])

    def _walk(self, trials: Sequence[Trial]) -> Generator[Step, None, Standing]:
        """Yields runs that are missing; who goes on after one knows nothing."""
        best = yield from self._race(trials)
        for number, winner in enumerate(best):
            points = dict.fromkeys((*self.contenders.values(), winner))
            yield from self._rounds(trials, "proof", number, list(points))
            proof = self._runs(trials, "proof", number)
            if self._sound(proof[winner]):
                standing = Standing(winner, proof, winner)
                gain = self.compare(proof[winner], proof[self.space.default]).gain
                if self.options.finding is None and gain(self.options.worth):
                    yield from self._ablate(trials, standing)
                return standing
        return Standing(None)

    def _sound(self, runs: Sequence[Trial]) -> bool:
        """What failed, hung or was wrong once never wins."""
        return all(math.isfinite(self.cost(run)) for run in runs)

    # ---- runs of some points, in rounds ----

    def _rounds(
        self, trials: Sequence[Trial], stage: str, group: int, points: Sequence[Point]
    ) -> Missing:
        """What failed or hung in one round is in no further one: it has lost, and may take long."""
        first = group * self.options.repeats
        for turn in range(first, first + self.options.repeats):
            before = [
                trial for trial in trials if trial.stage == stage and first <= trial.round < turn
            ]
            lost = {one.point for one in before if math.isinf(self.cost(one))}
            left = [point for point in points if point not in lost]
            yield from self._round(trials, stage, turn, left)

    def _round(
        self, trials: Sequence[Trial], stage: str, turn: int, points: Sequence[Point]
    ) -> Missing:
        present = {trial.point for trial in trials if (trial.stage, trial.round) == (stage, turn)}
        left = sorted(points)
        Random(f"{self.options.seed} {stage} {turn}").shuffle(left)
        for point in left:
            if point not in present:
                yield Step(stage, turn, point)

    def _runs(self, trials: Sequence[Trial], stage: str, group: int) -> dict[Point, list[Trial]]:
        runs: dict[Point, list[Trial]] = {}
        for trial in trials:
            if trial.stage == stage and trial.round // self.options.repeats == group:
                runs.setdefault(trial.point, []).append(trial)
        return runs

    # ---- the race ----

    def _race(self, trials: Sequence[Trial]) -> Generator[Step, None, list[Point]]:
        """The sound ones, best first. Who was behind in every round is not run again."""
        costs: dict[Point, list[float]] = {point: [] for point in self.finalists}
        left = list(self.finalists)
        for turn in range(ROUNDS if len(left) > 1 else 0):
            yield from self._round(trials, "race", turn, left)
            for trial in trials:
                if (trial.stage, trial.round) == ("race", turn):
                    costs[trial.point].append(self.cost(trial))
            left = [point for point in left if max(costs[point]) < math.inf]
            least = min((max(costs[point]) for point in left), default=math.inf)
            if turn + 1 >= DROPPED:
                left = [point for point in left if min(costs[point]) <= least]
            if len(left) < 2:
                break
        sound = [point for point in self.finalists if max(costs[point], default=0) < math.inf]
        return sorted(sound, key=lambda point: (point not in left, median(costs[point] or [0])))

    # ---- the ablation ----

    def _ablate(self, trials: Sequence[Trial], standing: Standing) -> Missing:
        """Drops what does nothing: all of it where that is as good, else one by one."""
        point, group = standing.winner, 0
        while point is not None:
            loses = yield from self._without(trials, standing, point, group)
            standing.without = {**loses, **standing.without}
            inert = {n: lose for n, lose in loses.items() if lose and not self._matters(lose)}
            shorter, group = _back(point, inert), group + 1
            if len(inert) > 1:
                yield from self._rounds(trials, "ablation", group, [point, shorter])
                runs = self._runs(trials, "ablation", group)
                if self._matters(self.compare(runs[point], runs[shorter])):
                    point = _back(point, [min(inert, key=lambda n: inert[n].delta)])
                    group += 1
                    continue
            standing.settings = shorter
            return

    def _without(
        self, trials: Sequence[Trial], standing: Standing, point: Point, group: int
    ) -> Generator[Step, None, dict[int, Compared | None]]:
        """A point against itself without each of its knobs."""
        shorter = {n: _back(point, [n]) for n, value in enumerate(point) if value}
        if list(shorter.values()) == [self.space.default]:
            proof, winner = standing.proof, standing.winner
            assert winner is not None
            return dict.fromkeys(shorter, self.compare(proof[winner], proof[self.space.default]))
        possible = [one for one in shorter.values() if self.space.allowed(one)]
        yield from self._rounds(trials, "ablation", group, [point, *possible])
        runs = self._runs(trials, "ablation", group)
        return {
            n: self.compare(runs[point], runs[one]) if one in possible else None
            for n, one in shorter.items()
        }

    def _matters(self, comparison: Compared) -> bool:
        """Kept in doubt: what seems to be worth having, and is not certain."""
        return comparison.ahead(self.options.worth)


def _back(point: Point, numbers: Collection[int]) -> Point:
    return tuple(0 if number in numbers else value for number, value in enumerate(point))
