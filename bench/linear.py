"""Queries, findings and patterns of runs ten times as long each: does their time grow with the calls, and no faster?

What is compared is processor seconds: what else the machine does weighs least on them. FATHOM_LINEAR_CALLS=100000000
goes on to runs of that size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import findings
from query import GIB, QUERIES, SECONDS
from tools import FATHOM, Cost, Row, cost, pack, regular_run

FIRST, STEP = 1_000_000, 10
CLAIMED = 10_000_000  # events for which seconds and memory are promised
# Of ten times the events: what is more than ten times the work is not linear; so much may be chance.
NOISE = 1.25
ASKED: dict[tuple[str, ...], float | None] = {
    **{("query", *words.split()): SECONDS for words in QUERIES},
    ("show", "--findings", "--json"): findings.SECONDS,
    ("patterns",): None,
}


def costs(events: int) -> dict[tuple[str, ...], Cost]:
    """What each takes of one run."""
    with regular_run(events) as recorded:
        pack(recorded)
        return {words: cost([FATHOM, words[0], recorded, *words[1:]]) for words in ASKED}


def rows_of(
    words: tuple[str, ...], took: Cost, before: Cost | None, size: str, claimed: bool
) -> Iterator[Row]:
    """One command at one size: processor seconds against those of a tenth of the events; seconds by the clock."""
    linear = before.processor_seconds * STEP if before else None
    ratio = took.processor_seconds / linear if linear else None
    yield Row(
        f"fathom {' '.join(words)}, {size}: processor seconds; {STEP} x those of the run before",
        took.processor_seconds, "s", baseline=linear, ratio=ratio,
        target=f"<= {NOISE:g} x" if ratio else "", met=ratio <= NOISE if ratio else None,
    )  # fmt: skip
    most = ASKED[words] if claimed else None
    yield Row(
        "  by the clock", took.seconds, "s",
        target=f"<= {most:g} s" if most else "", met=took.seconds <= most if most else None,
    )  # fmt: skip


def rows(quick: bool) -> list[Row]:
    """Sizes in turn, the smallest first."""
    events = FIRST // 100 if quick else FIRST
    largest = events * STEP if quick else int(os.environ.get("FATHOM_LINEAR_CALLS", CLAIMED))
    result: list[Row] = []
    before: dict[tuple[str, ...], Cost] = {}
    while events <= largest:
        took, claimed = costs(events), events == CLAIMED
        size = f"{events / 1e6:g} M events"
        for words in ASKED:
            result += rows_of(words, took[words], before.get(words), size, claimed)
        most = max(one.gib for one in took.values())
        result.append(
            Row(f"the most memory of one, {size}", most, "GiB", target=f"<= {GIB:g} GiB" if claimed else "",
                met=most <= GIB if claimed else None)
        )  # fmt: skip
        before, events = took, events * STEP
    return result
