"""Advice: a program that does what the first finding says of it is never slower than it was.

The pairs are those of tests/findings, on a slow store, and S3D on this machine's own store. By turns, without Fathom.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

from findings import ROUNDS, conclusions, lacking, seconds_of, trace, turns, turns_of
from harness import mistakes
from harness.runner import Failed
from tools import BenchError, Row, scratch

#: Speed afterwards, of what it was.
LEAST_SPEED = 0.95
QUICK = ("small-accesses", "sync-churn")
SIZE, SIZE_QUICK = "-c 2 100 100 100 2 1 1", "-c 1 32 32 32 2 1 1"
#: How S3D moves its data -> finding -> options by which it does what the finding says.
OPTIONS = {
    "-m independent": {
        "independent-interleaved": "-m collective",
        "independent-small": "-m collective",
        "read-modify-write": "-m independent -H romio_ds_write=disable",
        "time-in-locks": "-m collective",
    },
    "-m collective": {
        "collective-forced": "-m independent",
        "few-aggregators": "-m collective -H cb_nodes=2 -H cb_config_list=*:2",
    },
}


def speed(what: str, seconds: list[tuple[float, float]], gate: bool) -> Row:
    """Medians before and after; `gate`: are there enough rounds for a claim?"""
    before, after = (statistics.median(side) for side in zip(*seconds, strict=True))
    return Row(
        what,
        after,
        "s",
        before,
        after / before,
        f"<= {1 / LEAST_SPEED:.2f}x" if gate else "",
        after * LEAST_SPEED <= before if gate else None,
    )


def of_pair(path: Path, rounds: int) -> Row | None:
    """A test file's row; None where its finding is a danger, which loses no time."""
    pair, name = mistakes.load(path), path.stem
    if missing := lacking(pair):
        return Row(f"{name}: not measured: {missing}", None, "s")
    every = conclusions(trace(path))
    if not [one for one in every if one["finding"] == pair.finding and one["lost_seconds"]]:
        return None
    first = every[0]["finding"]
    if first != pair.finding:
        return Row(f"{name}: {first} comes first, which the pair does not mend", None, "s")
    what = f"{name}: seconds when its advice is followed; before"
    return speed(what, turns_of(path, rounds), rounds > 1)


def of_s3d(how: str, size: str, rounds: int) -> Row:
    """S3D moving its data so, and as the first finding that its options can follow says."""
    words = f"s3d_mpiio {{}} {size} {{{{tmp}}}}"
    pair = mistakes.Pair(Path("s3d"), words.format(how), words.format(how), ranks=2)
    what = f"S3D {how}"
    if missing := lacking(pair):
        return Row(f"{what}: not measured: {missing}", None, "s")
    with scratch() as directory:
        seconds_of(pair, pair.guilty, directory / "s3d.fathom")
        names = [one["finding"] for one in conclusions(directory / "s3d.fathom")]
    rule = next((name for name in names if name in OPTIONS[how]), None)
    if rule is None:
        unfollowed = f"no option does what {', '.join(names)} says" if names else "no finding"
        return Row(f"{what}: {unfollowed}", None, "s")
    advised = OPTIONS[how][rule]
    after = replace(pair, innocent=words.format(advised))
    return speed(f"{what}: {rule}: {advised}; before", turns(after, rounds), rounds > 1)


def rows(quick: bool) -> list[Row]:
    """Every pair whose finding has seconds, then S3D."""
    rounds = 1 if quick else ROUNDS
    result = []
    for path in mistakes.pairs():
        if quick and path.stem not in QUICK:
            continue
        try:
            row = of_pair(path, rounds)
        except Failed as error:
            row = Row(f"{path.stem}: {str(error).splitlines()[0]}", None, "s", met=False)
        result += [row] if row else []
    try:
        size = SIZE_QUICK if quick else SIZE
        return [*result, *(of_s3d(how, size, rounds) for how in OPTIONS)]
    except (mistakes.MistakeError, Failed) as error:
        raise BenchError(str(error)) from error
