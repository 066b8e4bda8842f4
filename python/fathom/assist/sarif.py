"""Results at source lines as SARIF 2.1.0 (OASIS), which code hosts and editors show at the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fathom import __version__
from fathom.errors import printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"


@dataclass(frozen=True)
class Rule:
    """What a result is an instance of."""

    id: str
    says: str
    help: str  # a page of the docs


@dataclass(frozen=True)
class Result:
    """One result; without a source it has no place."""

    rule: Rule
    message: str
    source: str | None
    line: int | None
    level: str = "error"  # error, warning, note


def log(results: Sequence[Result]) -> dict[str, Any]:
    """The log of one tool. Files below this directory are named from it: a code host knows them so."""
    rules = list({one.rule.id: one.rule for one in results}.values())
    driver = {
        "name": "Fathom",
        "version": __version__,
        "rules": [
            {"id": rule.id, "shortDescription": {"text": rule.says}, "help": {"text": rule.help}}
            for rule in rules
        ],
    }
    at = {rule.id: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {ROOT: {"uri": f"file://{quote(str(Path.cwd()))}/"}},
        "results": [_result(one, at[one.rule.id]) for one in results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(result: Result, rule: int) -> dict[str, Any]:
    content: dict[str, Any] = {
        "ruleId": result.rule.id,
        "ruleIndex": rule,
        "level": result.level,
        "message": {"text": printable(result.message)},
    }
    if result.source:
        place: dict[str, Any] = {"artifactLocation": _file(result.source)}
        if result.line:
            place["region"] = {"startLine": result.line}
        content["locations"] = [{"physicalLocation": place}]
    return content


def _file(source: str) -> dict[str, Any]:
    path = Path(source)
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(str(path.relative_to(Path.cwd()))), "uriBaseId": ROOT}
    return {"uri": f"file://{quote(source)}" if path.is_absolute() else quote(source)}
