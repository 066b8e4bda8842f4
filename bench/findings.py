"""Findings: the seconds that they say are lost, against those really won when mended; and what asking costs.

The programs are those of tests/findings: one that makes the mistake, one that does the same work well, both on a slow
store. What is won is measured without Fathom, by the clock, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from tools import FATHOM, ROOT, BenchError, Row, cost, pack, regular_run, run, scratch

sys.path.insert(0, str(ROOT / "tests"))

from harness import mistakes
from harness.runner import Failed

EVENTS = 10_000_000
SECONDS = 20.0
MEMORY_GIB = 2.0
ROUNDS = 5
# Seconds below which the clock of a program's start and end says nothing.
LEAST_WON = 0.02


def seconds_of(pair: mistakes.Pair, words: str, run_directory: Path | None) -> float:
    """One run of one program; traced where there is a run directory."""
    with scratch() as tmp:
        return float(mistakes.execute(pair, words, tmp, run_directory))


def estimated(pair: mistakes.Pair, directory: Path) -> float:
    """What the finding says of the guilty program, over all that it names."""
    traced = directory / "guilty.fathom"
    seconds_of(pair, pair.guilty, traced)
    said = json.loads(run([FATHOM, "show", traced, "--findings", pair.finding, "--json"]))
    return float(sum(one["lost_seconds"] or 0 for one in said))


def won(pair: mistakes.Pair, rounds: int) -> float:
    """Median of the differences, guilty and innocent in turns."""
    return statistics.median(
        seconds_of(pair, pair.guilty, None) - seconds_of(pair, pair.innocent, None)
        for _ in range(rounds)
    )


def estimate_row(path: Path, rounds: int) -> Row:
    """One test file."""
    try:
        pair = mistakes.load(path)
        with scratch() as directory:
            said = estimated(pair, directory)
        real = won(pair, rounds)
    except (mistakes.MistakeError, Failed) as error:
        raise BenchError(str(error)) from error
    ratio = said / real if real > LEAST_WON else None
    within = pair.within
    return Row(
        f"{path.stem}: seconds said to be lost; won when mended",
        said,
        "s",
        baseline=real,
        ratio=ratio,
        target=f"within {within:g}x" if ratio else "a danger: no seconds",
        met=1 / within <= ratio <= within if ratio else None,
    )


def cost_rows(events: int) -> list[Row]:
    """All findings of one run of so many calls: seconds, and the most memory of the process that asks."""
    with regular_run(events) as recorded:
        pack(recorded)
        took = cost([FATHOM, "show", recorded, "--findings", "--json"])
    full = events >= EVENTS
    what = f"of {events / 1e6:.1f} M events"
    return [
        Row(f"all findings {what}", took.seconds, "s", target=f"<= {SECONDS:g} s" if full else "",
            met=took.seconds <= SECONDS if full else None),
        Row(f"memory of asking them {what}", took.gib, "GiB", target=f"<= {MEMORY_GIB:g} GiB" if full else "",
            met=took.gib <= MEMORY_GIB if full else None),
    ]  # fmt: skip


def rows(quick: bool) -> list[Row]:
    """Every test file of findings, then the cost."""
    estimates = [estimate_row(path, 1 if quick else ROUNDS) for path in mistakes.pairs()]
    return [*estimates, *cost_rows(EVENTS // 10 if quick else EVENTS)]
