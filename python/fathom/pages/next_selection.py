"""The selection file of the next run, which records more of less; its command, and why, in words."""

import re
from typing import Any

from fathom.analysis import ranklist
from fathom.analysis.next_selection import Step
from fathom.text import numbers
from fathom.text.quoting import shell


def _text(value: str) -> str:
    """A string of TOML."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


def selection(step: Step, name: str) -> str:
    """The selection file (docs/selection.md) of this step after run `name`."""
    lines = [f"# After {name}: {why(step)}", "[job]"]
    if step.level == "call":
        lines.append("[file]")
    lines.append(f"[{step.level}]")
    if step.operations:
        lines.append(f"operations = {_text(step.operations)}")
    if step.ranks is not None:
        lines.append(f"ranks = {_text(ranklist.compress(step.ranks))}")
    if step.files:
        lines.append(f"files = [{', '.join(map(_text, step.files))}]")
    return "\n".join(lines) + "\n"


def why(step: Step) -> str:
    """What the step looks at, in a line."""
    many = step.ranks is None or len(step.ranks) > 1
    who = (
        f"{'ranks' if many else 'rank'} {ranklist.compress(step.ranks)}"
        if step.ranks
        else "all ranks"
    )
    share = numbers.percent(step.share)
    if step.level == "file":
        return f"each file on {who} ({share} of the I/O time)"
    what = {"read": "every read", "write": "every write", "both": "every read and write"}
    calls = what.get(step.operations or "", "every call")
    files = f"the files that took {share} of the time on files" if step.files else "all files"
    return f"{calls} on {files}, on {who}"


def next_name(name: str) -> str:
    """s3d -> s3d.2 -> s3d.3."""
    numbered = re.fullmatch(r"(.*)\.(\d+)", name)
    return f"{numbered[1]}.{int(numbered[2]) + 1}" if numbered else f"{name}.2"


def command(path: str, name: str, manifest: dict[str, Any]) -> str:
    """The command line of the next run; of a run inside a launcher, behind that."""
    program = [str(word) for word in manifest.get("command", [])]
    words = ["fathom", "run", "--select", path, "-o", next_name(name), "--"]
    return shell(words + program) if program else shell(words) + " PROGRAM"
