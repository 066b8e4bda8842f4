"""What a search may set: knobs with their values, conditions on them, points to begin with."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

from fathom.errors import UsageError
from fathom.text.quoting import toml
from fathom.tune.search.constraint import Constraint, ConstraintMistake, parse
from fathom.tune.settings import settings
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.toml import read as read_settings
from fathom.tune.settings.values import of_knob

#: One value of each knob, by its number in `Dimension.values`.
Point = tuple[int, ...]
PLACES = ("match", "group", "dataset", "directory", "launch")
KEYS = ("knob", "name", "values", "with", *PLACES)
#: Tries for a point that meets all conditions.
DRAWS = 10_000


@dataclass(frozen=True)
class Dimension:
    """A knob, where it is set, and its values; the first is always None: as the program has it."""

    name: str
    knob: str  # layer.name
    values: tuple[Any, ...]
    where: Mapping[str, Any] = field(default_factory=dict)  # match, group, dataset, directory
    beside: Mapping[str, Any] = field(default_factory=dict)  # set with it: knobs of its layer
    needs: Mapping[str, Any] = field(
        default_factory=dict
    )  # without these, by name, it does nothing


@dataclass(frozen=True)
class Space:
    """All of it."""

    dimensions: tuple[Dimension, ...]
    constraints: tuple[Constraint, ...] = ()
    seeds: tuple[Point, ...] = ()
    accept: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Points, those that break a condition too."""
        return prod(len(dimension.values) for dimension in self.dimensions)

    @property
    def default(self) -> Point:
        """Nothing set."""
        return (0,) * len(self.dimensions)

    def starts_servers(self) -> bool:
        """A knob of it is one of forwarding servers, so trials start their own."""
        return any(catalog()[dimension.knob].route == "option" for dimension in self.dimensions)

    def alone(self, number: int, value: int) -> Point:
        """One knob set, at this value."""
        return tuple(value if n == number else 0 for n in range(len(self.dimensions)))

    def without(self, numbers: Collection[int]) -> "Space":
        """The same where these knobs are not set."""
        dimensions = tuple(
            replace(dimension, values=(None,)) if number in numbers else dimension
            for number, dimension in enumerate(self.dimensions)
        )
        return replace(self, dimensions=dimensions)

    def named(self, point: Point) -> dict[str, Any]:
        """Its values by name."""
        pairs = zip(self.dimensions, point, strict=True)
        return {one.name: one.values[number] for one, number in pairs}

    def point(self, named: Mapping[str, Any]) -> Point:
        """The other way round; what is not named is not set."""
        return tuple(
            dimension.values.index(named.get(dimension.name)) for dimension in self.dimensions
        )

    def _lacks(self, point: Point) -> list[tuple[int, str, Any]]:
        """Knobs that are set without what they need: number, what, which value of it."""
        named = self.named(point)
        return [
            (number, name, value)
            for number, one in enumerate(self.dimensions)
            for name, value in one.needs.items()
            if point[number] and named[name] != value
        ]

    def settled(self, point: Point) -> Point:
        """Without the knobs that do nothing, since others are not as they need them."""
        while lacking := {number for number, _, _ in self._lacks(point)}:
            point = tuple(0 if n in lacking else value for n, value in enumerate(point))
        return point

    def completed(self, point: Point) -> Point:
        """With what its knobs need, where that is not set at all."""
        places = {one.name: number for number, one in enumerate(self.dimensions)}
        while missing := [each for each in self._lacks(point) if not point[places[each[1]]]]:
            _, name, value = missing[0]
            place = places[name]
            number = self.dimensions[place].values.index(value)
            point = tuple(number if n == place else one for n, one in enumerate(point))
        return self.settled(point)

    def allowed(self, point: Point) -> bool:
        """Does it meet all conditions?"""
        if self._lacks(point):
            return False
        if not self.constraints:
            return True
        values = {
            dimension.name: _plain(dimension, dimension.values[number])
            for dimension, number in zip(self.dimensions, point, strict=True)
        }
        return all(constraint.holds(values) for constraint in self.constraints)

    def draw(self, random: Random) -> Point:
        """Any point that is allowed; where next to none is, the default."""
        for _ in range(DRAWS):
            drawn = tuple(random.randrange(len(dimension.values)) for dimension in self.dimensions)
            point = self.settled(drawn)
            if self.allowed(point):
                return point
        return self.default

    def settings(self, point: Point) -> str:
        """A settings file; empty where nothing is set."""
        tables: dict[tuple[str, ...], dict[str, str]] = {}
        for dimension, number in zip(self.dimensions, point, strict=True):
            if dimension.values[number] is not None:
                inside = tables.setdefault(_table(dimension), {})
                for name, given in dimension.beside.items():
                    inside.setdefault(name, toml(given))
                inside[catalog()[dimension.knob].name] = toml(dimension.values[number])
        if not tables:
            return ""
        lines = [f"accept = {toml(self.accept)}"] if self.accept else []
        for head, inside in tables.items():
            lines += [*head, *(f"{name} = {given}" for name, given in inside.items())]
        return "\n".join(lines) + "\n"

    def data(self) -> dict[str, Any]:
        """As JSON has it; `of_data` reads it."""
        conditions = [constraint.text for constraint in self.constraints]
        return {**asdict(replace(self, constraints=())), "constraints": conditions}


def of_data(data: Mapping[str, Any]) -> Space:
    """A space that was kept."""
    dimensions = tuple(
        Dimension(**{**one, "values": tuple(one["values"])}) for one in data["dimensions"]
    )
    conditions = tuple(parse(one, [d.name for d in dimensions]) for one in data["constraints"])
    seeds = tuple(tuple(seed) for seed in data["seeds"])
    return Space(dimensions, conditions, seeds, tuple(data["accept"]))


def _plain(dimension: Dimension, given: Any) -> Any:
    """As a condition sees it: sizes are numbers of bytes."""
    if given is None:
        return None
    values = of_knob(catalog()[dimension.knob], given)
    if len(values) != 1 or not isinstance(given, int | str):
        return given
    try:
        return int(values[0])
    except ValueError:
        return given


def _table(dimension: Dimension) -> tuple[str, ...]:
    """The head of the table that it stands in. Fields of a layout are set together, so they share one."""
    knob, where = catalog()[dimension.knob], dimension.where
    if knob.route == "layout":
        directory = toml(str(where.get("directory", "")))
        return ("[[layout]]", f"directory = {directory}", f"[layout.{knob.layer.name}]")
    if knob.route not in settings.OF_FILES or where.get("launch"):
        return (f"[launch.{knob.layer.name}]",)
    head = ["[[file]]"]
    head += [f"{key} = {toml(where[key])}" for key in ("match", "group") if key in where]
    if "dataset" in where:
        return (*head, "[[file.dataset]]", f"name = {toml(where['dataset'])}")
    return (*head, f"[file.{knob.layer.name}]")


def read(path: Path) -> Space:
    """A file's space, every value of it checked as a setting; raises UsageError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    for key in data:
        if key not in ("accept", "constraints", "knob", "seed"):
            known = "accept, constraints, [[knob]] and [[seed]]"
            raise UsageError(f"{path}: no key '{key}'; there are {known}")
    accept = data.get("accept", [])
    dimensions = tuple(
        _dimension(f"{path}: [[knob]] {number}", table)
        for number, table in enumerate(_list(path, data, "knob"), 1)
    )
    if not dimensions:
        raise UsageError(f"{path}: nothing to search; write a [[knob]] with its values")
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{path}: two knobs are called '{name}'; give one another name = …")
    for number, dimension in enumerate(dimensions):
        if any(
            (dimension.knob, dimension.where) == (other.knob, other.where)
            for other in dimensions[:number]
        ):
            raise UsageError(f"{path}: {dimension.knob} is there twice for the same files")
    try:
        conditions = [parse(str(text), names) for text in _list(path, data, "constraints")]
    except ConstraintMistake as mistake:
        raise UsageError(f"{path}: constraints: {mistake}") from mistake
    space = Space(dimensions, tuple(conditions), (), tuple(map(str, accept)))
    seeds = [_seed(path, space, table) for table in _list(path, data, "seed")]
    return checked(str(path), Space(dimensions, space.constraints, tuple(seeds), space.accept))


def _list(path: Path, data: Mapping[str, Any], key: str) -> list[Any]:
    tables = data.get(key, [])
    if not isinstance(tables, list):
        raise UsageError(f"{path}: {key} is a list; tables of it are written as [[{key}]]")
    return tables


def _dimension(where: str, table: Any) -> Dimension:
    if not isinstance(table, dict) or not isinstance(table.get("knob"), str):
        raise UsageError(f'{where}: which? write knob = "romio.cb_nodes"')
    for key in table:
        if key not in KEYS:
            raise UsageError(f"{where}: no key '{key}'; there are {', '.join(KEYS)}")
    knob = catalog().get(table["knob"])
    if knob is None:
        raise UsageError(f"{where}: no knob '{table['knob']}'; fathom list knobs lists them")
    values = table.get("values")
    if not isinstance(values, list) or not values:
        raise UsageError(f"{where}: {knob.key}: its values? write values = [1, 2, 4]")
    if any(values.count(value) > 1 for value in values):
        raise UsageError(f"{where}: {knob.key}: a value is there twice")
    beside = table.get("with", {})
    if not isinstance(beside, dict):
        raise UsageError(f'{where}: {knob.key}: write with = {{ cb_config_list = "*:*" }}')
    return Dimension(
        str(table.get("name", knob.name)), knob.key, (None, *values),
        {key: table[key] for key in PLACES if key in table}, beside,
    )  # fmt: skip


def _seed(path: Path, space: Space, table: Any) -> Point:
    try:
        if not isinstance(table, dict) or table.keys() - {
            dimension.name for dimension in space.dimensions
        }:
            raise ValueError
        return space.point(table)
    except ValueError as error:
        line = f"{path}: [[seed]] {table}: names and values must be those of [[knob]]"
        raise UsageError(line) from error


def checked(name: str, space: Space) -> Space:
    """The same, when every single setting is one, and conditions can be asked of any point."""
    for number, dimension in enumerate(space.dimensions):
        for value in range(1, len(dimension.values)):
            text = space.settings(space.alone(number, value))
            read_settings(f"{name}: {dimension.name} = {dimension.values[value]}", text)
    try:
        for seed in space.seeds:
            if not space.allowed(seed):
                raise UsageError(f"{name}: [[seed]] {space.named(seed)} breaks a constraint")
        random = Random(0)
        for _ in range(100):
            space.draw(random)
    except ConstraintMistake as mistake:
        raise UsageError(f"{name}: constraints: {mistake}") from mistake
    return space
