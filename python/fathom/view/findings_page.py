"""The reference page of all findings, from the headers of their files.

python -m fathom.view.findings_page > docs/findings.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from fathom.analysis.findings import Rule, catalogue, read
from fathom.view import numbers

INTRODUCTION = """\
# Findings

What `fathom show RUN --findings` concludes, a file of SQL each in [catalog/findings](../catalog/findings/README.md),
in the order of the layer where they are mended. This page is made from their headers. What the store can do is learnt
from the run's own calls ([store.sql](../catalog/findings/shared/store.sql)); no threshold is a number of another
machine. What loses less than 10 ms and less than 1 % of the run time is not said.
"""
ORDER = ("hdf5", "netcdf", "pnetcdf", "mpiio", "posix", "stdio", "aio")


def _plain(words: str) -> str:
    """`{seconds:seconds}` -> *seconds*; what Markdown would take for a table's end is kept apart."""
    return re.sub(r"\{(\w+)(:\w+)?\}", r"*\1*", words).replace("|", "\\|")


def _entry(rule: Rule) -> str:
    lines = [
        f"### {rule.name}: {_plain(rule.title)}",
        "",
        f"{_plain(rule.says)}.",
        "",
        f"- **said when** {_plain(rule.limit)}",
        f"- **seconds** {_plain(rule.lost)}; {numbers.percent(rule.sure)} sure unless the run says otherwise",
        f"- **do** {_plain(rule.fix)}",
    ]
    if rule.knob:
        lines.append(f"- **knob** {_plain(rule.knob)}")
    lines.append(f"- **seen** {_plain(rule.seen)}")
    return "\n".join(lines) + "\n"


def _place(layer: str) -> tuple[int, str]:
    return (ORDER.index(layer) if layer in ORDER else len(ORDER), layer)


def page(rules: Iterable[Rule]) -> str:
    """The page, in Markdown."""
    parts = [INTRODUCTION]
    layer = ""
    for rule in sorted(rules, key=lambda one: (_place(one.layer), one.name)):
        if rule.layer != layer:
            layer = rule.layer
            parts.append(f"## {layer}\n")
        parts.append(_entry(rule))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page(map(read, catalogue())))
