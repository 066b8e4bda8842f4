"""The reference page of all findings, from the headers of their files.

python -m fathom.pages.findings_page > docs/findings.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from fathom.analysis.advice import PART
from fathom.analysis.causes import CAUSES, KERNEL
from fathom.analysis.findings import Rule, catalog, read
from fathom.text import numbers

INTRODUCTION = """\
# Findings

What `fathom show RUN --findings` concludes, in the order of the layer where it is mended.
This page is made from the headers in [catalog/findings](../catalog/findings/README.md).
`tests/findings/NAME.toml` names two programs for each: one makes the mistake, one does the same work well.

- Each second of the program's own I/O calls belongs to one cause: the run's *account* ([`account()`](macros.md)).
  Beside them stands `start-up`: what a run-time did for itself on files of a network's file system.
  So do `faults`, by which mapped files were read, where `fathom run --kernel` recorded them.
  The bar of the run's time has both.
- A finding takes the cells of the account that its mistake fills, never more seconds than are in them.
  Two findings never take the same second, so what follows from the first is not said again.
- Seconds are of run time: those of the slowest process, before and after. They have an interval and a best value.
  Processes that ran one after another, as the commands of a script do, count as one ([`chains()`](macros.md)).
- What an access costs is learnt from the run's own calls, else from
  [other runs of the site](commands/landscape.md#what-accesses-cost-at-this-site), else from the [catalog](stores.md).
- The percentage says how sure a finding is. What to *do* differs from run to run where it is not said here.
  A part `(hdf5: …)` is said of programs that call that library themselves (`below`: or below another one).
- A *knob* with a value can be set from outside.
  [`fathom tune --try NAME`](commands/tune.md#one-finding) does it, and proves the gain.
- `half` is the size at which the store spends as long waiting as moving the bytes.
- A loss below 1 % of the run time, or below 0.5 ms, is left out.
  So is one that only its longest call explains: a busy machine can make a call 100 ms longer.

## Causes

| cause | what it is |
|---|---|
{causes}

[`fathom run --kernel`](kernel.md#in-the-account) also says what the kernel did in reads, writes and syncs.
That is a column of its own, `kernel`: a second of `transfer` stays one, and is of the `device` or the `cache`.

| kernel | what it is |
|---|---|
{kernel}
"""
ORDER = ("hdf5", "netcdf", "pnetcdf", "mpiio", "posix", "stdio", "aio")


def _where_it_fits(part: re.Match[str]) -> str:
    """`[hdf5: , a dataset]` -> `(hdf5: a dataset)`; what is a sentence stays one."""
    where, what = part[1].replace("|", " or "), re.sub(r"^[;,.:] ", "", part[2])
    return f". With {where}: {what}" if part[2].startswith(". ") else f" ({where}: {what})"


def _plain(words: str) -> str:
    """`{seconds:seconds}` -> *seconds*; what Markdown would take for a table's end or emphasis is kept apart, what is
    only said at times is there, with the library that it is about."""
    whole = re.sub(r"\[([^]]*)\]", r"\1", re.sub(PART, _where_it_fits, words)).replace("*", r"\*")
    whole = whole.replace("  ", " ").strip()
    apart = whole.replace("}{", "} {")  # one at another would be bold
    return re.sub(r"\{(\w+)(:\w+)?\}", r"*\1*", apart).replace("|", "\\|")


def _entry(rule: Rule) -> str:
    lines = [
        f"### {rule.name}: {_plain(rule.title)}",
        "",
        f"- **when** {_plain(rule.limit)}",
        f"- **seconds** {_plain(rule.lost)} ({numbers.percent(rule.sure)})",
    ]
    if not re.fullmatch(r"\{\w+\}", rule.fix):  # else each conclusion has its own
        lines.append(f"- **do** {_plain(rule.fix)}")
    if rule.knob:
        lines.append(f"- **knob** {_plain(rule.knob)}")
    if rule.ompio:
        lines.append(f"- **knob of OMPIO** {_plain(rule.ompio)}")
    if rule.causes:
        lines.append(f"- **causes** {', '.join(cause for cause in CAUSES if cause in rule.causes)}")
    lines.append(f"- **source** {_plain(rule.seen)}")
    return "\n".join(lines) + "\n"


def _place(layer: str) -> tuple[int, str]:
    return (ORDER.index(layer) if layer in ORDER else len(ORDER), layer)


def page(rules: Iterable[Rule]) -> str:
    """The page, in Markdown."""
    causes, kernel = (
        "\n".join(f"| {name} | {means} |" for name, means in table.items())
        for table in (CAUSES, KERNEL)
    )
    parts = [INTRODUCTION.format(causes=causes, kernel=kernel)]
    layer = ""
    for rule in sorted(rules, key=lambda one: (_place(one.layer), one.name)):
        if rule.layer != layer:
            layer = rule.layer
            parts.append(f"## {layer}\n")
        parts.append(_entry(rule))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page(map(read, catalog())))
