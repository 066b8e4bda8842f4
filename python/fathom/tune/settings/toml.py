"""A settings file in TOML (docs/settings.md): read, and written."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fathom.catalog.knobs import SAFETY
from fathom.errors import UsageError
from fathom.text import quoting
from fathom.tune.settings.settings import (
    OF_DATASETS,
    OF_FILES,
    OF_LAUNCH,
    Layout,
    Reader,
    Rule,
    Setting,
    Settings,
    layers_of,
)


def text(settings: Settings) -> str:
    """A file that reads as these settings."""
    lines = []
    if any(one.knob.safety == "all-ranks" for one in settings.everything()):
        lines.append('accept = ["all-ranks"]')
    for rule in settings.rules:
        lines += ["[[file]]", *([f"match = {quoting.toml(rule.files)}"] if rule.files else [])]
        lines += _rule(rule)
    lines += _tables("launch", settings.launch)
    for layout in settings.layouts:
        lines += ["[[layout]]", f"directory = {quoting.toml(str(layout.directory))}"]
        lines += _tables("layout", layout.settings)
    return "\n".join(lines) + "\n"


def _rule(rule: Rule) -> Iterator[str]:
    if not rule.dataset:
        yield from _tables("file", rule.settings)
        return
    yield "[[file.dataset]]"
    yield f"name = {quoting.toml(rule.dataset)}"
    yield from map(_line, rule.settings)


def _tables(name: str, settings: Iterable[Setting]) -> Iterator[str]:
    layers: dict[str, list[Setting]] = {}
    for setting in settings:
        layers.setdefault(setting.knob.layer.name, []).append(setting)
    for layer, inside in layers.items():
        yield f"[{name}.{layer}]"
        yield from map(_line, inside)


def _line(setting: Setting) -> str:
    given = [_value(setting, number) for number in range(len(setting.values))]
    several = len(given) > 1 or setting.knob.values[0].many
    return f"{setting.knob.name} = {'[' + ', '.join(given) + ']' if several else given[0]}"


def _value(setting: Setting, number: int) -> str:
    """As the catalog calls it."""
    value = setting.knob.values[0 if setting.knob.values[0].many else number]
    word = setting.values[number]
    if value.numbers:
        return quoting.toml(value.words[value.numbers.index(int(word))])
    if value.kind == "bool":
        return "true" if word == "1" else "false"
    return word if value.kind in ("bytes", "int", "number") else quoting.toml(word)


def read(name: str, text: str) -> Settings:
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
    layers = layers_of(OF_LAUNCH)
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
    layers = layers_of(OF_FILES)
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
    layers = layers_of(("layout",))
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
