"""A model of what settings cost: fitted, predicting, and as JSON, so that others can keep it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np

from fathom.errors import FathomError
from fathom.tune.model import regression, trees
from fathom.tune.model.factors import (  # fmt: skip
    Basis,
    Column,
    Factor,
    Row,
    Scale,
    Table,
    canonical,
    of_spaces,
    text,
)
from fathom.tune.model.regression import Regression
from fathom.tune.model.trees import Trees
from fathom.tune.search.constraint import ConstraintMistake
from fathom.tune.search.space import Point, Space, of_data

FORMAT = 1
KINDS = ("regression", "trees")
#: Settings that are run of those that a model predicts (the paper's k).
TOP = 20
#: Of a larger grid that many points, drawn at random, are predicted.
GRID = 50_000


@dataclass(frozen=True)
class Predicted:
    """A point of the grid, its settings, and what it is to cost: lower is better, so rates are negative."""

    point: Point
    named: dict[str, Any]
    cost: float


@dataclass(frozen=True)
class Model:
    """`inverse`: rates were fitted as the time of a unit, since that is what adds up."""

    space: Space  # what it predicts
    factors: tuple[Factor, ...]
    inverse: bool
    least: float  # of the fitted costs
    never: Mapping[str, tuple[Any, ...]]  # values that no trial ran with
    fitted: Regression | Trees
    scale: Scale  # where none is given
    about: Mapping[str, Any]  # where it is from, for who reads it

    @property
    def kind(self) -> str:
        """Of KINDS."""
        return "regression" if isinstance(self.fitted, Regression) else "trees"

    def costs(self, rows: Sequence[Row]) -> Column:
        """Predicted; lower is better."""
        return self._costs(Table.of_rows(self.factors, rows))

    def _costs(self, table: Table) -> Column:
        """Where a formula says less than nothing, a tenth of the least that was measured."""
        costs = self.fitted.predict(table)
        if self.least <= 0:
            return costs
        costs = np.maximum(costs, self.least / 10)
        return -1 / costs if self.inverse else costs

    def best(self, scale: Scale | None = None, count: int = TOP) -> list[Predicted]:
        """The best settings, best first, of those whose values ran in some trial."""
        points = grid(self.space)
        if not points:
            return []
        table = Table.of_points(self.factors, self.space, points, scale or self.scale)
        costs = self._costs(table)
        for name, values in self.never.items():
            for value in values:
                costs[table.has(name, value)] = np.inf
        order = [one for one in np.argsort(costs, kind="stable")[:count] if costs[one] < np.inf]
        return [
            Predicted(points[one], self.space.named(points[one]), float(costs[one]))
            for one in order
        ]

    def formula(self, name: str) -> str:
        """As a person reads it; of trees there is none."""
        if not isinstance(self.fitted, Regression):
            return ""
        pairs = list(zip(self.fitted.terms, self.fitted.coefficients, strict=True))
        lines = [f"{name} = {pairs[0][1]:.4g}"]
        for term, number in pairs[1:]:
            lines.append(f"  {'-' if number < 0 else '+'} {text(term, number)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        data = {
            "format": FORMAT, "kind": self.kind, "space": self.space.data(), "inverse": self.inverse,
            "least": self.least, "never": {k: list(v) for k, v in self.never.items()},
            "factors": [asdict(factor) for factor in self.factors], "scale": asdict(self.scale),
            "about": dict(self.about),
        }  # fmt: skip
        if isinstance(self.fitted, Regression):
            terms = [[asdict(basis) for basis in term] for term in self.fitted.terms]
            return {**data, "terms": terms, "coefficients": list(self.fitted.coefficients)}
        forest = [[list(node) for node in tree] for tree in self.fitted.trees]
        return {**data, "trees": forest, "log": self.fitted.log}

    @staticmethod
    def from_json(data: Any) -> "Model":
        """The other way round; raises FathomError where it is none."""
        try:
            if data["format"] != FORMAT or data["kind"] not in KINDS:
                raise ValueError(f"format {data['format']}, kind {data['kind']}")
            return _model(data)
        except (KeyError, TypeError, ValueError, AttributeError, ConstraintMistake) as error:
            raise FathomError(f"no model of fathom tune: {error!r}") from error


def _model(data: Mapping[str, Any]) -> Model:
    factors = tuple(Factor(**{**one, "levels": tuple(one["levels"])}) for one in data["factors"])
    fitted: Regression | Trees
    if data["kind"] == "regression":
        terms = tuple(tuple(Basis(**basis) for basis in term) for term in data["terms"])
        fitted = Regression(terms, tuple(map(float, data["coefficients"])))
        if not terms or terms[0] or len(terms) != len(fitted.coefficients):
            raise ValueError("its terms and coefficients do not belong together")
    else:
        forest = tuple(tuple(trees.node(one) for one in tree) for tree in data["trees"])
        fitted = Trees(factors, forest, bool(data["log"]))
    return Model(
        of_data(data["space"]), factors, bool(data["inverse"]), float(data["least"]),
        {key: tuple(some) for key, some in data["never"].items()}, fitted, Scale(**data["scale"]),
        data["about"],
    )  # fmt: skip


def grid(space: Space) -> list[Point]:
    """All points that are allowed; of a large space some of them, always the same."""
    if space.size <= GRID:
        every = product(*(range(len(dimension.values)) for dimension in space.dimensions))
        return [point for point in every if space.allowed(point)]
    random = Random(0)
    return list(dict.fromkeys(space.draw(random) for _ in range(GRID)))


def fit(
    space: Space, rows: Sequence[Row], kind: str = KINDS[0], spaces: Sequence[Space] = ()
) -> Model | None:
    """Of trials; `spaces`: those that they are of, where it is not this one alone. None: no trial ran."""
    factors = of_spaces(spaces or (space,))
    good = [row for row in rows if math.isfinite(row.cost)]
    if not good:
        return None
    costs = np.array([row.cost for row in good])
    inverse = bool((costs < 0).all())
    costs = -1 / costs if inverse else costs
    if kind == "trees":
        fitted: Regression | Trees = trees.fit(factors, good, costs)
    else:
        fitted = regression.fit(factors, good, costs)
    return Model(
        space,
        factors,
        inverse,
        float(costs.min()),
        _never(space, factors, rows),
        fitted,
        good[-1].scale,
        {},
    )


def _never(
    space: Space, factors: Sequence[Factor], rows: Sequence[Row]
) -> dict[str, tuple[Any, ...]]:
    """Values that always failed, twice at least, and those that were never tried and have no number to predict from."""
    table, ran = Table.of_rows(factors, rows), np.array([math.isfinite(row.cost) for row in rows])
    never = {}
    for factor in factors:
        for dimension in space.dimensions:
            if dimension.name == factor.name:
                values = [canonical(dimension, given) for given in dimension.values]
                tried = [table.has(dimension.name, value) for value in values]
                never[dimension.name] = tuple(
                    value
                    for value, hits in zip(values, tried, strict=True)
                    if not (hits & ran).any() and (hits.sum() > 1 or factor.number(value) is None)
                )
    return {name: values for name, values in never.items() if values}
