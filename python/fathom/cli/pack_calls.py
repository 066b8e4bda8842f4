"""What `fathom pack --keep-calls-if` does: calls of nodes that show none of the reasons go, their sums stay."""

import re
import sys
from pathlib import Path

import fathom
from fathom.errors import UsageError
from fathom.run import manifest
from fathom.run.engine import engine
from fathom.text import numbers

FINDING = re.compile(r"finding>([0-9.]+)s")
OTHERS = re.compile(r"io>[0-9.]+%|errors|unfinished|failed")


def reasons(text: str) -> tuple[float | None, str]:
    """Seconds of a finding, if they are a reason, and the reasons that the engine asks for. Errors: UsageError."""
    limits, others = [], []
    for word in text.split(","):
        if finding := FINDING.fullmatch(word):
            limits.append(float(finding[1]))
        elif OTHERS.fullmatch(word):
            others.append(word)
        else:
            raise UsageError(
                f"pack: --keep-calls-if: '{word}' is no reason to keep calls; there are io>10%, errors, unfinished,"
                " failed, finding>5s"
            )
    return min(limits, default=None), ",".join(others)


def drop(directory: Path, text: str) -> None:
    """Decides for the whole run by its findings, then each node by its processes."""
    limit, others = reasons(text)
    manifest.keep_calls(directory, text)
    words = ["thin", str(directory), "--keep-if", others]
    if limit is not None:
        lost, title = _largest(directory)
        worth = f"the largest finding is worth {numbers.seconds(lost)}"
        if lost > limit:
            print(f"fathom: calls kept: {worth}, above {limit:g} s: {title}", file=sys.stderr)
            return
        words += ["--besides", f"{worth}, not above {limit:g} s"]
    engine(*words)


def _largest(directory: Path) -> tuple[float, str]:
    """Seconds and title of the finding that loses most."""
    found = fathom.open(directory).findings().to_pylist()
    return max(((row["lost_seconds"] or 0.0, row["title"]) for row in found), default=(0.0, ""))
