"""How good a model is where it has not been: on trials, or on whole applications, that it was not fitted to."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

import numpy as np

from fathom.tune.model.factors import Column, Row, Scale
from fathom.tune.model.model import KINDS, TOP, Model, fit
from fathom.tune.search.space import Space

FOLDS = 5


@dataclass(frozen=True)
class Judged:
    """Of one kind of model on what was held out."""

    kind: str
    held: str  # the application, or part of the only one's settings
    settings: int
    top: int  # of its best so many were looked at
    regret: float  # the best of these over the best of all, less 1
    error: float  # typical, in parts of the cost
    order: float  # rank correlation of predicted and measured


def judge(spaces: Sequence[Space], rows: Sequence[Row], kind: str) -> list[Judged]:
    """Each application left out in turn; of one only, a fifth of its settings, the mean of five such."""
    names = list(dict.fromkeys(row.application for row in rows))
    if len(names) > 1:
        parts = [(name, [row.application == name for row in rows]) for name in names]
        return [one for name, held in parts for one in _held_out(spaces, rows, held, kind, name)]
    folds = [
        one
        for held in _folds(rows)
        for one in _held_out(spaces, rows, held, kind, "a fifth, in turn")
    ]
    return [_mean(folds)] if folds else []


def _held_out(
    spaces: Sequence[Space], rows: Sequence[Row], held_out: Sequence[bool], kind: str, name: str
) -> list[Judged]:
    """The mean over scales: the best of one is not to be found among runs of another."""
    out = [row for row, is_held in zip(rows, held_out, strict=True) if is_held]
    model = fit(
        spaces[-1],
        [row for row, is_held in zip(rows, held_out, strict=True) if not is_held],
        kind,
        spaces,
    )
    size, parts = max(space.size for space in spaces), _medians(out)
    if model is None or not parts:
        return []
    return [_mean([_judged(model, part, size, name) for part in parts])]


def _mean(some: Sequence[Judged]) -> Judged:
    """Of what each says; settings and how many of them were looked at are the first one's."""
    regret, error, order = (
        mean(getattr(one, figure) for one in some) for figure in ("regret", "error", "order")
    )
    first = some[0]
    return Judged(first.kind, first.held, first.settings, first.top, regret, error, order)


def choose(spaces: Sequence[Space], rows: Sequence[Row]) -> tuple[str, list[Judged]]:
    """The kind with the least mean regret over applications; of equals, and of one application, the formula: it can be
    read, and regrets of a few settings say little."""
    judged = {kind: judge(spaces, rows, kind) for kind in KINDS}
    regrets = {kind: [one.regret for one in some] for kind, some in judged.items()}
    fair = all(len(some) > 1 for some in regrets.values())
    best = min(KINDS, key=lambda kind: mean(regrets[kind])) if fair else KINDS[0]
    return best, [one for some in judged.values() for one in some]


def _folds(rows: Sequence[Row]) -> list[list[bool]]:
    """By settings: a repeat of what was fitted is not held out."""
    keys = [_setting(row) for row in rows]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    count = min(FOLDS, len(places)) if len(places) > 1 else 0
    return [[places[key] % count == fold for key in keys] for fold in range(count)]


def _setting(row: Row) -> tuple[str, Scale]:
    return json.dumps(row.named, sort_keys=True), row.scale


def _medians(rows: Sequence[Row]) -> list[list[Row]]:
    """Of each scale, one for each setting, with its median cost; what failed is left out."""
    settings_of: dict[Scale, dict[str, list[Row]]] = {}
    for row in rows:
        if math.isfinite(row.cost):
            settings_of.setdefault(row.scale, {}).setdefault(_setting(row)[0], []).append(row)
    return [
        [Row(some[0].named, median(one.cost for one in some), scale) for some in settings.values()]
        for scale, settings in settings_of.items()
    ]


def _judged(model: Model, out: Sequence[Row], size: int, name: str) -> Judged:
    predicted, measured = model.costs(out), np.array([row.cost for row in out])
    top = share(len(out), size)
    chosen = measured[np.argsort(predicted, kind="stable")[:top]]
    best = float(measured.min())
    if (measured < 0).all():  # rates: compared by the time that they stand for
        chosen, best = -1 / chosen, -1 / best
    regret = (float(chosen.min()) - best) / max(abs(best), 1e-12)
    error = float(np.median(np.abs(predicted - measured) / np.maximum(np.abs(measured), 1e-12)))
    order = correlation(predicted, measured)
    return Judged(model.kind, name, len(out), top, regret, error, order)


def share(settings: int, size: int) -> int:
    """Of so many settings of a space what 20 are of all of it, since of a few settings 20 are all."""
    return max(1, min(TOP, round(TOP * settings / max(size, 1))))


def correlation(column: Column, other: Column) -> float:
    """Spearman's; of what does not differ, 0."""
    first, second = _ranks(column), _ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(column: Column) -> Column:
    """Of equals their mean."""
    values, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    del values
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=float)
