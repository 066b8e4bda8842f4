"""Which trial comes next. It follows from the rows of the ledger alone, so a search may be killed and goes on.

One look at the program as it is, a run to compare with (for screening its noise, by repeats), the search (one
sampler's, then those it is compared with), then fresh runs (finals.py), among them more of the program as it is.
"""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from fathom.tune.search.finals import ROUNDS, Finals
from fathom.tune.search.ledger import Step, Trial
from fathom.tune.search.objective import Objective
from fathom.tune.search.options import AUTO, Options
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.sampler import Observation, Sampler
from fathom.tune.search.samplers import SAMPLERS
from fathom.tune.search.space import Point, Space

#: Proposals in a row that bring nothing new before the search ends.
IDLE = 100
#: Who asks for points before the sampler does: by what name they stand in the ledger.
DEFAULT, SEED, STORE, EXPERT, FINDING, SWITCH, SCREEN = (
    "default", "seed", "store", "expert", "finding", "switch", "screen",
)  # fmt: skip


class Plan:
    """Of one search. `first`: who asks, and for which point, before the sampler does. `prediction`: of the finding
    whose remedy is tried."""

    def __init__(
        self, options: Options, objective: Objective, space: Space, first: Sequence[tuple[str, Point]],
        prediction: Prediction | None = None,
    ) -> None:  # fmt: skip
        self.options, self.objective, self.space = options, objective, space
        self.prediction = prediction
        self.samplers: dict[tuple[str, frozenset[int]], Sampler] = {}  # by what screening left out
        proposals = [
            (DEFAULT, space.default),
            *first,
            *((SCREEN, corner) for corner in self._corners()),
        ]
        self.first = {point: by for by, point in reversed(proposals)}  # who asked first
        self.first = {point: self.first[point] for _, point in proposals}  # in that order
        self.expert = next((point for by, point in first if by == EXPERT), None)

    def cost(self, trial: Trial) -> float:
        """Lower is better; what failed, hung or was wrong is infinitely bad."""
        if trial.state not in ("done", "known") or trial.score is None:
            return math.inf
        return self.objective.cost(trial.score)

    def next(self, trials: Sequence[Trial]) -> Step | None:
        """The next trial; None: the search is done."""
        defaults = [trial for trial in trials if trial.stage == "default"]
        if len(defaults) < (self.options.repeats if self.options.screen else 1):
            return Step("default", len(defaults), self.space.default)
        for sampler in (self.options.sampler, *self.options.compare):
            if step := self._search(trials, sampler):
                return step
        return self.finals(trials).next(trials)

    def measured(self, trials: Sequence[Trial]) -> dict[Point, float]:
        """Median cost of each point that was run before the finals."""
        return {
            point: median(self.cost(run) for run in runs)
            for point, runs in self._runs(trials).items()
        }

    def _runs(self, trials: Sequence[Trial]) -> dict[Point, list[Trial]]:
        """Those of each point before the finals."""
        runs: dict[Point, list[Trial]] = {}
        for trial in trials:
            if trial.stage in ("default", "search") and trial.state not in ("known", "running"):
                runs.setdefault(trial.point, []).append(trial)
        return runs

    def asked(self, trials: Sequence[Trial], sampler: str) -> list[Trial]:
        """What a sampler's search consists of; seeds and rules belong to the first one's."""
        searched = [trial for trial in trials if trial.stage == "search"]
        if sampler in self.options.compare:
            return [one for one in searched if one.asked == sampler]
        return [one for one in searched if one.asked not in self.options.compare]

    def price(self, trials: Sequence[Trial], sampler: str) -> tuple[int, float]:
        """Trials and seconds of a sampler's search alone: what another one had measured costs it the same."""
        runs = self._runs(trials)
        points = {one.point for one in self.asked(trials, sampler)} - {self.space.default}
        seconds = sum(
            median(run.seconds or 0.0 for run in runs[one]) for one in points & runs.keys()
        )
        before = sum(trial.seconds or 0.0 for trial in trials if trial.stage in ("look", "default"))
        return len(points), seconds + before

    def fresh(self) -> tuple[int, int]:
        """Most runs of the race, and runs of the proof, without those that set knobs back."""
        finalists = self.options.finalists
        rule = self.expert is not None and self.expert != self.space.default
        contenders = 2 + rule + 1 + len(self.options.compare)  # default, winner, the samplers' best
        return ROUNDS * finalists if finalists > 1 else 0, contenders * self.options.repeats

    def proving(self, trials: Sequence[Trial]) -> float:
        """Seconds of these runs, at most, if they last as the program as it is."""
        return sum(self.fresh()) * self._usual(trials)

    def _usual(self, trials: Sequence[Trial]) -> float:
        return median(trial.seconds or 0.0 for trial in trials if trial.stage == "default")

    def searching(self, trials: Sequence[Trial]) -> float:
        """Seconds of a sampler's search: of all seconds those that the proof leaves, but half of them at least."""
        seconds = self.options.seconds
        if seconds is None:
            return AUTO * self._usual(trials) if self.options.auto else math.inf
        left = max(seconds - self.proving(trials), seconds / 2)
        return left / (1 + len(self.options.compare))

    def in_words(self, trials: Sequence[Trial]) -> list[str]:
        """What is going to be tried, and how long that takes."""
        asked = Counter(by for by in self.first.values() if by != DEFAULT)
        race, proof = self.fresh()
        proving, search = self.proving(trials), self.searching(trials)
        first = ", ".join(f"{by} {count}" for by, count in asked.items())
        limit = "" if math.isinf(search) else f" or {search:.0f} s"
        lines = [
            f"plan: first {first or 'the default alone'}; then {self.options.sampler}, to"
            f" {self.options.trials} trials{limit}",
            f"plan: proof by {race} runs in a race, {proof} against the default: about {proving:.0f} s;"
            " then each knob of a winner that gains is set back",
        ]
        seconds = self.options.seconds
        if seconds is not None and search * (1 + len(self.options.compare)) + proving > seconds:
            lines.append(
                f"plan: of {seconds:g} s half is for the search, so with the proof it takes longer;"
                " fewer --repeats or --finalists shorten it"
            )
        return lines

    def _search(self, trials: Sequence[Trial], sampler: str) -> Step | None:
        rows = self.asked(trials, sampler)
        run, spent = self.price(trials, sampler)
        known = {row.point for row in rows} | {self.space.default}
        over = spent >= self.searching(trials)
        idle = len(rows) >= IDLE and {row.point for row in rows[-IDLE:]} <= {
            row.point for row in rows[:-IDLE]
        }
        if over or idle or len(known) >= self.space.size or run >= self.options.trials:
            return None
        first = () if sampler in self.options.compare else tuple(self.first.items())
        if len(rows) < len(first):
            point, by = first[len(rows)]
        else:
            proposal = self._ask(trials, rows, sampler)
            if proposal is None:
                return None
            point, by = proposal, sampler
        number = sum(trial.stage == "search" for trial in trials)
        return Step("search", number, point, by, point in self.measured(trials))

    def _ask(self, trials: Sequence[Trial], rows: Sequence[Trial], sampler: str) -> Point | None:
        """The sampler's word, in what screening left of the space."""
        inert = frozenset() if sampler in self.options.compare else self.inert(trials)
        observations = [Observation(_without(row.point, inert), self.cost(row)) for row in rows]
        key = (sampler, inert)
        if key not in self.samplers:
            self.samplers[key] = SAMPLERS[sampler](self.space.without(inert), self.options)
        return self.samplers[key].ask(observations)

    def _corners(self) -> list[Point]:
        """For screening: each knob alone, at its first and its last value."""
        if not self.options.screen:
            return []
        return [
            point
            for number, dimension in enumerate(self.space.dimensions)
            for value in sorted({1, len(dimension.values) - 1})
            if self.space.allowed(point := self.space.completed(self.space.alone(number, value)))
        ]

    def inert(self, trials: Sequence[Trial]) -> frozenset[int]:
        """Knobs that alone change nothing beyond the noise of the default."""
        if not self.options.screen:
            return frozenset()
        noise = [self.cost(trial) for trial in trials if trial.stage == "default"]
        low, high = min(noise), max(noise)
        costs = self.measured(trials)
        changed = {
            number
            for point in self._corners()
            for number, value in enumerate(point)
            if value and not low <= costs.get(point, math.inf) <= high
        }
        return frozenset(range(len(self.space.dimensions))) - changed

    def bests(self, trials: Sequence[Trial]) -> dict[str, Point]:
        """The best point that each sampler itself asked for."""
        costs = self.measured(trials)
        best: dict[str, Point] = {}
        for trial in trials:
            if trial.stage == "search" and trial.asked in (
                self.options.sampler,
                *self.options.compare,
            ):
                cost = costs.get(trial.point, math.inf)
                if math.isfinite(cost) and cost < costs.get(best.get(trial.asked, ()), math.inf):
                    best[trial.asked] = trial.point
        return {by: point for by, point in best.items() if point != self.space.default}

    def finals(self, trials: Sequence[Trial]) -> Finals:
        """Fresh runs of the best; those that samplers are compared by take part in the proof only."""
        costs = self.measured(trials)
        searched = {one.point for one in self.asked(trials, self.options.sampler)}
        sound = searched & {one for one, cost in costs.items() if math.isfinite(cost)}
        good = sorted(sound - {self.space.default}, key=lambda point: (costs[point], point))
        contenders = {DEFAULT: self.space.default, **self.bests(trials)}
        if self.expert is not None and self.expert != self.space.default:
            contenders[EXPERT] = self.expert
        return Finals(
            self.options, self.cost, self.space, good[: self.options.finalists], contenders
        )


def _without(point: Point, inert: frozenset[int]) -> Point:
    return tuple(0 if number in inert else value for number, value in enumerate(point))
