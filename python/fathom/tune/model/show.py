"""`fathom tune model`: what was learnt, as a formula, how good it is elsewhere, and what it predicts to be best."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from fathom.errors import FathomError
from fathom.run.store import open_run
from fathom.text import tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text
from fathom.tune.model import history
from fathom.tune.model.factors import MIB, Scale, canonical
from fathom.tune.model.history import History
from fathom.tune.model.judge import Judged, choose
from fathom.tune.model.model import Model, Predicted, fit
from fathom.tune.model.regression import Regression
from fathom.tune.search import limits
from fathom.tune.search.objective import Objective
from fathom.tune.search.search import in_words

NOTE = "sizes in MiB; terms of a knob that is not set are 0; [knob = value] is 1 where it is so, else 0"


def _part(given: float) -> str:
    return f"{given:.1%}"


HELD = (
    Column("held out", "held", text, right=False),
    Column("by", "kind", text, right=False),
    Column("settings", "settings", text),
    Column("of its best", "top", text),
    Column("regret", "regret", _part),
    Column("typical error", "error", _part),
    Column("rank correlation", "order", lambda given: f"{given:.2f}"),
)
BEST = (
    Column("predicted", "predicted", lambda given: f"{given:.4g}"),
    Column("measured", "measured", lambda given: "" if given is None else f"{given:.4g}"),
    Column("settings", "settings", text, right=False),
)


@dataclass(frozen=True)
class Learnt:
    """From searches, the last of which says what is predicted where no run does."""

    model: Model
    judged: list[Judged]
    histories: list[History]
    best: list[Predicted]

    @property
    def objective(self) -> Objective:
        """Of all of them."""
        return self.histories[-1].objective

    def measured(self, predicted: Predicted) -> float | None:
        """Median of its trials at this scale."""
        settings = {
            name: given for name, given in self._canonical(predicted).items() if given is not None
        }
        costs = [
            row.cost
            for of in self.histories
            for row in of.rows
            if row.scale == self.model.scale
            and settings == {name: given for name, given in row.named.items() if given is not None}
        ]
        return self.objective.cost(median(costs)) if costs else None

    def _canonical(self, predicted: Predicted) -> dict[str, Any]:
        return {
            of.name: canonical(of, predicted.named[of.name]) for of in self.model.space.dimensions
        }


def learn(folders: Sequence[Path], run: Path | None) -> Learnt:
    """A model of all trials of these searches, of the kind with the least regret where it has not been."""
    histories = [history.read(folder) for folder in folders]
    history.alike(histories)
    last = histories[-1]
    rows = [row for one in histories for row in one.rows]
    spaces = [one.space for one in histories]
    kind, judged = choose(spaces, rows)
    model = fit(last.space, rows, kind, spaces)
    if model is None:
        raise FathomError("tune: every trial failed, so there is nothing to learn from")
    scale, space = last.scale, limits.limited(last.space, last.limits)
    if run is not None:
        opened = open_run(run)
        scale = history.scale_of(opened, last.group)
        _known(run, scale, histories)
        space = limits.widened(last.space, limits.of_run(opened))
    model = replace(model, space=space, scale=scale, about=_about(histories))
    return Learnt(model, judged, histories, model.best())


def _known(run: Path, scale: Scale, histories: Sequence[History]) -> None:
    """What the searches differ in the model speaks of, so the run has to have it."""
    for name, lacks, of in (
        ("no rank of MPI", scale.ranks is None, {one.scale.ranks for one in histories}),
        ("no file that it wrote or read", scale.bytes is None, {one.scale.bytes for one in histories}),
    ):  # fmt: skip
        if lacks and len(of) > 1:
            raise FathomError(f"tune: {run}: {name}, which the model is about")


def _about(histories: Sequence[History]) -> dict[str, Any]:
    objective = histories[-1].objective
    return {
        "objective": objective.name, "unit": objective.unit,
        "searches": [
            {"name": one.name, "application": one.rows[0].application, "trials": len(one.rows), **asdict(one.scale)}
            for one in histories
        ],
    }  # fmt: skip


def show(folders: Sequence[Path], run: Path | None, as_json: bool) -> int:
    """Prints it."""
    learnt = learn(folders, run)
    if as_json:
        print(json_text(data(learnt)))
        return 0
    for one in learnt.histories:
        failed = sum(row.cost == float("inf") for row in one.rows)
        print(f"{one.name}: {len(one.rows)} trials, {failed} failed; {of_scale(one.scale)}")
    print(f"\n{_formula(learnt) or 'regression trees, which have no formula'}")
    print(NOTE if learnt.model.kind == "regression" else "")
    print("\nwhere it was not:")
    tables.show(HELD, pa.Table.from_pylist([vars(one) for one in learnt.judged]))
    print(f"\npredicted to be best, {of_scale(learnt.model.scale)}:")
    tables.show(BEST, pa.Table.from_pylist([_row(learnt, one) for one in learnt.best]))
    return 0


def data(learnt: Learnt) -> dict[str, Any]:
    """All that is printed, and the model for who keeps it."""
    fitted = learnt.model.fitted
    terms = []
    if isinstance(fitted, Regression):
        pairs = zip(fitted.terms, fitted.coefficients, strict=True)
        terms = [{"term": [asdict(one) for one in term], "coefficient": c} for term, c in pairs]
    best = [{**_row(learnt, one), "settings": one.named} for one in learnt.best]
    return {
        "kind": learnt.model.kind,
        "formula": _formula(learnt) or None,
        "terms": terms,
        "held_out": [asdict(one) for one in learnt.judged],
        "scale": asdict(learnt.model.scale),
        "best": best,
        "model": learnt.model.to_json(),
    }


def _row(learnt: Learnt, one: Predicted) -> dict[str, Any]:
    measured = learnt.measured(one)
    predicted = learnt.objective.cost(one.cost)
    return {"predicted": predicted, "measured": measured, "settings": in_words(one.named)}


def _formula(learnt: Learnt) -> str:
    return learnt.model.formula(title(learnt.objective, learnt.model.inverse))


def title(objective: Objective, inverse: bool) -> str:
    """What the formula is of. Rates are inverted: times add up, rates do not."""
    if inverse:
        return f"1 / {objective.name}" + (f" [1/({objective.unit})]" if objective.unit else "")
    return f"{objective.name} [{objective.unit}]" if objective.unit else objective.name


def of_scale(scale: Scale) -> str:
    """`4 ranks, 32.0 MiB`."""
    ranks = f"{scale.ranks or 'unknown number of'} rank{'s' if scale.ranks != 1 else ''}"
    size = "size not known" if scale.bytes is None else f"{scale.bytes / MIB:,.1f} MiB"
    return f"{ranks}, {size}"
