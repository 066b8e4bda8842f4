"""A search from its first trial to its verdict, in NAME.tune; begun, or gone on with, by the same call."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from fathom.errors import FathomError, UsageError
from fathom.search import here
from fathom.search.execute import Executor
from fathom.search.ledger import Ledger, Trial
from fathom.search.options import Options
from fathom.search.plan import Next, Plan
from fathom.search.space import Space, of_data
from fathom.store import open_run

Say = Callable[[str], None]
#: A trial may take as many times what the program as it is took, and at least these seconds.
PATIENCE, LEAST = 5, 10.0


@dataclass(frozen=True)
class Result:
    """What came of it."""

    objective: str
    unit: str
    default: float  # median of fresh runs
    best: float
    settings: dict[str, Any]  # names and values; empty: the default is best
    text: str  # as a settings file
    apart: bool  # every fresh run of the winner was better than every one of the default
    trials: int
    seconds: float

    def sentence(self) -> str:
        """The verdict."""
        cost = f"{self.trials} trials, {self.seconds:.0f} s"
        if not self.settings:
            return f"no gain: the default is best, {self.objective} {self.default:.4g} {self.unit} ({cost})"
        pair = f"{self.objective} {self.best:.4g} {self.unit}, by default {self.default:.4g}"
        if not self.apart:
            return f"no certain gain: {pair}, but their runs overlap ({cost})"
        return f"{pair}, in fresh runs of both ({cost})"


@contextmanager
def _alone(folder: Path, say: Say) -> Iterator[int]:
    """Nothing else of this search runs, neither a command nor a trial that a killed one left; its descriptor."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting: {folder.name} is searched, or a trial of it still runs")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def search(folder: Path, options: Options, say: Say) -> Result:
    """Runs what is left of a search."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FathomError(f"tune: {folder}: {error.strerror}") from error
    with _alone(folder, say) as lock:
        one = Search(folder, options, lock, say)
        one.run()
        return one.result()


class Search:
    """One search."""

    def __init__(self, folder: Path, options: Options, lock: int, say: Say) -> None:
        self.folder, self.options, self.say = folder, options, say
        self.executor = Executor(folder, options, lock)
        self.ledger = Ledger(folder / "tune.db")
        self._same()
        self._look()
        self.space: Space = of_data(self.ledger.kept("space"))
        self.plan = Plan(options, self.executor.objective, self.space)

    def _same(self) -> None:
        """A search goes on as it began, or is another one."""
        data, kept = self.options.data(), self.ledger.kept("options")
        if kept is None:
            self.ledger.keep("format", 1)
            self.ledger.keep("options", data)
        elif kept != data:
            other = ", ".join(key for key in data if data[key] != kept.get(key))
            raise UsageError(
                f"tune: {self.folder} was begun otherwise ({other}); name another with -o"
            )

    def _look(self) -> None:
        """The program as it is, recorded closely: whether it runs, what it does, what it writes."""
        trials = self.ledger.trials()
        if not trials or trials[0].state == "running":
            self.say("the program as it is, recorded closely")
            number = self._number(Next("look", 0, ()), {}, trials)
            self.ledger.end(number, self.executor.trial(number, "", self.options.timeout, True))
        self._sound(self.ledger.trials())
        if self.ledger.kept("space") is None:
            run = open_run(self.executor.run_of(1))
            lines: list[str] = []
            if self.options.space is None:
                space, lines = here.space(run, self.options.program)
            else:
                space = of_data(self.options.space)
            for line in lines:
                self.say(line)
            seeds = (*space.seeds, *here.seeds(run, space))
            self.ledger.keep("space", replace(space, seeds=seeds).data())

    def run(self) -> None:
        """Every trial that is left."""
        self.say(f"{self.space.size:,} settings of {len(self.space.dimensions)} knobs")
        while True:
            trials = self.ledger.trials()
            self._sound(trials)
            cut = trials[-1] if trials[-1].state == "running" else None
            step = Next(cut.stage, cut.round, cut.point) if cut else self.plan.next(trials)
            if step is None:
                return
            if step.known:
                self._known(step, trials)
            else:
                self._try(step, trials)

    def _known(self, step: Next, trials: list[Trial]) -> None:
        """What was measured is not measured again: its result stands for this trial too."""
        cost = self.plan.measured(trials)[step.point]
        objective = self.executor.objective
        finite = abs(cost) < float("inf")
        score = objective.cost(cost) if finite else None  # its own inverse
        named = self.space.named(step.point)
        self.ledger.known(step.stage, step.round, step.point, named, score)

    def _number(self, step: Next, named: dict[str, Any], trials: list[Trial]) -> int:
        """Of a new trial, or of the one that was cut off."""
        if trials and trials[-1].state == "running":
            self.ledger.again(trials[-1].trial)
            return trials[-1].trial
        return self.ledger.begin(step.stage, step.round, step.point, named)

    def _try(self, step: Next, trials: list[Trial]) -> None:
        named = self.space.named(step.point)
        number = self._number(step, named, trials)
        settings = self.space.settings(step.point)
        outcome = self.executor.trial(number, settings, self._patience(trials), False)
        self.ledger.end(number, outcome)
        became = f"{outcome.state}: {outcome.why}"
        if outcome.state == "done":
            became = f"{outcome.score:.4g} {self.executor.objective.unit}"
        self.say(f"{step.stage} {step.round + 1}, trial {number}: {in_words(named)}: {became}")

    def _patience(self, trials: list[Trial]) -> float | None:
        """Seconds that a trial has: by default some times what the program as it is took."""
        if self.options.timeout is not None:
            return self.options.timeout
        known = [one.seconds for one in trials if one.stage in ("look", "default") and one.seconds]
        return max(LEAST, PATIENCE * max(known)) if known else None

    def _sound(self, trials: list[Trial]) -> None:
        """Without settings the program must run, and write the same each time."""
        for one in trials:
            if one.stage in ("look", "default") and one.state not in ("done", "running"):
                why = f"the program as it is: {one.state}: {one.why}"
                if one.state == "wrong":
                    why += (
                        "; its output differs from run to run: --verify h5diff, a command, or none"
                    )
                raise FathomError(f"tune: {why}; then remove {self.folder}")

    def result(self) -> Result:
        """The winner by fresh runs; what was dropped, failed once, or ran less often never wins."""
        trials = self.ledger.trials()
        costs = self.plan.costs(trials)
        rounds = len(costs[self.space.default])
        full = {p: c for p, c in costs.items() if len(c) == rounds and max(c) < float("inf")}
        if self.space.default not in full:
            raise FathomError(
                "tune: the program as it is failed in the end; fathom tune show says how"
            )
        best = min(full, key=lambda point: (median(full[point]), point))
        objective, default = self.executor.objective, full[self.space.default]
        named = {name: value for name, value in self.space.named(best).items() if value is not None}
        return Result(
            objective.name, objective.unit, objective.cost(median(default)),
            objective.cost(median(full[best])), named, self.space.settings(best),
            max(full[best]) < min(default), sum(one.state != "known" for one in trials),
            sum(one.seconds or 0.0 for one in trials),
        )  # fmt: skip


def in_words(named: dict[str, Any]) -> str:
    """Settings in a line."""
    words = [f"{name}={value}" for name, value in named.items() if value is not None]
    return " ".join(words) or "default"
