"""The web UI on a run of ten million calls: seconds and bytes of the first screen and of gestures in a real browser.

FATHOM_VIEW_CALLS=100000000 makes the run larger. What a run's first opening costs more, until its tiles and the
rest that is kept are made, is told apart. Baseline: the same on a run of a hundred ranks: what the page itself takes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import findings
from tools import FATHOM, ROOT, BenchError, Row, cost, scratch, size_of

sys.path.insert(0, str(ROOT / "tests"))

from fathom.cli.view import LARGE
from fathom.webapi.answers.by_time import COPY
from fathom.webapi.report.requests import whole
from harness import browser, planted

CALLS, RANKS = 10_000_000, 4096
# Seconds that a first opening may take.
browser.PATIENCE = 900.0
FIRST_SCREEN, GESTURE = 2.0, 0.3
MEGABYTE, NODES = 1e6, 3000
ROUNDS = 4
#: Of the baseline.
FEW_RANKS, FEW_CALLS = 100, 50_000
TICK = os.sysconf("SC_CLK_TCK")
SECOND = 1_000_000_000
LAST_BURST = 22_400_000_000

Steps = Iterator[dict[str, str]]


@dataclass
class Measured:
    """One kind of gesture, each time it was made."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    body: list[int] = field(default_factory=list)
    nodes: int = 0


def zooms(run: Any) -> Steps:
    """Views around the slow write, each half the one before."""
    for step in range(1, ROUNDS + 1):
        width, lanes = 24 * SECOND >> step, run.ranks >> step
        first, lane = LAST_BURST - width // 2, max(0, run.writer - lanes // 2)
        yield {"w": f"{first}-{first + width}", "wl": f"{lane}-{lane + lanes - 1}"}


def brushes(run: Any) -> Steps:
    """Selections: a burst, and a part of the ranks."""
    lanes = run.ranks // ROUNDS
    for step in range(ROUNDS):
        first = 400_000_000 + 2 * SECOND * step
        yield {
            "t": f"{first}-{first + SECOND}",
            "lanes": f"{step * lanes}-{(step + 1) * lanes - 1}",
        }


def calls(run: Any) -> Steps:
    """The slow write, and others of its rank."""
    for step in range(ROUNDS):
        yield {"call": str(run.slow_write - step * planted.CALLS_OF_A_TREE)}


GESTURES: dict[str, tuple[str, Callable[[Any], Steps]]] = {
    "heat map, a zoom": ("heat", zooms),
    "timeline, a zoom": ("timeline", zooms),
    "call explorer, another call": ("call", calls),
    "layers of a brush": ("layers", brushes),
    "latency of a brush": ("latency", brushes),
    "files of a brush": ("files", brushes),
    "servers of a brush": ("servers", brushes),
}


def processor_seconds() -> float:
    """Of all processes that this one started: the server and the browser. Of those that still run, so a difference of
    two looks is that of the time between them."""
    used: dict[int, float] = {}
    parent: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            parent[int(stat.parent.name)] = int(words[1])
            used[int(stat.parent.name)] = (int(words[11]) + int(words[12])) / TICK
    mine, before = {os.getpid()}, 0
    while len(mine) > before:
        before = len(mine)
        mine |= {one for one, above in parent.items() if above in mine}
    return sum(used.get(one, 0) for one in mine - {os.getpid()})


def note(measured: Measured, look: Any, act: Callable[[], float]) -> None:
    """One gesture's figures; `act` gives its seconds."""
    before, used = look.body, processor_seconds()
    measured.seconds.append(act())
    measured.processor.append(processor_seconds() - used)
    measured.body.append(look.body - before)
    measured.nodes = max(measured.nodes, look.nodes())


def gestures(look: Any, run: Any) -> dict[str, Measured]:
    """All kinds, one after the other on one page."""
    measured = {what: Measured() for what in GESTURES}
    for what, (screen, steps) in GESTURES.items():
        look.go(screen)
        for given in steps(run):
            note(measured[what], look, partial(look.go, screen, **given))
    return measured


def first_screen(live: Any) -> Measured:
    """A fresh page, from the address to all that the overview says; findings may come after it."""
    one = Measured()
    with live.fresh() as look:

        def opened() -> float:
            began = time.monotonic()
            look.page.goto(live.origin, wait_until="commit")
            look.page.wait_for_selector(".verdict", timeout=browser.PATIENCE * 1000)
            return time.monotonic() - began

        note(one, look, opened)
        look.settle()
    return one


def both(live: Any, run: Any) -> dict[str, tuple[float, Measured]]:
    """What has a target: its seconds, and what was measured."""
    with_targets = {"first screen": (FIRST_SCREEN, first_screen(live))}
    with live.look() as look:
        by_gesture = gestures(look, run)
    return with_targets | {what: (GESTURE, one) for what, one in by_gesture.items()}


def row_of(what: str, measured: Measured, few: Measured, seconds: float, full: bool) -> list[Row]:
    """Seconds of the slowest, bytes of the largest, elements of the page."""
    worst, body, least = max(measured.seconds), max(measured.body) / MEGABYTE, max(few.seconds)
    page = "; with the page" if what.startswith("first") else ""
    return [
        Row(what, worst * 1000, "ms", least * 1000, worst / least, f"<= {seconds * 1000:g} ms" if full else "",
            worst <= seconds if full else None),
        Row("  processor time, server and browser", max(measured.processor) * 1000, "ms", max(few.processor) * 1000),
        Row(f"  bytes of the largest answer to it{page}", body, "MB", target="<= 1 MB", met=body <= 1),
        Row("  elements of the page", measured.nodes, "", target=f"< {NODES}", met=measured.nodes < NODES),
    ]  # fmt: skip


def report(run: Path, directory: Path) -> list[Row]:
    """The file to mail: how long, how large."""
    file = directory / "report.html"
    took = cost([FATHOM, "report", run, "-o", file])
    size = file.stat().st_size / MEGABYTE
    return [
        Row("fathom report", took.seconds, "s"),
        Row("  memory", took.gib, "GiB"),
        Row("  size", size, "MB", target="<= 5 MB", met=size <= 5),
    ]


def first_opening(run: Any, chromium: Any) -> list[Row]:
    """From the command to the first screen, to when all screens are as quick as they get, and to all that is found."""
    began, rows = time.monotonic(), []

    def note(what: str) -> None:
        rows.append(Row(what, time.monotonic() - began, "s"))

    with browser.live(chromium, run.path) as live, live.fresh() as look:
        look.page.goto(live.origin)
        look.page.wait_for_selector(".verdict", timeout=browser.PATIENCE * 1000)
        note("the first time a run is opened: its overview")
        while run.calls > LARGE and not (run.path / "tables" / COPY.name).is_file():
            time.sleep(1)
        note("  with what its pictures are drawn from")
        for one in whole(run.path.stem, {}):
            look.answer(one.name, **one.parameters)
        note("  with what its screens begin with")
        look.settle()
        note("  with its findings")
    return rows


def seen(run: Any, chromium: Any) -> dict[str, tuple[float, Measured]]:
    """A run that was opened before."""
    with browser.live(chromium, run.path) as live:
        return both(live, run)


def of_run(run: Any, few: Any, chromium: Any, full: bool) -> list[Row]:
    """Opened twice: the first time makes the tiles, and what is kept of answers."""
    rows = first_opening(run, chromium)
    first_opening(few, chromium)
    base = seen(few, chromium)
    for what, (target, one) in seen(run, chromium).items():
        rows += row_of(what, one, base[what][1], target, full)
    return rows


def rows(quick: bool) -> list[Row]:
    """A planted run, viewed and reported."""
    if not shutil.which("chromium") or not browser.DIST.is_file():
        raise BenchError("needs chromium and web/dist/index.html: make deps web")
    number = int(os.environ.get("FATHOM_VIEW_CALLS", CALLS // 100 if quick else CALLS))
    with scratch() as directory, browser.chromium() as chromium:
        ranks = RANKS // 16 if quick else RANKS
        run = planted.make(planted.sized(directory / "planted.fathom", ranks, number))
        few = planted.make(planted.sized(directory / "few.fathom", FEW_RANKS, FEW_CALLS))
        size_rows = [
            Row("calls of the run", run.calls / 1e6, "M"),
            Row(
                "  bytes of its tables", size_of(run.path / "tables", "*.parquet") / MEGABYTE, "MB"
            ),
        ]
        full = number >= CALLS
        findings_rows = findings.cost_rows("that run, asked by fathom show", run.path, full)
        return [
            *size_rows,
            *findings_rows,
            *of_run(run, few, chromium, full),
            *report(run.path, directory),
        ]
