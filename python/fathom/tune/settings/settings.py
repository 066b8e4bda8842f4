"""A settings file (docs/settings.md), read and checked: every mistake is one line before anything starts."""

import difflib
import re
import tomllib
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


def _layers(routes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(k.layer.name for k in catalog().values() if k.route in routes))


def read(path: Path) -> Settings:
    """A file's settings; raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".xml":
        from fathom.tune.settings import xml

        return xml.read(str(path), text)
    return read_text(str(path), text)


def read_text(name: str, text: str) -> Settings:
    """The settings of a text in TOML."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: is not TOML: {error}") from error
    reader = Reader(name)
    reader.table("", data, ("accept", "file", "launch", "layout"))
    accept = _words(reader, "accept", data.get("accept", []))
    for word in accept:
        if word not in SAFETY:
            raise reader.fail("accept", f"'{word}' is none of {', '.join(SAFETY)}")
    reader.accept = accept
    rules = [
        rule
        for number, table in enumerate(reader.tables("file", data.get("file", [])), 1)
        for rule in _file(reader, f"[[file]] {number}", table)
    ]
    layouts = [
        _layout(reader, f"[[layout]] {number}", table)
        for number, table in enumerate(reader.tables("layout", data.get("layout", [])), 1)
    ]
    layers = _layers(OF_LAUNCH)
    launch = [
        setting
        for layer, table in reader.table("[launch]", data.get("launch", {}), layers).items()
        for setting in reader.settings(f"[launch.{layer}]", table, layer, OF_LAUNCH)
    ]
    if not rules and not layouts and not launch:
        raise reader.fail("", "sets nothing; write [[file]], [launch] or [[layout]]")
    return Settings(tuple(rules), tuple(launch), tuple(layouts))


def _words(reader: Reader, where: str, given: Any) -> tuple[str, ...]:
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise reader.fail(where, "must be a text, or a list of texts")
    for word in words:
        if not word or not word.isprintable():
            raise reader.fail(where, f"'{word}' is empty, or has a line end")
    return tuple(words)


def _file(reader: Reader, where: str, data: Any) -> Iterator[Rule]:
    layers = _layers(OF_FILES)
    table = reader.table(where, data, ("match", "group", "dataset", *layers))
    files = _words(reader, f"{where} match", table.get("match", []))
    files += tuple(f"*/{name}" for name in _words(reader, f"{where} group", table.get("group", [])))
    own = [
        setting
        for layer in layers
        if layer in table
        for setting in reader.settings(f"{where} {layer}", table[layer], layer, OF_FILES)
    ]
    _check_hints(reader, where, own)
    if own:
        yield Rule(files, "", tuple(own))
    inner = reader.tables("file.dataset", table.get("dataset", []))
    if not own and not inner:
        raise reader.fail(where, f"sets nothing; there are {', '.join(layers)} and dataset")
    for dataset in inner:
        yield _dataset(reader, f"{where} dataset", files, dataset)


def _dataset(reader: Reader, where: str, files: tuple[str, ...], data: Any) -> Rule:
    if not isinstance(data, dict) or not isinstance(data.get("name"), str) or not data["name"]:
        raise reader.fail(where, 'which? write name = "/particles/*"')
    rest = {key: value for key, value in data.items() if key != "name"}
    settings = reader.settings(where, rest, "hdf5", OF_FILES)
    for setting in settings:
        if setting.knob.list not in OF_DATASETS:
            raise reader.fail(where, f"{setting.knob.name} belongs to a file, not to a dataset")
    if not settings:
        raise reader.fail(where, "sets nothing")
    return Rule(files, _words(reader, where, data["name"])[0], tuple(settings))


def _check_hints(reader: Reader, where: str, settings: Sequence[Setting]) -> None:
    """Two layers may know a hint of one name, which has one value."""
    known: dict[str, Setting] = {}
    for setting in settings:
        other = known.setdefault(setting.knob.name, setting)
        if other.values != setting.values:
            pair = f"{other.knob.key} = {other.text} and {setting.knob.key} = {setting.text}"
            raise reader.fail(where, f"{pair} are one hint; give it one value")


def _layout(reader: Reader, where: str, data: Any) -> Layout:
    layers = _layers(("layout",))
    table = reader.table(where, data, ("directory", *layers))
    if not isinstance(table.get("directory"), str):
        raise reader.fail(where, 'of which directory? write directory = "/ceph/out"')
    given = [layer for layer in layers if layer in table]
    if len(given) != 1:
        raise reader.fail(where, f"write one of {', '.join(layers)}")
    settings = reader.settings(where, table[given[0]], given[0], ("layout",))
    for setting in settings:
        if not setting.knob.attribute:
            raise reader.fail(
                where, f"{setting.knob.key} is not tried here and cannot be set; use lfs"
            )
    return Layout(Path(table["directory"]), tuple(settings))
