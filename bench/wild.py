"""What is said of logs of real jobs: against what their jobs won when they were mended, and how much of their I/O time
has a named cause. The logs and the truth are those of tests/harness/wild.py."""

from __future__ import annotations

import sys
from pathlib import Path

from fathom.analysis import findings
from fathom.analysis.findings import Finding
from fathom.run.store import Run, open_run
from fathom.text import numbers
from tools import FATHOM, ROOT, Row, run, scratch

sys.path.insert(0, str(ROOT / "tests"))

from harness import needs, wild

#: One of the mended, and one of the well done.
QUICK = ("aiio-ior-write-1k", "aiio-tmatch-merged")


def headline(name: str, first: Finding | None) -> str:
    """The first finding and its interval."""
    if first is None:
        return f"{name}: no finding"
    between = " to ".join(map(numbers.seconds, first.between or ()))
    return f"{name}: {first.rule.name}, {between or 'no seconds'}"


def of_mended(name: str, first: Finding | None, truth: wild.Truth) -> Row:
    """The first finding beside the truth."""
    what = headline(name, first)
    lost = first.lost if first else None
    right = first is not None and first.rule.name == truth.rule
    if truth.won is None:
        return Row(f"{what}; nobody mended it", lost, "s", target=truth.rule, met=right)
    least, most = (first and first.between) or (0.0, 0.0)
    ratio = (lost or 0.0) / truth.won
    inside = least <= truth.won <= most
    within = 1 / wild.WITHIN <= ratio <= wild.WITHIN
    return Row(
        f"{what}, the truth {'inside' if inside else 'OUTSIDE'}; won when mended",
        lost,
        "s",
        baseline=truth.won,
        ratio=ratio,
        target=f"{truth.rule}, inside, within {wild.WITHIN}x",
        met=right and inside and within,
    )


def judgement(name: str, conclusions: list[Finding]) -> Row:
    """What comes first, beside what is known of the log."""
    first = next(iter(conclusions), None)
    if name in wild.TRUTHS:
        return of_mended(name, first, wild.TRUTHS[name])
    what, lost = headline(name, first), first.lost if first else None
    if name in wild.WELL:
        return Row(f"{what}; well done", lost, "s", target="no finding", met=not conclusions)
    return Row(f"{what}; the truth is not known", lost, "s")


def named_share(name: str, opened: Run) -> Row:
    """How much of all processes' I/O time has a cause; what has none is shown as `unexplained`."""
    sums = opened.sql(
        "select sum(time) / 1e9 as io, sum(time) filter (cause <> 'unexplained') / 1e9 as named from account()"
    ).to_pylist()[0]
    io, named = sums["io"] or 0.0, sums["named"] or 0.0
    what = f"{name}: seconds of I/O with a named cause; all"
    return Row(what, named, "s", io, named / io if io else None)


def of_log(log: Path) -> list[Row]:
    """The rows of one log."""
    with scratch() as directory:
        recorded = directory / "run.fathom"
        run([FATHOM, "import", "darshan", log, "-o", recorded])
        opened = open_run(recorded, quiet=True)
        conclusions = findings.find(opened, findings.catalog()).conclusions
        return [judgement(log.stem, conclusions), named_share(log.stem, opened)]


def rows(quick: bool) -> list[Row]:
    """Of every log that is here; one row that says so where there are none."""
    folder = wild.folder()
    lacking = "" if folder else "logs of real jobs are not here (shared/wild, FATHOM_WILD)"
    lacking = lacking or needs.missing("python:darshan")
    if lacking or folder is None:
        return [Row(f"skipped: {lacking}", None, "s")]
    names = [name for name in wild.logs() if name in QUICK or not quick]
    return [row for name in names for row in of_log(folder / f"{name}.darshan")]
