"""Trials of searches that were made, as rows to learn from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.run.store import Run
from fathom.tune.model.factors import Row, Scale, named
from fathom.tune.search import limits
from fathom.tune.search.ledger import Trial, open_ledger
from fathom.tune.search.objective import Objective, measure, objective_of
from fathom.tune.search.space import Space, of_data

#: The program as it is, recorded closely, is slower than other trials.
LOOK = "look"


@dataclass(frozen=True)
class History:
    """Of one search."""

    name: str
    space: Space
    limits: limits.Limits
    objective: Objective
    group: str | None  # of files that count
    rows: tuple[Row, ...]

    @property
    def scale(self) -> Scale:
        """Of its runs."""
        return self.rows[0].scale


def read(folder: Path) -> History:
    """Of NAME.tune."""
    ledger = open_ledger(folder)
    options, space = ledger.value("options"), ledger.value("space")
    trials = [trial for trial in ledger.trials() if trial.stage != LOOK and trial.tries]
    ended = [trial for trial in trials if trial.state != "running"]
    if space is None or not ended:
        raise FathomError(
            f"tune: {ledger.path}: no trial has ended, so there is nothing to learn from"
        )
    until = limits.of_data(ledger.value("limits"))
    objective = objective_of(options["objective"], options["maximize"])
    size = next((trial.measures for trial in ledger.trials() if trial.measures), None)
    scale = Scale(until.ranks, _bytes(size))
    application = application_of(options["program"])
    knob_space = of_data(space)
    rows = tuple(
        Row(named(knob_space, t.point), _cost(t, objective), scale, application) for t in ended
    )
    return History(folder.stem, knob_space, until, objective, options["group"], rows)


def _cost(trial: Trial, objective: Objective) -> float:
    if trial.state != "done" or trial.score is None:
        return float("inf")
    return objective.cost(trial.score)


def _bytes(measures: object) -> float | None:
    """Those written; where nothing is, those read."""
    if not isinstance(measures, dict):
        return None
    return measures["bytes_written"] or measures["bytes_read"] or None


def application_of(program: Sequence[str]) -> str:
    """Programs that differ in numbers and directories only are one, at several sizes."""
    return " ".join(re.sub(r"\d+", "#", Path(word).name) for word in program)


def alike(histories: Sequence[History]) -> None:
    """Costs of one objective only can be learnt together; raises UsageError."""
    first = histories[0]
    for history in histories[1:]:
        if (
            history.objective.name != first.objective.name
            or history.objective.more != first.objective.more
        ):
            pair = f"{first.name}: {first.objective.name}, {history.name}: {history.objective.name}"
            raise UsageError(f"tune: searches of one objective make a model; {pair}")


def scale_of(run: Run, group: str | None) -> Scale:
    """Of a recorded run that is to be predicted."""
    return Scale(limits.of_run(run).ranks, _bytes(measure(run, group)))
