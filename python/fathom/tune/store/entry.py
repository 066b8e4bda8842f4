"""What the store knows of one search: its patterns, the settings that were best, how much they gained."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fathom.errors import FathomError, UsageError
from fathom.tune.model.model import Model
from fathom.tune.search.space import Dimension, Space
from fathom.tune.settings import toml
from fathom.tune.settings.settings import OF_FILES, catalog
from fathom.tune.store.fingerprint import Machine, Stack
from fathom.tune.store.shape import Shape


@dataclass(frozen=True)
class Given:
    """One setting, and of what of a group it holds."""

    knob: str  # layer.name
    value: Any
    beside: Mapping[str, Any] = field(default_factory=dict)  # set with it
    dataset: str = ""  # glob; "": the files
    launch: bool = False  # of the whole launch
    layout: bool = False  # of the directory that the files lie in

    def dimension(self, name: str, group: str, directory: str) -> Dimension:
        """It alone, of these files, as a search has it."""
        where: dict[str, Any] = {"group": group}
        if self.layout:
            where = {"directory": directory}
        elif self.launch:
            where = {"launch": True}
        elif self.dataset:
            where |= {"dataset": self.dataset}
        return Dimension(name, self.knob, (None, self.value), where, self.beside)


def given_of(dimension: Dimension, value: Any) -> Given:
    """A knob of a search's space, at this value."""
    route = catalog()[dimension.knob].route
    layout = route == "layout"
    launch = not layout and (route not in OF_FILES or bool(dimension.where.get("launch")))
    return Given(
        dimension.knob,
        value,
        dict(dimension.beside),
        dimension.where.get("dataset", ""),
        launch,
        layout,
    )


@dataclass(frozen=True)
class Tuned:
    """A group of files, and what is best for it."""

    files: str
    file_system: str
    shape: Shape
    settings: tuple[Given, ...]


@dataclass(frozen=True)
class Entry:
    """Of one search. Scores are medians of fresh runs."""

    name: str
    added: float  # s since 1970
    objective: str
    unit: str
    more: bool  # of the score, more is better
    default: float
    best: float
    default_runs: tuple[float, ...]
    best_runs: tuple[float, ...]
    verdict: str  # gain, uncertain, none: fathom.tune.search.verdict
    ranks: int
    stack: Stack
    machine: Machine
    groups: tuple[Tuned, ...]
    model: Any = None  # JSON of fathom.tune.model, learnt from searches of several sizes

    @property
    def id(self) -> str:
        """The same for the same search, wherever and whenever it was added."""
        same = {
            key: value
            for key, value in self.data().items()
            if key not in ("name", "added", "model")
        }
        text = json.dumps(same, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def gain(self) -> float:
        """How many times as fast."""
        pair = (self.best, self.default) if self.more else (self.default, self.best)
        return pair[0] / pair[1] if pair[1] else 1.0

    def data(self) -> dict[str, Any]:
        """As JSON has it; `of_data` reads it."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data


def space_of(dimensions: Sequence[Dimension]) -> Space:
    """A space of these, with the consent that they need."""
    needed = {catalog()[dimension.knob].safety for dimension in dimensions} & {"all-ranks"}
    return Space(tuple(dimensions), accept=tuple(needed))


def covers(where: Mapping[str, Any], paths: Sequence[str]) -> bool:
    """Does a setting with this `match` and `group` hold for these files? The last match counts, as in settings."""
    globs = [*_list(where.get("match")), *(f"*/{name}" for name in _list(where.get("group")))]
    return not globs or any(_matches(globs, path) for path in paths)


def _list(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _matches(globs: Sequence[str], path: str) -> bool:
    covered = False
    for glob in globs:
        if fnmatchcase(path, glob.removeprefix("!")):
            covered = not glob.startswith("!")
    return covered


# ---- an entry that somebody else wrote


def of_data(where: str, data: Any) -> Entry:
    """Of JSON, all of it checked; raises UsageError with what is wrong."""
    try:
        entry = Entry(**_checked(data))
    except (KeyError, TypeError, ValueError, FathomError) as error:
        missing = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{where}: is no entry of a pattern store: {missing}") from error
    return entry


def _checked(data: Any) -> dict[str, Any]:
    return {
        **{key: _text(data[key]) for key in ("name", "objective", "unit", "verdict")},
        **{key: _finite(data[key]) for key in ("added", "default", "best")},
        "default_runs": tuple(map(_finite, data["default_runs"])),
        "best_runs": tuple(map(_finite, data["best_runs"])),
        "ranks": _count(data["ranks"]),
        "more": _flag(data["more"]),
        "stack": Stack(
            _text(data["stack"]["mpi"]),
            *(tuple(map(_text, data["stack"][key])) for key in ("layers", "libraries")),
        ),
        "machine": Machine(
            tuple(map(_text, data["machine"]["hosts"])),
            None if data["machine"]["mhz"] is None else _count(data["machine"]["mhz"]),
            tuple(map(_text, data["machine"]["storage"])),
        ),
        "groups": tuple(map(_tuned, data["groups"])),
        "model": _model(data["model"]),
    }


def _model(data: Any) -> Any:
    if data is not None:
        Model.from_json(data)
    return data


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"'{value}' is no number")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"'{value}' is no whole number from 0 on")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"'{value}' is no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"'{value}' is neither true nor false")
    return value


def _tuned(data: Any) -> Tuned:
    table = data["shape"]
    shape = Shape(
        _text(table["key"]), _count(table["ranks"]), _count(table["arrays"]), _count(table["bytes"]),
        _finite(table["rank_bytes"]), _count(table["run_bytes"]), _finite(table["share"]),
    )  # fmt: skip
    assert shape.parts
    given = tuple(map(_given, data["settings"]))
    return Tuned(_text(data["files"]), _text(data["file_system"]), shape, given)


def _given(data: Any) -> Given:
    """A setting that a settings file may have: what comes from elsewhere is put into programs here."""
    knob = catalog().get(_text(data["knob"]))
    if knob is None:
        raise ValueError(f"no knob '{data['knob']}'; fathom list knobs lists them")
    given = Given(
        knob.key, data["value"], dict(data["beside"]), _text(data["dataset"]),
        _flag(data["launch"]), _flag(data["layout"]),
    )  # fmt: skip
    text = space_of([given.dimension("1", "*", "/")]).settings((1,))
    toml.read(knob.key, text)
    return given
