"""A search from its first trial to its verdict, in NAME.tune; begun, or gone on with, by the same call."""

import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError
from fathom.files import alone_in
from fathom.run.store import Run, open_run
from fathom.text import numbers
from fathom.tune.search import default_space, limits, remedy
from fathom.tune.search import options as asked
from fathom.tune.search.execute import Executor
from fathom.tune.search.finals import STAGES
from fathom.tune.search.ledger import FILE, FORMAT, Ledger, Step, Trial
from fathom.tune.search.limits import Limits
from fathom.tune.search.objective import objective_of
from fathom.tune.search.options import Options
from fathom.tune.search.plan import FINDING, SEED, STORE, Plan
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.space import Point, Space, of_data
from fathom.tune.search.verdict import Result, result
from fathom.tune.settings.prove import prove
from fathom.tune.store.look import look_up

Say = Callable[[str], None]
#: Who asks before the sampler does, and for which point.
First = list[tuple[str, Point]]
#: What may be raised while a search goes on.
LONGER = ("trials", "seconds")
#: A trial may take as many times what the program as it is took, and at least these seconds.
PATIENCE, LEAST = 5, 10.0


def search(folder: Path, options: Options, say: Say, store: Path | None = None) -> Result:
    """Runs what is left of a search. `store`: the pattern store that a new one asks; None: the user's."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FathomError(f"tune: {folder}: {error.strerror}") from error
    line = f"waiting: {folder.name} is searched, or a trial of it still runs"
    with alone_in(folder, lambda: say(line)) as lock:
        try:
            one = Search(folder, options, lock, say, store)
        except default_space.Refused:
            shutil.rmtree(folder)  # it has the look alone, and another program may come
            raise
        one.run()
        outcome = one.result()
        one.ledger.keep("result", outcome.data())
        return outcome


class Search:
    """One search."""

    def __init__(
        self, folder: Path, options: Options, lock: int, say: Say, store: Path | None
    ) -> None:
        self.folder, self.options, self.say, self.store = folder, options, say, store
        self.executor = Executor(folder, options, lock)
        self.ledger = Ledger(folder / FILE)
        self._same()
        self._look()
        plan = planned(self.ledger)
        assert plan is not None  # the program was looked at
        self.plan = plan

    def _same(self) -> None:
        """A search goes on as it began, or for longer, or is another one."""
        data, stored = self.options.data(), self.ledger.value("options")
        if stored is None:
            self.ledger.keep("format", FORMAT)
        elif stored != data:
            self._longer(data, stored)
        self.ledger.keep("options", data)

    def _longer(self, data: dict[str, Any], stored: dict[str, Any]) -> None:
        """With more trials or seconds it goes on; what was judged is judged anew then, by other fresh runs."""
        other = [key for key in data if data[key] != stored.get(key)]
        less = [
            key for key in other if key not in LONGER or _limit(data[key]) < _limit(stored[key])
        ]
        if less:
            words = ", ".join(less)
            line = f"was begun otherwise ({words}); more --trials or --seconds are possible"
            raise UsageError(f"tune: {self.folder} {line}; or name another with -o")
        self.ledger.pass_over(STAGES)

    def _look(self) -> None:
        """The program as it is, recorded closely: whether it runs, what it does, what it writes."""
        trials = self.ledger.trials()
        if not trials or trials[0].state == "running":
            self.say("the program as it is, recorded closely")
            number = self._number(Step("look", 0, ()), {}, trials)
            self.ledger.end(number, self.executor.trial(number, "", self.options.timeout, True))
        self._sound(self.ledger.trials())
        if self.ledger.value("space") is None:
            run = open_run(self.executor.run_of(1), quiet=True)
            bounds = limits.of_run(run)
            by_finding = self.options.finding is not None
            space, first = self._remedy(run) if by_finding else self._searched(run, bounds)
            self.ledger.keep("first", first)
            self.ledger.keep("limits", asdict(bounds))
            self.ledger.keep("space", space.data())

    def _searched(self, run: Run, bounds: Limits) -> tuple[Space, First]:
        """What is searched, and where that begins."""
        lines: list[str] = []
        if self.options.space is not None:
            space = of_data(self.options.space)
        else:
            if self.options.auto:
                self._prove(run, default_space.free())
            space, lines = default_space.space(run, self.options.program, bounds)
        self._say_all(lines)
        given = [(SEED, point) for point in space.seeds]
        within = limits.limited(space, bounds)
        return space, [*given, *self._known_of(run, within), *default_space.first(run, within)]

    def _remedy(self, run: Run) -> tuple[Space, First]:
        """What a finding of the run would have set, and nothing else."""
        assert self.options.finding is not None
        stacks = default_space.stacks(run, self.options.program)
        prediction, given = remedy.of(run, self.options.finding, stacks)
        self._prove(run, given)
        space, lines = remedy.space(run, self.options, prediction.finding, given)
        self._say_all(f"left out: {line}" for line in lines)
        point = (1,) * len(space.dimensions)
        self.say(f"{prediction.finding}: {in_words(space.named(point))}")
        self.ledger.keep("prediction", asdict(prediction))
        return space, [(FINDING, point)]

    def _say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)

    def _known_of(self, run: Run, space: Space) -> First:
        """What the pattern store has of programs that access their data alike: a search goes on without it, too."""
        try:
            advice = look_up(run, self.store, accept=space.accept)
        except FathomError as error:
            self.say(f"the pattern store is left out: {error}")
            return []
        self._say_all(f"pattern store: {line}" for line in advice.lines())
        return [(STORE, point) for point in advice.seeds(space)]

    def _prove(self, run: Run, keys: Collection[str]) -> None:
        """Once on a machine: which of these knobs do anything here."""
        pairs = default_space.unproved(run, self.options.program, keys)
        if pairs:
            count = numbers.things(len(pairs), "knob")
            self.say(f"proving {count}: what does anything here? Kept for other searches")
        for knob, verdict in prove(pairs):
            self.say(f"{knob.key}: {verdict.verdict}")

    def run(self) -> None:
        """Every trial that is left."""
        space = self.plan.space
        knobs = numbers.things(len(space.dimensions), "knob")
        self.say(f"{numbers.things(space.size, 'setting')} of {knobs}")
        announced = False
        while True:
            trials = self.ledger.trials()
            self._sound(trials)
            if not announced and any(
                one.stage == "default" and one.state == "done" for one in trials
            ):
                announced = True
                self._say_all(self.plan.in_words(trials))
            cut = trials[-1] if trials[-1].state == "running" else None
            step = (
                Step(cut.stage, cut.round, cut.point, cut.asked) if cut else self.plan.next(trials)
            )
            if step is None:
                return
            if step.known:
                self._known(step, trials)
            else:
                self._try(step, trials)

    def _known(self, step: Step, trials: list[Trial]) -> None:
        """What was measured is not measured again: its result stands for this trial too."""
        cost = self.plan.measured(trials)[step.point]
        objective = self.executor.objective
        finite = abs(cost) < float("inf")
        score = objective.cost(cost) if finite else None  # its own inverse
        named = self.plan.space.named(step.point)
        self.ledger.known(step, named, score)

    def _number(self, step: Step, named: dict[str, Any], trials: list[Trial]) -> int:
        """Of a new trial, or of the one that was cut off."""
        if trials and trials[-1].state == "running":
            self.ledger.again(trials[-1].trial)
            return trials[-1].trial
        return self.ledger.begin(step, named)

    def _try(self, step: Step, trials: list[Trial]) -> None:
        named = self.plan.space.named(step.point)
        number = self._number(step, named, trials)
        settings = self.plan.space.settings(step.point)
        outcome = self.executor.trial(number, settings, self._patience(trials), False)
        self.ledger.end(number, outcome)
        became = f"{outcome.state}: {outcome.why}"
        if outcome.state == "done":
            became = f"{outcome.score:.4g} {self.executor.objective.unit}".rstrip()
        self.say(f"{step.stage} {step.round + 1}, trial {number}: {in_words(named)}: {became}")

    def _patience(self, trials: list[Trial]) -> float | None:
        """Seconds that a trial has: by default some times what the program as it is took."""
        if self.options.timeout is not None:
            return self.options.timeout
        known = [
            trial.seconds
            for trial in trials
            if trial.stage in ("look", "default") and trial.seconds
        ]
        return max(LEAST, PATIENCE * max(known)) if known else None

    def _sound(self, trials: list[Trial]) -> None:
        """Without settings the program must run, and write the same each time."""
        for trial in trials:
            if trial.stage in ("look", "default") and trial.state not in ("done", "running"):
                why = f"the program as it is: {trial.state}: {trial.why}"
                if trial.state == "wrong":
                    why += (
                        "; its output differs from run to run: --verify h5diff, a command, or none"
                    )
                raise FathomError(f"tune: {why}; then remove {self.folder}")

    def result(self) -> Result:
        """What the fresh runs say."""
        outcome = result(self.plan, self.ledger.trials())
        assert outcome is not None  # no run is missing
        return outcome


def planned(ledger: Ledger) -> Plan | None:
    """The plan of a search; None: its program was not looked at yet."""
    space = ledger.value("space")
    if space is None:
        return None
    options = asked.of_data(ledger.value("options"))
    first = [(by, tuple(point)) for by, point in ledger.value("first")]
    known = limits.limited(of_data(space), limits.of_data(ledger.value("limits")))
    stored = ledger.value("prediction")
    prediction = Prediction(**stored) if stored else None
    return Plan(
        options, objective_of(options.objective, options.maximize), known, first, prediction
    )


def _limit(given: float | None) -> float:
    return float("inf") if given is None else given


def in_words(named: dict[str, Any]) -> str:
    """Settings in a line."""
    words = [f"{name}={value}" for name, value in named.items() if value is not None]
    return " ".join(words) or "default"
