"""A run against limits: which of them it breaks, by how much, and the source lines that did it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree

from fathom.analysis.limits import QUANTITIES, Amounts, Line, Part
from fathom.assist.limits import Limit
from fathom.assist.sarif import Result, Rule
from fathom.errors import printable
from fathom.text import numbers

FORMAT = 1
HELP = "docs/commands/check.md"


@dataclass(frozen=True)
class Verdict:
    """One limit, and what the run has of it."""

    limit: Limit
    value: float | None  # none: there is none of it
    bound: float
    holds: bool
    lines: list[Line]  # of a limit that is broken: where most of it is from


def verdicts(amounts: Amounts, limits: Sequence[Limit]) -> list[Verdict]:
    """Each limit in its order. Errors: `fathom.errors.NotRecorded` of what the run does not tell."""
    parts = dict.fromkeys(one.part for one in limits)
    of = {part: amounts.of(part) for part in parts}
    return [_verdict(amounts, one, of[one.part]) for one in limits]


def _verdict(amounts: Amounts, limit: Limit, of: dict[str, float | None]) -> Verdict:
    holds = limit.holds(of)
    lines = [] if holds else amounts.lines(limit.part, limit.quantity)
    return Verdict(limit, of[limit.quantity], limit.bound(of), holds, lines)


def written(quantity: str, value: float | None) -> str:
    """A value for people."""
    unit = QUANTITIES[quantity][0]
    if unit == "bytes":
        return numbers.size(value)
    if unit == "share":
        return numbers.percent(value)
    return numbers.seconds(value) if unit == "seconds" else numbers.count(value)


def place(line: Line) -> str:
    """`columns.py:8 <genexpr>`."""
    where = PurePath(line.source or "unknown place").name
    numbered = where if line.line is None else f"{where}:{line.line}"
    return printable(f"{numbered} {line.function}".rstrip())


def blame(verdict: Verdict) -> str:
    """Each line, and how much is from there."""
    quantity = verdict.limit.quantity
    # What keeps a share low is counted, not shared.
    unit = "requests" if quantity == "collective" else quantity
    return ", ".join(f"{place(one)}: {written(unit, one.amount)}" for one in verdict.lines)


def sentence(verdict: Verdict) -> str:
    """What is broken, in one line."""
    limit = verdict.limit
    value, bound = (written(limit.quantity, one) for one in (verdict.value, verdict.bound))
    of = f" ({bound})" if limit.factor else ""
    return f"{limit.part}: {limit.quantity} is {value}, and its limit is {limit.text}{of}"


def as_json(name: str, every: Sequence[Verdict]) -> dict[str, Any]:
    """For other programs: raw numbers; the unit and what is counted of each."""
    return {
        "format": FORMAT,
        "name": name,
        "broken": sum(not one.holds for one in every),
        "limits": [_as_json(one) for one in every],
    }


def _as_json(verdict: Verdict) -> dict[str, Any]:
    limit = verdict.limit
    unit, counts = QUANTITIES[limit.quantity]
    return {
        "files": limit.part.files,
        "region": limit.part.region,
        "quantity": limit.quantity,
        "unit": unit,
        "counts": counts,
        "limit": limit.text,
        "bound": verdict.bound,
        "value": verdict.value,
        "kept": verdict.holds,
        "lines": [vars(one) for one in verdict.lines],
    }


def results(every: Sequence[Verdict]) -> list[Result]:
    """Those that are broken, for SARIF: one at each line, or without a place."""
    return [one for verdict in every if not verdict.holds for one in _results(verdict)]


def _results(verdict: Verdict) -> list[Result]:
    quantity = verdict.limit.quantity
    rule = Rule(f"io-{quantity.replace('_', '-')}", QUANTITIES[quantity][1], HELP)
    message = f"{sentence(verdict)}. {blame(verdict)}".strip(". ")
    places = [(line.source, line.line) for line in verdict.lines] or [(None, None)]
    return [Result(rule, message, source, line) for source, line in places]


def junit(name: str, every: Sequence[Verdict], seconds: float) -> str:
    """A test suite with a test for each limit."""
    broken = sum(not one.holds for one in every)
    suite = ElementTree.Element(
        "testsuite", name=f"fathom check {printable(name)}", tests=str(len(every)),
        failures=str(broken), errors="0", skipped="0", time=f"{seconds:.3f}",
    )  # fmt: skip
    for one in every:
        test = ElementTree.SubElement(
            suite, "testcase", classname=_class(one.limit.part),
            name=printable(f"{one.limit.quantity} {one.limit.text}"), time="0",
        )  # fmt: skip
        if not one.holds:
            failure = ElementTree.SubElement(test, "failure", message=printable(sentence(one)))
            failure.text = "\n".join(
                f"{printable(line.source)}:{line.line} {printable(line.function)}"
                for line in one.lines
            )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _class(part: Part) -> str:
    return printable(f"io.{part}")
