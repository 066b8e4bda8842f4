"""`searches`, `search`, `model`: what `fathom tune` tried, what fresh runs prove, what all of them teach."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathom.errors import UsageError
from fathom.tune.model import history
from fathom.tune.model.model import fit
from fathom.tune.model.show import NOTE, title
from fathom.tune.search.compared import Compared
from fathom.tune.search.ledger import Trial, open_ledger
from fathom.tune.search.search import in_words, planned
from fathom.tune.search.space import Space
from fathom.tune.search.verdict import Result, result
from fathom.webapi.answers import answer, text
from fathom.webapi.answers.session import Runs
from fathom.webapi.answers.table import Table

#: Of a trial, before its knobs.
COLUMNS = [
    ("trial", "count"), ("stage", "text"), ("state", "text"), ("score", "count"), ("cost", "s"), ("why", "text"),
]  # fmt: skip
COMPARED = [
    ("times as good", "count"), ("at least", "count"), ("at most", "count"), ("delta", "count"), ("p", "count"),
]  # fmt: skip
METHODS = [
    ("method", "text"), ("trials", "count"), ("tuning", "s"), ("fresh runs", "count"), ("failed", "count"),
    ("score", "count"), ("run", "s"), *COMPARED, ("settings", "text"),
]  # fmt: skip
KNOBS = [("setting", "text"), ("value", "text"), ("kept", "text"), *COMPARED]
UNSET = "not set"


@answer("searches", of_all=True)
def searches(runs: Runs) -> list[dict[str, Any]]:
    """Those that are open."""
    return [{"name": name, "path": str(folder)} for name, folder in runs.searches.items()]


@answer("search", of_all=True, required=("name",), name=text)
def search(runs: Runs, name: str) -> dict[str, Any]:
    """Its knobs with their values, all trials up to now, and the proof once there is one."""
    ledger = open_ledger(_folder(runs, name))
    plan, trials = planned(ledger), ledger.trials()
    if plan is None:
        raise UsageError(f"{name}: the program is looked at: there are no trials yet")
    outcome = result(plan, trials)
    return {
        "name": name,
        "command": shlex.join(plan.options.program),
        "objective": plan.objective.name,
        "unit": plan.objective.unit,
        "more": plan.objective.more,
        "knobs": [
            {"name": one.name, "knob": one.knob, "values": [_word(value) for value in one.values]}
            for one in plan.space.dimensions
        ],
        "trials": _trials(plan.space, trials),
        "running": any(one.state == "running" for one in trials),
        "verdict": outcome.sentence if outcome else None,
        "methods": _methods(outcome) if outcome else None,
        "ablation": _ablation(outcome) if outcome and outcome.knobs else None,
    }


@answer("model", of_all=True, required=("name",), name=text)
def model(runs: Runs, name: str) -> dict[str, Any]:
    """The formula that all its trials make, and what it says of each of them beside what was measured."""
    learnt = history.read(_folder(runs, name))
    fitted = fit(learnt.space, learnt.rows)
    if fitted is None:
        raise UsageError(f"{name}: every trial failed, so there is nothing to learn from")
    score = learnt.objective.cost  # its own inverse
    predictions = fitted.costs(learnt.rows)
    rows = [
        [score(float(predicted)), score(row.cost), in_words(dict(row.named))]
        for row, predicted in zip(learnt.rows, predictions, strict=True)
        if math.isfinite(row.cost)
    ]
    columns = [("predicted", "count"), ("measured", "count"), ("settings", "text")]
    formula = fitted.formula(title(learnt.objective, fitted.inverse))
    return {"formula": formula, "note": NOTE, "fit": Table(columns, rows, len(rows))}


def _folder(runs: Runs, name: str) -> Path:
    if name not in runs.searches:
        there_are = ", ".join(runs.searches) or "none"
        raise UsageError(f"name={name[:40]!r}: no such search is open; there are {there_are}")
    return runs.searches[name]


def _word(value: Any) -> str:
    return UNSET if value is None else str(value)


def _trials(space: Space, trials: Sequence[Trial]) -> Table:
    """What was run; what was known before is no trial."""
    rows = [
        [trial.trial, trial.stage, trial.state, trial.score, trial.seconds, trial.why]
        + [_word(trial.settings.get(dimension.name)) for dimension in space.dimensions]
        for trial in trials
        if trial.state != "known"
    ]
    columns = [*COLUMNS, *((trial.name, "text") for trial in space.dimensions)]
    return Table(columns, rows, len(rows))


def _compared(compared: Compared | None) -> list[float | None]:
    return (
        [compared.ratio, compared.low, compared.high, compared.delta, compared.p]
        if compared
        else [None] * len(COMPARED)
    )


def _methods(outcome: Result) -> Table:
    rows = [
        [
            method.method, method.trials, method.seconds, method.runs, method.failed, method.score, method.runtime,
            *_compared(method.compared), in_words(method.settings),
        ]
        for method in outcome.methods
    ]  # fmt: skip
    return Table(METHODS, rows, len(rows))


def _ablation(outcome: Result) -> Table:
    rows = [
        [one.knob, str(one.value), one.became] + _compared(one.compared) for one in outcome.knobs
    ]
    return Table(KNOBS, rows, len(rows))
