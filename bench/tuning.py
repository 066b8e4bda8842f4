"""Samplers of `fathom tune`, compared on grids that were recorded once (bench/grids/, bench/grid.py): how near each
comes to the best of the grid for the seconds that so many trials of random search cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

from fathom.errors import UsageError
from fathom.search.options import Options
from fathom.search.samplers import SAMPLERS
from fathom.search.space import Point
from fathom.search.told import Sampler, Told
from grid import KINDS, SECONDS, Kernel, Recorded
from tools import BenchError, Row

#: Budgets, in trials of random search; seeds of a comparison.
TRIALS, SEEDS, QUICK = (5, 10, 20), 10, 3
NEAR, GAIN, GAINS = 1.1, 5.0, 2
RANDOM = "random"
#: Not a way to search.
LEFT_OUT = ("grid",)


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

    def first(self, sampler: str) -> list[Point]:
        """As `fathom tune` begins: the program as it is, rules, findings. Random search has but the first."""
        rules = [] if sampler == RANDOM else Recorded(self.kernel).first()
        return list(dict.fromkeys([self.kernel.space.default, *(point for _, point in rules)]))

    def search(self, sampler: str, seed: int) -> list[float]:
        """The best that it has met at the end of each budget, over the best of the grid."""
        trial = fmean(self.costs.values())
        first, ask = self.first(sampler), make(sampler, self.kernel, seed).ask
        told: list[Told] = []
        met: dict[Point, float] = {}
        spent, found = 0.0, [self.default / self.best] * len(TRIALS)
        while spent < TRIALS[-1] * trial and len(met) < len(self.costs):
            point = first[len(told)] if len(told) < len(first) else ask(told)
            if point is None:
                break
            told.append(Told(point, self.costs[point]))
            if point not in met:  # what was measured is not measured again
                met[point] = self.costs[point]
                spent += met[point]
            near = min(met.values()) / self.best
            found = [near if spent <= most * trial else one
                     for most, one in zip(TRIALS, found, strict=True)]  # fmt: skip
        return found

    def near(self, sampler: str, seeds: int) -> list[float]:
        """The same, median of searches."""
        each = [self.search(sampler, seed) for seed in range(seeds)]
        return [median(one[budget] for one in each) for budget in range(len(TRIALS))]


def make(sampler: str, kernel: Kernel, seed: int) -> Sampler:
    """As `fathom tune --trials N --seed N` has it."""
    options = Options(
        program=(kernel.name,), directory="", objective="runtime", maximize=False, group=None,
        space=None, sampler=sampler, compare=(), seed=seed, trials=TRIALS[-1], seconds=None,
        repeats=1, finalists=1, worth=0, screen=False, verify="none", timeout=None, scratch="",
    )  # fmt: skip
    return SAMPLERS[sampler](kernel.space, options)


def samplers() -> list[str]:
    """Those that can be had here."""
    found = []
    for name in SAMPLERS:
        try:
            make(name, KINDS["s3d"], 0)
        except UsageError:
            continue
        if name not in LEFT_OUT:
            found.append(name)
    return found


def gains(grids: Sequence[Grid]) -> list[Row]:
    """What there is to be had."""
    rows = [
        Row(f"{one.kernel.name}: best of {len(one.costs)} settings, against none",
            one.best, "s", one.default, one.default / one.best)
        for one in grids
    ]  # fmt: skip
    many = sum(one.default / one.best >= GAIN for one in grids)
    what = f"kernels that the best makes {GAIN:g} times as fast"
    return [*rows, Row(what, many, "", target=f">= {GAINS}", met=many >= GAINS)]


def rows(quick: bool) -> list[Row]:
    """What there is, each sampler by kernel, and over all of them."""
    grids = [Grid(kernel) for kernel in KINDS.values()]
    names, seeds = samplers(), QUICK if quick else SEEDS
    with ProcessPoolExecutor() as pool:
        asked = {name: [pool.submit(one.near, name, seeds) for one in grids] for name in names}
        near = {name: [one.result() for one in found] for name, found in asked.items()}
    every = [name for name in near if name != RANDOM]
    result = gains(grids)
    for name in every:
        for one, ours, chance in zip(grids, near[name], near[RANDOM], strict=True):
            what = f"{one.kernel.name}, {name}: times the best, for {TRIALS[-1]} random trials; by them"
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
    return result
