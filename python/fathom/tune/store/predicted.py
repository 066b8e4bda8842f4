"""The best settings at a size that no search had: what a model of several searches of the program predicts."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fathom.run.store import Run
from fathom.tune.model import history, judge
from fathom.tune.model.factors import Scale
from fathom.tune.model.model import Model, fit
from fathom.tune.search import limits
from fathom.tune.store.entry import Given, covers, given_of

GROUP = "group"  # of `about`: which files were judged by


def learnt(folders: Sequence[Path]) -> dict[str, Any] | None:
    """Of searches of one program by one objective, as JSON. None: of others, or of one size, nothing follows."""
    if len(folders) < 2:
        return None
    histories = [history.read(folder) for folder in folders]
    what = {(one.rows[0].application, one.objective.name) for one in histories}
    if len(what) > 1 or len({one.scale for one in histories}) < 2:
        return None
    rows = [row for one in histories for row in one.rows]
    spaces = [one.space for one in histories]
    kind, _ = judge.choose(spaces, rows)
    model = fit(spaces[-1], rows, kind, spaces)
    if model is None:
        return None
    scales = [asdict(one.scale) for one in histories]
    about = {"searches": scales, GROUP: histories[-1].group}
    return replace(model, about=about).to_json()


def predicted(data: Any, run: Run, paths: Sequence[str]) -> tuple[tuple[Given, ...], str] | None:
    """For these files of a run, with what is said of it. None: of a size that was searched, or the model's trials were
    so few that it knows no setting from another."""
    model = Model.from_json(data)
    scale = history.scale_of(run, model.about.get(GROUP))
    if scale in [Scale(**one) for one in model.about["searches"]]:
        return None
    space = limits.widened(model.space, limits.of_run(run))
    best = replace(model, space=space).best(scale)
    if not best or best[0].cost == best[-1].cost:
        return None
    pairs = zip(space.dimensions, best[0].point, strict=True)
    given = tuple(
        given_of(one, one.values[number])
        for one, number in pairs
        if number and covers(one.where, paths)
    )
    return given, f"predicted by the model of {len(model.about['searches'])} searches"
