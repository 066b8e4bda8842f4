"""Samplers of `fathom tune`, compared on grids that were recorded once (bench/grids/, bench/grid.py): how near each
comes to the best of the grid for the seconds that so many trials of random search cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median
from typing import Any

from fathom.errors import UsageError
from fathom.tune.search.ledger import Step, Trial
from fathom.tune.search.objective import objective_of
from fathom.tune.search.options import Options
from fathom.tune.search.plan import EXPERT, Plan
from fathom.tune.search.samplers import SAMPLERS
from fathom.tune.search.space import Point
from fathom.tune.search.verdict import result
from grid import KINDS, SECONDS, Kernel, Recorded
from tools import BenchError, Row

#: Budgets, in trials of random search; seeds of a comparison.
TRIALS, SEEDS, QUICK = (5, 10, 20), 10, 3
NEAR, GAIN, GAINS = 1.1, 5.0, 2
RANDOM = "random"
#: Not a way to search.
LEFT_OUT = ("grid",)
#: Stages of a trial before the fresh runs.
SEARCHING = ("look", "default", "search")
#: A sampler by itself; and what `fathom tune auto` has besides.
PLAIN = Options(
    program=("",), directory="", objective="runtime", maximize=False, group=None, space=None, sampler=RANDOM,
    compare=(), seed=0, trials=1, seconds=None, repeats=1, finalists=3, worth=0.03, screen=False, verify="none",
    timeout=None, scratch="",
)  # fmt: skip
AUTO: dict[str, Any] = {"auto": True, "sampler": "tpe", "trials": 1000, "repeats": 5}
#: Its budgets: the look at the program and its default cost as much as three to six trials at random.
AUTO_TRIALS = (10, 20)


@dataclass(frozen=True)
class Grid:
    """A kernel's recorded points."""

    kernel: Kernel

    @cached_property
    def costs(self) -> Mapping[Point, float]:
        """Median seconds of each; a run that failed or hung has cost what it may take."""
        recorded = Recorded(self.kernel)
        if missing := recorded.missing(1):
            line = f"{len(missing)} settings are missing; python bench/grid.py {self.kernel.name}"
            raise BenchError(f"{recorded.path}: {line}")
        return {point: min(median(runs), SECONDS) for point, runs in recorded.runs().items()}

    @property
    def default(self) -> float:
        """Seconds of the program as it is."""
        return self.costs[self.kernel.space.default]

    @property
    def best(self) -> float:
        """Seconds of the best."""
        return min(self.costs.values())

    @property
    def trial_seconds(self) -> float:
        """What a trial at random costs."""
        return fmean(self.costs.values())

    @property
    def rule(self) -> float:
        """Seconds by an expert's rule."""
        ((_, point),) = (one for one in Recorded(self.kernel).first() if one[0] == EXPERT)
        return self.costs[point]

    def plan(self, options: Options) -> Plan:
        """As `fathom tune` has it: the program as it is, rules, findings, the sampler; random search without rules."""
        rules = [] if options.sampler == RANDOM else Recorded(self.kernel).first()
        return Plan(options, objective_of(options.objective, False), self.kernel.space, rules)

    def trial(self, step: Step, number: int) -> Trial:
        """Its run, looked up: what was measured is not measured again."""
        cost = self.costs[step.point]
        state, seconds = ("known", 0.0) if step.known else ("done", cost)
        return Trial(
            number, step.stage, step.asked, step.round, step.point, {}, state, 1, 0.0, seconds,
            cost, {"runtime": cost}, None,
        )  # fmt: skip

    def ratios_after(self, options: Options, budgets: Sequence[float]) -> list[float]:
        """The best that a search has met after so many seconds, over the best of the grid."""
        plan, trials, best, spent = self.plan(options), list[Trial](), self.default, 0.0
        ratios = [best / self.best] * len(budgets)
        while spent < max(budgets) and (step := plan.next(trials)) and step.stage in SEARCHING:
            trials.append(self.trial(step, len(trials) + 1))
            best, spent = min(best, self.costs[step.point]), spent + (trials[-1].seconds or 0.0)
            ratios = [best / self.best if spent <= most else ratio
                     for most, ratio in zip(budgets, ratios, strict=True)]  # fmt: skip
        return ratios

    def search(self, sampler: str, seed: int) -> list[float]:
        """A sampler's, at the end of each budget."""
        options = replace(PLAIN, sampler=sampler, seed=seed, trials=len(self.costs))
        return self.ratios_after(options, [most * self.trial_seconds for most in TRIALS])

    def auto(self, seed: int, seconds: float) -> tuple[float, float]:
        """`fathom tune auto` to its verdict: the settings that it leaves, over the best of the grid; the best of random
        search for the seconds that this took, the look too. Fresh runs, which both need, are left out.
        """
        options = replace(PLAIN, **AUTO, seed=seed, seconds=seconds)
        plan = self.plan(options)
        trials = [self.trial(Step("look", 0, self.kernel.space.default), 1)]
        while step := plan.next(trials):
            trials.append(self.trial(step, len(trials) + 1))
        outcome = result(plan, trials)
        assert outcome is not None  # no run is missing
        left = self.costs[self.kernel.space.point(outcome.settings)] / self.best
        _, cost = plan.price(trials, options.sampler)
        (by_chance,) = self.ratios_after(replace(PLAIN, seed=seed, trials=len(self.costs)), [cost])
        return left, by_chance

    def near(self, sampler: str, seeds: int) -> list[float]:
        """The same, median of searches."""
        each = [self.search(sampler, seed) for seed in range(seeds)]
        return [median(one[budget] for one in each) for budget in range(len(TRIALS))]

    def autos(self, trials: int, seeds: int) -> tuple[float, float]:
        """`auto --seconds`, of what so many trials at random cost, median of searches; and random search beside it."""
        seconds = trials * self.trial_seconds
        ours, chance = zip(*(self.auto(seed, seconds) for seed in range(seeds)), strict=True)
        return median(ours), median(chance)


def samplers() -> list[str]:
    """Those that can be had here."""
    available = []
    for name in SAMPLERS:
        try:
            SAMPLERS[name](KINDS["s3d"].space, PLAIN)
        except UsageError:
            continue
        if name not in LEFT_OUT:
            available.append(name)
    return available


def gains(grids: Sequence[Grid]) -> list[Row]:
    """What there is to be had."""
    rows = [
        Row(f"{grid.kernel.name}: best of {len(grid.costs)} settings, against none",
            grid.best, "s", grid.default, grid.default / grid.best)
        for grid in grids
    ]  # fmt: skip
    many = sum(grid.default / grid.best >= GAIN for grid in grids)
    what = f"kernels that the best makes {GAIN:g} times as fast"
    return [*rows, Row(what, many, "", target=f">= {GAINS}", met=many >= GAINS)]


def untried(grids: Sequence[Grid]) -> list[Row]:
    """What costs no trial: an expert's rule, beside the program as it is; and what trials cost."""
    near = [(grid.rule / grid.best, grid.default / grid.best) for grid in grids]
    result = [
        Row(f"{grid.kernel.name}, expert's rule: times the best, for no trial; as it is",
            rule, "", default, rule / default)
        for grid, (rule, default) in zip(grids, near, strict=True)
    ]  # fmt: skip
    rule, default = (fmean(column) for column in zip(*near, strict=True))
    what = "expert's rule: times the best, mean of kernels, for no trial; as it is"
    result.append(Row(what, rule, "", default, rule / default))
    cost = fmean(grid.trial_seconds for grid in grids)
    each = (Row(f"{most} random trials, mean of kernels", most * cost, "s") for most in TRIALS)
    return [*result, *each]


def autos(grids: Sequence[Grid], seeds: int, pool: ProcessPoolExecutor) -> list[Row]:
    """`fathom tune auto` and random search at equal cost, by kernel, and over all of them."""
    result = []
    for trials in AUTO_TRIALS:
        asked = [pool.submit(grid.autos, trials, seeds) for grid in grids]
        near = [one.result() for one in asked]
        budget = f"for {trials} random trials; random search"
        for grid, (ours, chance) in zip(grids, near, strict=True):
            what = f"{grid.kernel.name}, auto: times the best, {budget}"
            result.append(Row(what, ours, "", chance, ours / chance))
        ours, chance = (fmean(column) for column in zip(*near, strict=True))
        what = f"auto: times the best, mean of kernels, {budget}"
        row = Row(what, ours, "", chance, ours / chance, "ahead", ours < chance)
        if trials == AUTO_TRIALS[-1]:
            row.target = f"each <= {NEAR}, and ahead"
            row.met = row.met and max(one for one, _ in near) <= NEAR
        result.append(row)
    return result


def rows(quick: bool) -> list[Row]:
    """What there is, each sampler by kernel, and over all of them."""
    grids = [Grid(kernel) for kernel in KINDS.values()]
    names, seeds = samplers(), QUICK if quick else SEEDS
    with ProcessPoolExecutor() as pool:
        asked = {name: [pool.submit(grid.near, name, seeds) for grid in grids] for name in names}
        near = {name: [future.result() for future in futures] for name, futures in asked.items()}
        of_auto = autos(grids, seeds, pool)
    every = [name for name in near if name != RANDOM]
    result = gains(grids) + untried(grids)
    for name in every:
        for grid, ours, chance in zip(grids, near[name], near[RANDOM], strict=True):
            what = f"{grid.kernel.name}, {name}: times the best, for {TRIALS[-1]} random trials; by them"
            result.append(Row(what, ours[-1], "", chance[-1], ours[-1] / chance[-1]))
    over = {name: [fmean(column) for column in zip(*near[name], strict=True)] for name in near}
    best = min(every, key=lambda name: fmean(over[name]))
    for name in every:
        for trials, own, by_them in zip(TRIALS, over[name], over[RANDOM], strict=True):
            what = f"{name}: times the best, mean of kernels, for {trials} random trials; by them"
            row = Row(what, own, "", by_them, own / by_them)
            if name == best:
                last = trials == TRIALS[-1]
                row.target = f"<= {NEAR} and ahead" if last else "ahead"
                row.met = own < by_them and (not last or own <= NEAR)
            result.append(row)
    return result + of_auto
