"""Findings: the seconds that they say are lost, against those really won when mended; and what asking costs.

The programs are those of tests/findings: one that makes the mistake, one that does the same work well, both on a slow
store. What is won is measured without Fathom, by the clock, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools import (
    FATHOM,
    NESTED,
    PROGRAMS,
    ROOT,
    BenchError,
    Row,
    cost,
    pack,
    regular_run,
    run,
    scratch,
)

sys.path.insert(0, str(ROOT / "tests"))

from harness import mistakes, needs
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


@cache
def traces() -> tempfile.TemporaryDirectory[str]:
    """Where traced guilty programs lie until the end: several parts ask them."""
    return tempfile.TemporaryDirectory(prefix="fathom-bench.")


@cache
def trace(path: Path) -> Path:
    """The guilty program of a test file, traced."""
    traced = Path(traces().name) / f"{path.stem}.fathom"
    pair = mistakes.load(path)
    seconds_of(pair, pair.guilty, traced)
    return traced


def conclusions(traced: Path, *rules: str) -> list[dict[str, Any]]:
    """What these rules find, or all."""
    words: list[str | Path] = [FATHOM, "show", traced, "--findings", *rules, "--json"]
    found: list[dict[str, Any]] = json.loads(run(words))
    return found


def estimated(pair: mistakes.Pair) -> float | None:
    """What the finding says of the guilty program, over all that it names; None: a danger, no loss of time."""
    reported = conclusions(trace(pair.path), pair.finding)
    if not reported:
        raise Failed("not found of the guilty program")
    seconds = [one["lost_seconds"] for one in reported if one["lost_seconds"] is not None]
    return float(sum(seconds)) if seconds else None


def turns(pair: mistakes.Pair, rounds: int) -> list[tuple[float, float]]:
    """Seconds of the guilty program and of the innocent one, by turns, without Fathom."""
    return [
        (seconds_of(pair, pair.guilty, None), seconds_of(pair, pair.innocent, None))
        for _ in range(rounds)
    ]


@cache
def turns_of(path: Path, rounds: int) -> list[tuple[float, float]]:
    """The same of a test file; parts that ask for them run the programs once."""
    return turns(mistakes.load(path), rounds)


def lacking(pair: mistakes.Pair) -> str:
    """What of the machine a pair needs and has not; empty: nothing."""
    wanted = [*pair.needs, *(needs.of_mpi(pair.mpi) if pair.ranks else [])]
    return next(filter(None, map(needs.missing, wanted)), "")


def compared(pair: mistakes.Pair, rounds: int) -> Row:
    """Seconds said and won. What is a danger has none, and is not measured."""
    lost = estimated(pair)
    if lost is None:
        return Row(f"{pair.path.stem}: said to be a danger, no seconds", None, "s")
    real = statistics.median(before - after for before, after in turns_of(pair.path, rounds))
    ratio = lost / real if real > LEAST_WON else None
    within = pair.within
    return Row(
        f"{pair.path.stem}: seconds said to be lost; won when mended",
        lost,
        "s",
        baseline=real,
        ratio=ratio,
        target=f"within {within:g}x" if ratio else "won too little for the clock to tell",
        met=1 / within <= ratio <= within if ratio else None,
    )


def estimate_row(path: Path, rounds: int) -> Row:
    """One test file."""
    try:
        pair = mistakes.load(path)
        if missing := lacking(pair):
            return Row(f"{path.stem}: not measured: {missing}", None, "s")
        return compared(pair, rounds)
    except Failed as error:
        # The others are measured all the same.
        return Row(f"{path.stem}: {str(error).splitlines()[0]}", None, "s", met=False)
    except mistakes.MistakeError as error:
        raise BenchError(str(error)) from error


def cost_rows(what: str, recorded: Path, full: bool) -> list[Row]:
    """All findings of one run: seconds, and the memory of the process that asks; `full`: is it of the promised size."""
    took = cost([FATHOM, "show", recorded, "--findings", "--json"])
    return [
        Row(f"all findings of {what}", took.seconds, "s", target=f"<= {SECONDS:g} s" if full else "",
            met=took.seconds <= SECONDS if full else None),
        Row("  processor seconds", took.processor_seconds, "s"),
        Row("  memory", took.gib, "GiB", target=f"<= {MEMORY_GIB:g} GiB" if full else "",
            met=took.gib <= MEMORY_GIB if full else None),
    ]  # fmt: skip


def costs(events: int) -> Iterator[Row]:
    """Runs of so many events, in the one of POSIX alone, in the other of MPI-IO with POSIX inside."""
    programs = [("calls of POSIX", PROGRAMS / "regular", 1)]
    if NESTED.exists():  # MPICH is installed
        programs.append(("MPI-IO and POSIX inside it", NESTED, 2))
    for what, program, of_a_call in programs:
        with regular_run(events // of_a_call, program) as recorded:
            pack(recorded)
            yield from cost_rows(f"{events / 1e6:g} M {what}", recorded, events >= EVENTS)


def rows(quick: bool) -> list[Row]:
    """Every test file of findings, then the cost."""
    rounds, pairs = (1, mistakes.pairs()[:2]) if quick else (ROUNDS, mistakes.pairs())
    estimates = [estimate_row(path, rounds) for path in pairs]
    return [*estimates, *costs(EVENTS // 1000 if quick else EVENTS)]
