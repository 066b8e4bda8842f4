"""When in a run its I/O happens: in which parts of the run time, and what pattern that makes. At every level from table
`heat`, else from events. Times in seconds since the start of the run. Errors: `fathom.errors.RunError`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom.analysis import Source
from fathom.analysis.own import PARTS, SECOND, everyone, heat, own, run_seconds

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]
# The part of the busiest part's time that counts as I/O at all.
ACTIVE = 0.1


@dataclass(frozen=True)
class When:
    """When in the run does I/O happen?"""

    source: str  # `calls`, `heat` (reads and writes), `span` (first and last only)
    pattern: str  # none, throughout, periodic, start, middle, end, start and end, bursts, unknown
    first: float | None  # seconds since the start of the run
    last: float | None
    bursts: list[tuple[float, float]]  # from, to
    period: float | None  # between starts of bursts, when periodic
    parts: list[float]  # share of the ranks' time in I/O, in each of equal parts of the run


def when(source: Source) -> When:
    """In which parts of the run there is I/O, and what pattern that makes."""
    run = run_seconds(source)
    table = own(source)
    firsts = [value for value in table["first_start"].to_pylist() if value is not None]
    lasts = [value for value in table["last_stop"].to_pylist() if value is not None]
    first = min(firsts) / SECOND if firsts else None
    last = max(lasts) / SECOND if lasts else None
    origin, rows = heat(source)
    if not firsts or origin == "none":
        pattern = "unknown" if firsts else "none"
        return When("span", pattern, first, last, [], None, [])
    width = _width(run)
    _, shares = _shares_of(rows, width)
    parts = (shares.sum(axis=0) / max(1, len(everyone(source)))).tolist()
    pattern, bursts, period = pattern_of(parts)
    second = width / SECOND
    return When(
        source=origin,
        pattern=pattern,
        first=first,
        last=last,
        bursts=[(start * second, min(run, stop * second)) for start, stop in bursts],
        period=None if period is None else period * second,
        parts=parts,
    )


def _width(run: float) -> int:
    """ns of one part of the run."""
    return max(1, -(-int(run * SECOND) // PARTS))


def _shares_of(rows: pa.Table, width: int) -> tuple[Numbers, Shares]:
    """Processes in order, and of each the share of its time in I/O, part by part. Threads may make more than all: that
    is all."""
    cells = rows.group_by(["process", "bin"]).aggregate([("time", "sum")])
    process, part, time = (np.asarray(cells[name]) for name in ("process", "bin", "time_sum"))
    processes, row = np.unique(process, return_inverse=True)
    spent = np.zeros((len(processes), PARTS))
    np.add.at(spent, (row, np.clip(part, 0, PARTS - 1)), time / width)
    return processes, np.minimum(spent, 1.0)


def shares_by(source: Source, unit: str) -> dict[int, Shares]:
    """Of each `rank` or `process` the share of its time in I/O, in each of PARTS equal parts of the run."""
    processes, shares = _shares_of(heat(source)[1], _width(run_seconds(source)))
    found = dict(zip(processes.tolist(), shares, strict=True))
    if unit == "process":
        return found
    who = source.sql("select process, rank from processes where rank is not null order by process")
    ranks: dict[int, Shares] = {}
    nothing = np.zeros(PARTS)
    for process, rank in zip(who["process"].to_pylist(), who["rank"].to_pylist(), strict=True):
        mine, before = found.get(process, nothing), ranks.get(rank)
        ranks[rank] = mine if before is None else np.minimum(before + mine, 1.0)
    return ranks


def _bursts(parts: Sequence[float]) -> list[tuple[int, int]]:
    """Stretches [from, to) of parts with I/O; one part without does not end a stretch."""
    least = ACTIVE * max(parts)
    found: list[tuple[int, int]] = []
    for number, value in enumerate(parts):
        if value <= 0 or value < least:
            continue
        if found and number - found[-1][1] <= 1:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


def _period(bursts: Sequence[tuple[int, int]]) -> float | None:
    """Parts from one burst's start to the next's, where at least three are the same, but for a quarter."""
    starts = [start for start, _ in bursts]
    gaps = [after - before for before, after in pairwise(starts)]
    if len(gaps) < 2:
        return None
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    return mean if spread <= 0.25 * mean else None


def pattern_of(parts: Sequence[float]) -> tuple[str, list[tuple[int, int]], float | None]:
    """What shares of I/O in equal parts of a run look like: pattern, bursts [from, to), their period, in parts."""
    total = sum(parts)
    if total <= 0:
        return "none", [], None
    bursts = _bursts(parts)
    if sum(stop - start for start, stop in bursts) >= 2 / 3 * len(parts):
        return "throughout", bursts, None
    period = _period(bursts)
    if period is not None:
        return "periodic", bursts, period
    third = len(parts) / 3
    weights = [0.0, 0.0, 0.0]
    for number, value in enumerate(parts):
        weights[min(2, int((number + 0.5) / third))] += value / total
    for name, weight in zip(("start", "middle", "end"), weights, strict=True):
        if weight >= 0.8:
            return name, bursts, None
    if weights[0] + weights[2] >= 0.8 and min(weights[0], weights[2]) >= 0.2:
        return "start and end", bursts, None
    return "bursts", bursts, None
