"""What a cost may depend on: knobs, the number of ranks, the size of the files; and what a formula makes of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fathom.tune.search.space import Dimension, Point, Space
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.values import of_knob

Column = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Hits = npt.NDArray[np.bool_]
MIB = 1 << 20
#: Of the run, beside the knobs. Two words each, so that no knob is called so.
SIZE, RANKS = "file size", "rank count"


@dataclass(frozen=True)
class Scale:
    """Of a run: what a setting's cost depends on beside the setting. None: not known."""

    ranks: int | None = None
    bytes: float | None = None


@dataclass(frozen=True)
class Row:
    """A trial: its settings by name, what it cost (infinite where it failed), of which program, at which scale."""

    named: Mapping[str, Any]
    cost: float
    scale: Scale = Scale()
    application: str = ""


@dataclass(frozen=True)
class Factor:
    """A knob or a figure of the run. What has no number is a level: `not set` (None) too."""

    name: str
    kind: str  # number, bytes (in MiB), level
    levels: tuple[Any, ...] = ()  # all that was met and has no number

    def number(self, given: Any) -> float | None:
        """None where it has none."""
        if self.kind == "level" or given is None or isinstance(given, str | bool | list | tuple):
            return None
        value = float(given)
        return (value / MIB if self.kind == "bytes" else value) if value > 0 else None


@dataclass(frozen=True)
class Basis:
    """A function of one factor: `x`, `1/x`, `log2 x`, or `is`: 1 where it is at this level. Of a number that a setting
    does not have, each is 0."""

    factor: str
    form: str
    level: Any = None

    def __str__(self) -> str:
        if self.form == "is":
            at = "not set" if self.level is None else f"= {_word(self.level)}"
            return f"[{self.factor} {at}]"
        return f"log2({self.factor})" if self.form == "log2" else self.factor


Term = tuple[Basis, ...]


def _word(level: Any) -> str:
    return level if isinstance(level, str) else json.dumps(level)


def same(one: Any, other: Any) -> bool:
    """As JSON has them: true is not 1."""
    return json.dumps(one) == json.dumps(other)


def canonical(dimension: Dimension, given: Any) -> Any:
    """A size is a number of bytes, however it was written."""
    kind = _kind(dimension)
    return (
        int(of_knob(catalog()[dimension.knob], given)[0]) if kind and given is not None else given
    )


def _kind(dimension: Dimension) -> str | None:
    values = catalog()[dimension.knob].values
    if len(values) != 1 or values[0].many:
        return None
    return {"int": "number", "bytes": "bytes"}.get(values[0].kind)


def named(space: Space, point: Sequence[int]) -> dict[str, Any]:
    """A point's values by name, canonical."""
    pairs = zip(space.dimensions, point, strict=True)
    return {one.name: canonical(one, one.values[number]) for one, number in pairs}


def of_spaces(spaces: Sequence[Space]) -> tuple[Factor, ...]:
    """Those of the knobs in any of them, in order, then those of the run. A knob with one number only is a level."""
    values_of: dict[str, tuple[str, list[Any]]] = {}
    for one in (dimension for space in spaces for dimension in space.dimensions):
        kind, values = values_of.setdefault(one.name, (_kind(one) or "level", []))
        if kind != (_kind(one) or "level"):
            values_of[one.name] = ("level", values)
        values += [v for given in one.values if not _in(v := canonical(one, given), values)]
    knobs = (_factor(name, *of) for name, of in values_of.items())
    return (*knobs, Factor(RANKS, "number"), Factor(SIZE, "bytes"))


def _factor(name: str, kind: str, values: Sequence[Any]) -> Factor:
    factor = Factor(name, kind)
    if sum(factor.number(value) is not None for value in values) < 2:
        return Factor(name, "level", tuple(values))
    return Factor(name, kind, tuple(value for value in values if factor.number(value) is None))


def _in(value: Any, values: Sequence[Any]) -> bool:
    return any(same(value, other) for other in values)


def _of_scale(scale: Scale) -> dict[str, Any]:
    return {RANKS: scale.ranks, SIZE: scale.bytes}


class Table:
    """Settings as columns: what terms are computed from. Of each factor its values, and which of them each row has."""

    def __init__(
        self,
        factors: Sequence[Factor],
        values: Mapping[str, list[Any]],
        places: Mapping[str, Places],
    ) -> None:
        self.values, self.places = values, places
        self.rows = len(next(iter(places.values())))
        numbers = {f.name: [f.number(value) or np.nan for value in values[f.name]] for f in factors}
        self.numbers = {name: np.array(some)[places[name]] for name, some in numbers.items()}

    @staticmethod
    def of_rows(factors: Sequence[Factor], rows: Sequence[Row]) -> "Table":
        """Of trials."""
        values, places = {}, {}
        have = [{**row.named, **_of_scale(row.scale)} for row in rows]
        for factor in factors:
            given = [one.get(factor.name) for one in have]
            keys = [json.dumps(value) for value in given]
            numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
            values[factor.name] = list(dict(zip(keys, given, strict=True)).values())
            places[factor.name] = np.array([numbers[key] for key in keys])
        return Table(factors, values, places)

    @staticmethod
    def of_points(
        factors: Sequence[Factor], space: Space, points: Sequence[Point], scale: Scale
    ) -> "Table":
        """Of points of a space, at a scale; a knob that the space has not is not set."""
        columns, nothing = np.array(points).T, np.zeros(len(points), dtype=np.intp)
        values = {factor.name: [_of_scale(scale).get(factor.name)] for factor in factors}
        places = {factor.name: nothing for factor in factors}
        for dimension, column in zip(space.dimensions, columns, strict=True):
            if dimension.name in values:
                values[dimension.name] = [canonical(dimension, given) for given in dimension.values]
                places[dimension.name] = column
        return Table(factors, values, places)

    def has(self, factor: str, level: Any) -> Hits:
        """Rows that are at this level."""
        hits = np.array([same(value, level) for value in self.values[factor]])
        return np.asarray(hits[self.places[factor]], dtype=bool)

    def basis(self, basis: Basis) -> Column:
        """A column."""
        if basis.form == "is":
            return self.has(basis.factor, basis.level).astype(float)
        x = self.numbers[basis.factor]
        column = x if basis.form == "x" else 1 / x if basis.form == "1/x" else np.log2(x)
        return np.where(np.isnan(x), 0.0, column)

    def term(self, term: Term) -> Column:
        """A product of such columns; of none, ones."""
        column = np.ones(self.rows)
        for one in term:
            column = column * self.basis(one)
        return column


def bases(factor: Factor) -> list[Basis]:
    """Functions of a factor that a formula may have."""
    numbers = [Basis(factor.name, form) for form in ("x", "1/x", "log2")]
    levels = [Basis(factor.name, "is", level) for level in factor.levels]
    return levels if factor.kind == "level" else numbers + levels


def text(term: Term, coefficient: float) -> str:
    """`2.26 · file size / striping_factor`; without a sign."""
    over = [str(one) for one in term if one.form != "1/x"]
    under = [str(one) for one in term if one.form == "1/x"]
    return " / ".join([" · ".join([f"{abs(coefficient):.4g}", *over]), *under])
