"""What was found in a run, cached beside its tables: to ask all rules takes longer than all else that a page says."""

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fathom.analysis import findings
from fathom.analysis.causes import bar_of
from fathom.analysis.findings import Finding, Findings
from fathom.cache.answers import program
from fathom.cache.files import SLOW, CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.errors import FathomError
from fathom.run.store import Run

FOLDER = "findings"


def find(run: Run, rule_files: Sequence[Path], asked: Callable[[], Run] | None = None) -> Findings:
    """What `fathom.analysis.findings.find` gives; of a run that was asked the same before, what it gave then. `asked`
    gives the same run with a database of its own, for the rules."""
    folder = CacheFolder(
        run.path / "tables" / FOLDER,
        lambda: fingerprint(run.path, f"{program()} {run.with_runtime}"),
    )
    key = _key(rule_files)
    content = folder.read(key) if key else None
    if content is not None:
        with contextlib.suppress(ValueError, TypeError, KeyError, FathomError):
            return _from_json(json.loads(content))
    began = time.monotonic()
    ranked = findings.find(asked() if asked else run, rule_files)
    if key and not ranked.broken and time.monotonic() - began > SLOW:
        folder.write(key, json.dumps(_to_json(ranked)).encode())
    return ranked


def _key(rule_files: Sequence[Path]) -> str | None:
    """The rules' names and texts; none where one cannot be read."""
    with contextlib.suppress(OSError):
        texts = [(str(path), path.read_bytes()) for path in rule_files]
        return hashlib.sha256(repr(texts).encode()).hexdigest()
    return None


def _to_json(ranked: Findings) -> dict[str, Any]:
    conclusions = [
        {**vars(one), "rule": str(one.rule.path), "here": [one.rule.fix, one.rule.knob]}
        for one in ranked.conclusions
    ]
    return {
        "conclusions": conclusions,
        "rules_asked": ranked.rules_asked,
        "without": ranked.without,
        "bar": asdict(ranked.bar),
    }


def _from_json(stored: dict[str, Any]) -> Findings:
    return Findings(
        [_finding(one) for one in stored["conclusions"]],
        stored["rules_asked"],
        stored["without"],
        {},
        bar_of(stored["bar"]),
    )


def _finding(stored: dict[str, Any]) -> Finding:
    fix, knob = stored.pop("here")
    rule = replace(findings.read(Path(stored.pop("rule"))), fix=fix, knob=knob)
    between = stored.pop("between")
    return Finding(rule=rule, between=tuple(between) if between else None, **stored)
