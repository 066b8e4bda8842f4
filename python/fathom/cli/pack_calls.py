"""What `fathom pack --keep-calls-if` does: calls of nodes that show none of the reasons go, their sums stay."""

import sys
from pathlib import Path

import fathom
from fathom.errors import UsageError
from fathom.run import manifest
from fathom.run.engine import ask, engine
from fathom.text import numbers


def drop(directory: Path, text: str) -> None:
    """Decides for the whole run by its findings, then each node by its processes. Errors: UsageError."""
    what, _, limit = ask(["reasons", text], "").strip().partition(" ")
    if what == "wrong":
        raise UsageError(f"pack: --keep-calls-if: {limit}")
    manifest.keep_calls(directory, text)
    words = ["thin", str(directory), "--keep-if", text]
    if limit:
        lost, title = _largest(directory)
        worth = f"the largest finding is worth {numbers.seconds(lost)}"
        if lost > float(limit):
            print(f"fathom: calls kept: {worth}, above {limit} s: {title}", file=sys.stderr)
            return
        words += ["--besides", f"{worth}, not above {limit} s"]
    engine(*words)


def _largest(directory: Path) -> tuple[float, str]:
    """Seconds and title of the finding that loses most."""
    found = fathom.open(directory).findings().to_pylist()
    return max(((row["lost_seconds"] or 0.0, row["title"]) for row in found), default=(0.0, ""))
