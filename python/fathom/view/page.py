"""The page of `fathom show`: what a run did, in one screen."""

import json
import shlex
from datetime import UTC, datetime
from typing import Any

from fathom.analysis import Remembered, Source, summary
from fathom.store import as_json
from fathom.view import numbers
from fathom.view.part import Page, Part
from fathom.view.parts import PARTS
from fathom.view.tables import heading, printable, show


def compute(name: str, manifest: dict[str, Any], source: Source, per_call: float | None) -> Page:
    """Asks everything the page needs."""
    once = Remembered(source)
    ended = once.sql("select ended, count(*) as n from processes group by ended").to_pylist()
    how = {row["ended"]: row["n"] for row in ended}
    return Page(
        name=name,
        manifest=manifest,
        runs=once.sql("from runs").to_pylist()[0],
        tables={part.name: part.analyse(once) for part in PARTS},
        coverage=summary.coverage(once, manifest.get("configuration", {}).get("counted", [])),
        killed=how.get("killed", 0),
        alive=how.get("open", 0),
        per_call=per_call,
    )


def _facts(page: Page) -> None:
    runs, manifest = page.runs, page.manifest
    command = [str(word) for word in manifest.get("command", [])]
    started = datetime.fromtimestamp(runs["started"] / 1e9, UTC)
    ranks = f", {numbers.things(runs['ranks'], 'rank')}" if runs["ranks"] else ""
    if runs["ranks"] and runs["ranks_seen"] < runs["ranks"]:
        ranks += f" ({runs['ranks_seen']:,} recorded)"
    heading(f"{printable(page.name)}: {printable(shlex.join(command)) or 'batch environment'}")
    print(
        f"{started:%Y-%m-%d %H:%M:%S} UTC, ran {numbers.seconds(runs['duration'] / 1e9)}"
        f"{ranks}, {numbers.things(runs['processes'], 'process', 'processes')} "
        f"on {numbers.things(runs['nodes'], 'node')}{_exit(manifest)}"
    )


def _exit(manifest: dict[str, Any]) -> str:
    end = manifest.get("exit", {})
    if "signal" in end:
        return f", killed by signal {end['signal']}"
    return f", exit status {end['status']}" if "status" in end else ""


def _print_part(page: Page, part: Part, top: int) -> None:
    rows = page.tables[part.name]
    cut = not part.whole and rows.num_rows > top
    heading(f"\n{part.heading(page)}" + (f", {top} of {rows.num_rows:,}" if cut else ""))
    if part.columns:
        show(part.columns, rows.slice(0, top) if cut else rows)
    for line in part.words(page) if part.words else ():
        print(line)


def print_page(page: Page, top: int) -> None:
    """The whole page, to stdout."""
    _facts(page)
    if page.tables["layers"].num_rows == 0:
        heading("\nNo I/O call was recorded")
        print("  a static program, or no process of this run was traced: fathom doctor says more")
    for part in PARTS:
        if part.shown(page):
            _print_part(page, part, top)


def to_json(page: Page, top: int | None) -> str:
    """The page's tables with raw numbers; the names carry the units."""
    tables = {
        part.name: as_json(page.tables[part.name].slice(0, None if part.whole else top))
        for part in PARTS
    }
    content = {
        "format": 1,
        "name": page.name,
        "manifest": page.manifest,
        "run": {key: value for key, value in page.runs.items() if key != "configuration"},
        **tables,
        "tracing": tables["tracing"][0],
        "seconds_per_recorded_call": page.per_call,
        "killed": page.killed,
        "alive": page.alive,
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
