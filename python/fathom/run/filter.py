"""What of a run is recorded: selection files, which the engine checks and compiles (docs/selection.md)."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathom.errors import RunError, UsageError
from fathom.files import is_file
from fathom.run import engine
from fathom.text.quoting import toml

LEVELS = ("off", "job", "file", "call")
COUNTED = ":counted"
#: In place of a selection: only who is critical in full (docs/selection.md).
CRITICAL = "critical"
Configuration = dict[str, Any]


def compile_text(text: str, name: str, programs: Sequence[Path]) -> str:
    """What processes read of it. `name` stands for the file in an error's line."""
    words = ["select", "-"]
    for program in programs:
        words += ["--program", str(program)]
    try:
        return engine.ask(words, text)
    except RunError as error:
        raise UsageError(name + str(error).removeprefix("selection")) from error


def asks_who_is_critical(compiled: Path) -> bool:
    """An agent is to find out."""
    return is_file(compiled) and "\ncritical " in compiled.read_text(encoding="utf-8")


def layers_of(text: str) -> set[str]:
    """Layers that a selection file names."""
    try:
        tables = [table for table in tomllib.loads(text).values() if isinstance(table, dict)]
    except tomllib.TOMLDecodeError:
        return set()
    named: set[str] = set()
    for table in tables:
        layers = table.get("layers", [])
        named.update([layers] if isinstance(layers, str) else layers)
    return {name.removesuffix(COUNTED) for name in named}


def patched(configuration: Configuration) -> set[str]:
    """Layers whose functions are seen in the run's processes: those asked for at its start."""
    return {
        *configuration.get("layers", []),
        *configuration.get("counted", []),
        *layers_of(configuration.get("selection", "")),
    }


def from_options(
    level: str, layers: str | None, files: Sequence[str], configuration: Configuration
) -> str:
    """The selection file that the short forms stand for."""
    if level == "off":
        return ""
    lines = [f"[{level}]"]
    if layers is not None:
        lines.append(f"layers = {toml(_layers(layers, configuration))}")
    if files:
        lines.append(f"files = {toml(files)}")
    return "\n".join(lines) + "\n"


def _layers(words: str, configuration: Configuration) -> list[str]:
    """A list that begins with + or - changes the run's own."""
    chosen = {}
    if words[:1] in "+-":
        chosen = dict.fromkeys(configuration.get("layers", []), "")
        chosen |= dict.fromkeys(configuration.get("counted", []), COUNTED)
    for word in words.split(","):
        name, colon, how = word.lstrip("+-").partition(":")
        chosen.pop(name, None)
        if not word.startswith("-"):
            chosen[name] = colon + how
    return [name + how for name, how in chosen.items()]
