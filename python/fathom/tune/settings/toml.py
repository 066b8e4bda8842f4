"""Settings written as a settings file."""

from collections.abc import Iterable, Iterator

from fathom.text import quoting
from fathom.tune.settings.settings import Rule, Setting, Settings


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
