"""Limits on a run's I/O, as io.toml and `@pytest.mark.io` have them.

`opens = "<= 10"`, `bytes_moved = "<= 1.1 * needed"`.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.analysis.limits import FACTORS, QUANTITIES, Amounts, Part
from fathom.errors import UsageError, printable, unknown
from fathom.text.quoting import toml

FORMAT = 1
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq,
}  # fmt: skip
UNITS = {
    "": 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "%": 0.01, "s": 1.0, "ms": 1e-3,
}  # fmt: skip
EXPRESSION = re.compile(
    r"\s*(<=|>=|==|<|>)\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(%|[A-Za-z]*)\s*(?:\*\s*(\w+))?\s*"
)
FORM = 'as "<= 10", "<= 1.5 GiB" or "<= 1.1 * needed"'
#: Groups of files that `written` gives limits of their own.
MOST_GROUPS = 30
#: Of seconds measured once, another run may take so many times as many.
SLACK = 2.0


@dataclass(frozen=True)
class Limit:
    """One quantity of one part compared with a number, or with a multiple of another amount."""

    part: Part
    quantity: str
    compare: str
    number: float
    factor: str | None  # of FACTORS
    text: str

    def bound(self, amounts: Mapping[str, float | None]) -> float:
        """The number that the quantity is compared with."""
        name = self.factor
        if name == "needed" and self.quantity in ("bytes_read", "bytes_written"):
            name = f"needed_{self.quantity.removeprefix('bytes_')}"
        return self.number * (amounts[name] or 0 if name else 1)

    def holds(self, amounts: Mapping[str, float | None]) -> bool:
        """Of what there is nothing, no limit is passed."""
        value = amounts[self.quantity]
        return value is None or COMPARE[self.compare](value, self.bound(amounts))


def limit(where: str, part: Part, quantity: str, text: object) -> Limit:
    """One limit. `where`: how a message begins. Errors: UsageError."""
    if quantity not in QUANTITIES:
        raise UsageError(unknown(f"{where}: no quantity", quantity, QUANTITIES))
    parsed = EXPRESSION.fullmatch(text) if isinstance(text, str) else None
    if not parsed:
        raise UsageError(f"{where}: {quantity}: '{printable(text)}' is no limit, {FORM}")
    compare, number, suffix, factor = parsed.groups()
    if suffix not in UNITS:
        raise UsageError(unknown(f"{where}: {quantity}: no unit", suffix, filter(None, UNITS)))
    if factor is not None and factor not in FACTORS:
        raise UsageError(unknown(f"{where}: {quantity}: nothing is called", factor, FACTORS))
    assert isinstance(text, str)
    return Limit(part, quantity, compare, float(number) * UNITS[suffix], factor, text.strip())


def read(path: Path) -> list[Limit]:
    """The limits of a file. Errors: UsageError with the file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"check: {printable(path)}: {printable(error)}") from error
    where = f"check: {printable(path)}"
    if content.pop("format", FORMAT) != FORMAT:
        raise UsageError(f"{where}: its format is not {FORMAT}, which this version reads")
    parts = [content.pop("run", {}), *_list(where, content.pop("part", []))]
    if content:
        raise UsageError(
            unknown(f"{where}: no key", next(iter(content)), ("format", "run", "part"))
        )
    limits = [one for table in parts for one in _of_part(where, table)]
    if not limits:
        raise UsageError(f"{where}: there is no limit in it; fathom check RUN --write makes some")
    return limits


def _list(where: str, parts: Any) -> list[Any]:
    if not isinstance(parts, list):
        raise UsageError(f"{where}: parts are written [[part]], not [part]")
    return parts


def _of_part(where: str, table: Any) -> Iterator[Limit]:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: run and part are tables of limits")
    names = {name: table.pop(name) for name in ("files", "region") if name in table}
    if not all(isinstance(name, str) for name in names.values()):
        raise UsageError(f"{where}: files and region are text")
    for quantity, text in table.items():
        yield limit(where, Part(**names), quantity, text)


def written(amounts: Amounts, seconds: bool) -> str:
    """A file of limits that this run keeps just so. `seconds`: also on time, SLACK times as much."""
    groups = amounts.groups()
    lines = [
        f"# Made from {printable(amounts.run.name)} by fathom check --write; docs/commands/check.md says what each is.",
        f"format = {FORMAT}",
        "",
        "[run]",
        *_limits(amounts, Part(), seconds),
    ]
    parts = (
        [Part(files=_escaped(group)) for group in groups[:MOST_GROUPS]] if len(groups) > 1 else []
    )
    parts += [Part(region=name) for name in amounts.regions()]
    for part in parts:
        lines += ["", "[[part]]"]
        if part.files is not None:
            lines.append(f"files = {toml(part.files)}")
        if part.region is not None:
            lines.append(f"region = {toml(part.region)}")
        lines += _limits(amounts, part, seconds)
    if len(groups) > MOST_GROUPS:
        lines += [
            "",
            f"# {len(groups) - MOST_GROUPS} more groups of files have no limits of their own.",
        ]
    return "\n".join(lines) + "\n"


def _limits(amounts: Amounts, part: Part, seconds: bool) -> Iterator[str]:
    of = amounts.of(part)
    for name in ("opens", "requests", "syncs", "bytes_read", "bytes_written"):
        yield f'{name} = "<= {of[name]:.0f}"'
    if of["needed"]:
        yield f'bytes_moved = "<= {_up((of["bytes_moved"] or 0) / of["needed"])} * needed"'
    if of["collective"] is not None:
        yield f'collective = ">= {math.floor(1000 * of["collective"]) / 1000:g}"'
    if seconds:
        yield f'seconds = "<= {_up(SLACK * (of["seconds"] or 0))}"'


def _up(value: float) -> str:
    """Three digits behind the point, rounded up."""
    return f"{math.ceil(1000 * value) / 1000:.3f}".rstrip("0").rstrip(".")


def _escaped(group: str) -> str:
    """A name as a glob, whose numbers are `*` already."""
    return re.sub(r"([\[?])", r"[\1]", group)
