"""What a settings file holds (docs/settings.md), checked: every mistake is one line before anything starts."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fathom.catalog.knobs import SAFETY, Knob, load_knobs
from fathom.catalog.layers import catalog_files
from fathom.errors import UsageError
from fathom.tune.settings.values import ValueMistake, of_knob

#: Routes that hold for one file, and those that hold for a whole launch.
OF_FILES = ("property-list", "mpi-info")
OF_LAUNCH = ("environment", "mca", "mpi-info", "option")
OF_DATASETS = ("dataset-create", "dataset-access", "transfer")
WORD = re.compile(r"[^\s\x00-\x1f]+")


@dataclass(frozen=True)
class Setting:
    """A knob and its values, as the library takes them."""

    knob: Knob
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """The values in one word."""
        return ",".join(self.values)


@dataclass(frozen=True)
class Rule:
    """Settings of the files, or of the datasets in them, that match."""

    files: tuple[
        str, ...
    ]  # globs of absolute paths, `!` leaves out, the last match counts; (): all
    dataset: str  # glob; "": the files themselves, and all that is in them
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Layout:
    """How new files of a directory are laid out."""

    directory: Path
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Settings:
    """All of a file. Later rules win over earlier ones."""

    rules: tuple[Rule, ...]
    launch: tuple[Setting, ...]
    layouts: tuple[Layout, ...]

    def everything(self) -> Iterator[Setting]:
        """Every setting, wherever it holds."""
        for rule in self.rules:
            yield from rule.settings
        for layout in self.layouts:
            yield from layout.settings
        yield from self.launch


@cache
def catalog() -> Mapping[str, Knob]:
    """The knob catalog, by `layer.name`."""
    knobs = load_knobs(catalog_files("knobs"))
    return {knob.key: knob for knob in knobs}


class Reader:
    """One settings file, with its name for complaints."""

    def __init__(self, name: str, accept: Sequence[str] = ()) -> None:
        self.name, self.accept = name, accept

    def fail(self, where: str, problem: str) -> UsageError:
        return UsageError(
            f"{self.name}: {where}: {problem}" if where else f"{self.name}: {problem}"
        )

    def table(self, where: str, data: Any, keys: Sequence[str]) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise self.fail(where, "must be a table")
        for key in data:
            if key not in keys:
                raise self.fail(where, f"no key '{key}'{_near(key, keys)}")
        return data

    def tables(self, where: str, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise self.fail(where, f"is written as [[{where}]]")
        return data

    def setting(self, where: str, layer: str, name: str, given: Any) -> Setting:
        knob = catalog().get(f"{layer}.{name}")
        if knob is None:
            names = [one.name for one in catalog().values() if one.layer.name == layer]
            raise self.fail(where, f"{layer} has no knob '{name}'{_near(name, names)}")
        try:
            values = of_knob(knob, given)
        except ValueMistake as mistake:
            raise self.fail(where, f"{name}: {mistake}") from mistake
        if knob.safety == "all-ranks" and knob.safety not in self.accept:
            line = f'{name}: {SAFETY[knob.safety]}; write accept = ["all-ranks"] if they do'
            raise self.fail(where, line)
        return Setting(knob, values)

    def settings(self, where: str, table: Any, layer: str, routes: Sequence[str]) -> list[Setting]:
        if not isinstance(table, dict):
            raise self.fail(where, "must be a table")
        settings = [self.setting(where, layer, name, given) for name, given in table.items()]
        for setting in settings:
            if setting.knob.route not in routes:
                raise self.fail(where, f"{setting.knob.name} {_belongs(setting.knob)}")
        return settings


def _belongs(knob: Knob) -> str:
    if knob.route == "layout":
        return f"is a layout: write it under [layout.{knob.layer.name}] of a [[layout]]"
    if knob.route in OF_FILES:
        return "holds for files: write it under [[file]]"
    return f"holds for the whole launch: write it under [launch.{knob.layer.name}]"


def _near(word: str, words: Sequence[str]) -> str:
    similar = difflib.get_close_matches(word, words, 3)
    return f"; there {'is' if len(similar) == 1 else 'are'} {', '.join(similar or words)}"


def layers_of(routes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(k.layer.name for k in catalog().values() if k.route in routes))
