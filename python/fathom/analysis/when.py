"""When in a run its I/O happens: in which parts of the run time, and what pattern that makes. At every level from table
`heat`, else from events. Times in seconds since the start of the run. Errors: `fathom.errors.RunError`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.own import LINES, PARTS, SECOND, heat, own, run_seconds

# The part of the busiest part's time that counts as I/O at all.
ACTIVE = 0.1
# Seconds without I/O that end no burst, a tenth of the run at most: a process that lost its processor is away so long.
PAUSE = 0.01


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
    starts, stops = (
        [at / SECOND for at in table[name].to_pylist() if at is not None]
        for name in ("first_start", "last_stop")
    )
    first, last = min(starts, default=None), max(stops, default=None)
    origin, rows = heat(source)
    width = _width(run)
    everyone = source.sql("from own_spread()")["units"][0].as_py()
    together = map(sum, zip(*_spent(rows, "processes"), strict=True))
    parts = [float(spent) / width / max(1, everyone) for spent in together]
    # Without durations no part has any I/O; few and long parts of a log say nothing of when.
    if (
        first is None
        or origin == "none"
        or not any(parts)
        or (origin == "heat" and _is_coarse(source, run))
    ):
        pattern = "none" if first is None else "unknown"
        return When("span", pattern, first, last, [], None, [])
    second = width / SECOND
    pattern, bursts, period = pattern_of(parts, max(1, min(PARTS // 10, int(PAUSE / second))))
    return When(
        source=origin,
        pattern=pattern,
        first=first,
        last=last,
        bursts=[(start * second, min(run, stop * second)) for start, stop in bursts],
        period=None if period is None else period * second,
        parts=parts,
    )


def _is_coarse(source: Source, run: float) -> bool:
    """Is a part of `heat` a quarter of the run and longer?"""
    longest = source.sql("select max(stop - start) as longest from heat")["longest"][0].as_py()
    return longest is not None and longest > run * SECOND / 4


def _width(run: float) -> int:
    """ns of one part of the run."""
    return max(1, -(-int(run * SECOND) // PARTS))


def _spent(rows: pa.Table, who: str) -> list[list[float]]:
    """ns by line and part; the last line is that of processes that are no ranks."""
    spent = [[0.0] * PARTS for _ in range(LINES + 1)]
    for row in rows.select(["line", "bin", who]).to_pylist():
        if row["bin"] is not None:
            spent[LINES if row["line"] is None else row["line"]][row["bin"]] = row[who]
    return spent


@dataclass(frozen=True)
class Line:
    """Neighbouring ranks (or processes), and the mean share of their time in I/O, in each of PARTS parts of the run."""

    first: int
    last: int
    units: int
    shares: list[float]


def lines(source: Source) -> list[Line]:
    """Everyone, in at most LINES lines. What threads or processes of a rank do side by side is at most all of its
    time."""
    rows, width = heat(source)[1], _width(run_seconds(source))
    spent = _spent(rows, "ranks")
    named = rows.select(["line", "first_unit", "last_unit", "units"]).to_pylist()
    by_line = {row["line"]: row for row in named if row["line"] is not None}
    return [
        Line(
            row["first_unit"],
            row["last_unit"],
            row["units"],
            [part / width / row["units"] for part in spent[at]],
        )
        for at, row in sorted(by_line.items())
    ]


def _bursts(parts: Sequence[float], pause: int) -> list[tuple[int, int]]:
    """Stretches [from, to) of parts with I/O; so many parts without do not end a stretch."""
    least = ACTIVE * max(parts)
    stretches: list[tuple[int, int]] = []
    for number, value in enumerate(parts):
        if value <= 0 or value < least:
            continue
        if stretches and number - stretches[-1][1] <= pause:
            stretches[-1] = (stretches[-1][0], number + 1)
        else:
            stretches.append((number, number + 1))
    return stretches


def _period(bursts: Sequence[tuple[int, int]]) -> float | None:
    """Parts from one burst's start to the next's, where at least three are the same, but for a quarter."""
    starts = [start for start, _ in bursts]
    gaps = [after - before for before, after in pairwise(starts)]
    if len(gaps) < 2:
        return None
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    return mean if spread <= 0.25 * mean else None


def pattern_of(
    parts: Sequence[float], pause: int = 1
) -> tuple[str, list[tuple[int, int]], float | None]:
    """What shares of I/O in equal parts of a run look like: pattern, bursts [from, to), their period, in parts.
    pause: parts without I/O that end no burst."""
    total = sum(parts)
    if total <= 0:
        return "none", [], None
    bursts = _bursts(parts, pause)
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
