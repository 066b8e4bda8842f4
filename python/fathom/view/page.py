"""The page of `fathom show`: what a run did, in one screen."""

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from fathom.analysis import Source
from fathom.analysis.findings import Findings
from fathom.analysis.when import lines as heat_lines
from fathom.store import as_json
from fathom.view import answers, findings, heat, numbers
from fathom.view.part import Page, Part
from fathom.view.parts import PARTS
from fathom.view.tables import columns, emphasised, heading, printable, show


def compute(
    name: str,
    manifest: dict[str, Any],
    source: Source,
    per_call: float | None,
    find: Callable[[], Findings | None],
) -> Page:
    """The page of one run; what it says is asked when it is printed."""
    return Page(name, manifest, source, PARTS, per_call, find)


def _facts(page: Page) -> None:
    runs, manifest = page.runs, page.manifest
    command = [str(word) for word in manifest.get("command", [])]
    started = datetime.fromtimestamp(runs["started"] / 1e9, UTC)
    ranks = f", {numbers.things(runs['ranks'], 'rank')}" if runs["ranks"] else ""
    if runs["ranks"] and runs["ranks_seen"] < runs["ranks"]:
        ranks += f" ({runs['ranks_seen']:,} recorded)"
    servers = f", {numbers.things(page.servers, 'server')}" if page.servers else ""
    own = numbers.things(runs["processes"] - page.servers, "process", "processes")
    heading(f"{printable(page.name)}: {printable(shlex.join(command)) or 'batch environment'}")
    print(
        f"{started:%Y-%m-%d %H:%M:%S} UTC, ran {numbers.seconds(runs['duration'] / 1e9)}"
        f"{ranks}, {own}{servers} on {numbers.things(runs['nodes'], 'node')}{_exit(manifest)}"
    )


def _exit(manifest: dict[str, Any]) -> str:
    end = manifest.get("exit", {})
    if "signal" in end:
        return f", killed by signal {end['signal']}"
    return f", exit status {end['status']}" if "status" in end else ""


def _print_part(page: Page, part: Part, top: int) -> None:
    rows = page.table(part.name)
    cut = not part.whole and rows.num_rows > top
    heading(f"\n{part.heading(page)}" + (f", {top} of {rows.num_rows:,}" if cut else ""))
    if part.columns:
        show(part.columns, rows.slice(0, top) if cut else rows)
    for line in part.words(page) if part.words else ():
        print(line)


def _print_answers(page: Page) -> None:
    said = answers.sentences(page.answers, page.name)
    wide = max(len(question) for question, _ in said) + 2
    print()
    for question, lines in said:
        for number, line in enumerate(lines):
            emphasised(question.ljust(wide) if number == 0 else " " * wide, line)


def _print_heat(page: Page) -> None:
    when = page.answers.when
    if when.source == "span":
        return
    unit = page.answers.ranks.unit
    what = "reads and writes" if when.source == "heat" else "I/O"
    heading(f"\nWhen, by {unit} ({what}, of each {unit}'s time)")
    lines, run_seconds = heat_lines(page.source), page.answers.time.run_seconds
    for line in heat.paint(lines, unit, run_seconds, columns() - 1):
        print(line)


def print_page(page: Page, top: int) -> None:
    """The whole page, to stdout."""
    _facts(page)
    if page.table("layers").num_rows == 0:
        heading("\nNo I/O call was recorded")
        print("  a static program, or no process of this run was traced: fathom doctor says more")
    else:
        _print_answers(page)
        findings.print_worst(page.findings, page.name)
        _print_heat(page)
    for part in PARTS:
        if part.shown(page):
            _print_part(page, part, top)


def _answers_json(page: Page, top: int | None) -> dict[str, Any]:
    facts = {
        field.name: asdict(getattr(page.answers, field.name))
        for field in fields(page.answers)
        if field.name != "lines"
    }
    lines = page.answers.lines
    said = dict(answers.sentences(page.answers, page.name))
    return {**facts, "lines": None if lines is None else as_json(lines.slice(0, top)), "says": said}


def to_json(page: Page, top: int | None) -> str:
    """The page's tables with raw numbers; the names carry the units."""
    tables = {
        part.name: as_json(page.table(part.name).slice(0, None if part.whole else top))
        for part in PARTS
        if not part.alone
    }
    content = {
        "format": 1,
        "name": page.name,
        "manifest": page.manifest,
        "run": {key: value for key, value in page.runs.items() if key != "configuration"},
        "answers": _answers_json(page, top),
        "findings": page.findings and [findings.as_json(one) for one in page.findings.found[:top]],
        **tables,
        "tracing": tables["tracing"][0],
        "seconds_per_recorded_call": page.per_call,
        "killed": page.ended.get("killed", 0),
        "alive": page.ended.get("open", 0),
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
