"""The first screen of a run as data: explain.schema.json says what each number is, in which unit, and where it is from.

`fathom explain --json` prints it; `fathom show --json` prints the same and all tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from fathom.analysis import ranklist, summary
from fathom.analysis.answers import Mapped
from fathom.analysis.causes import CAUSES, KERNEL, Bar, Share
from fathom.analysis.own import SECOND
from fathom.analysis.part import in_part
from fathom.pages import answers, facts, findings
from fathom.pages.part import Page
from fathom.pages.sections import PARTS
from fathom.run.manifest import command_line, failure, imported_by
from fathom.run.store import as_json, plain
from fathom.text import numbers as numerals

FORMAT = 1
SCHEMA = Path(__file__).with_name("explain.schema.json")
#: Parts of the page that `content` and `recording` have in a form of their own.
ELSEWHERE = ("missing", "tracing")

Content = dict[str, Any]


def content(page: Page, top: int | None = None) -> Content:
    """What the first screen says. `top`: of findings and of source lines only so many, the most seconds first."""
    return {
        "format": FORMAT,
        "name": page.name,
        "run": _run(page),
        "in_part": in_part(page.source, page.manifest),
        "account": page.findings and _account(page.findings.bar),
        "answers": _answers(page, top),
        "findings": page.findings
        and findings.listed(page.source, page.manifest, page.findings.conclusions[:top]),
        "missing": _missing(page),
    }


def with_tables(page: Page, top: int | None = None) -> Content:
    """The same, run.json, what recording took, and all tables of the page, for fathom.pages.written."""
    tables = {
        part.name: page.table(part.name).slice(0, None if part.whole else top)
        for part in PARTS
        if not part.alone and part.name not in ELSEWHERE
    }
    recording = {
        **as_json(page.table("tracing"))[0],
        "seconds_per_call": page.per_call,
        "left_out": as_json(summary.beside(page.source))[0],
    }
    return content(page, top) | {"manifest": page.manifest, "recording": recording, **tables}


def _run(page: Page) -> Content:
    runs = page.runs
    started = runs["started"] and datetime.fromtimestamp(runs["started"] // 10**9, UTC)
    return {
        "command": command_line(page.manifest),
        "imported_from": imported_by(page.manifest),
        "started": started.isoformat().replace("+00:00", "Z") if started else None,
        "seconds": runs["duration"] / SECOND,
        "ending": failure(page.manifest),
        "ranks": runs["ranks"],
        "ranks_recorded": runs["ranks_seen"],
        "processes": runs["processes"] - page.servers,
        "servers": page.servers,
        "nodes": runs["nodes"] if facts.knows_nodes(page) else None,
        "calls_in_full": runs["events"],
        "calls_counted": runs["counted"],
    }


def _account(bar: Bar) -> Content:
    return {
        "seconds": bar.run_seconds,
        "references": bar.references,
        "slowest": _share(bar.slowest, bar.run_seconds),
        "median": _share(bar.median, bar.run_seconds),
    }


def _share(share: Share | None, run_seconds: float) -> Content | None:
    if share is None:
        return None
    causes = [
        {
            "cause": cause,
            "means": CAUSES[cause],
            "seconds": seconds,
            "share": seconds / run_seconds if run_seconds else None,
        }
        for cause, seconds in share.causes.items()
    ]
    kernel = [
        {"kernel": name, "means": KERNEL[name], "seconds": seconds}
        for name, seconds in share.kernel.items()
    ]
    whole = {
        "process": share.process,
        "rank": share.rank,
        "in_turn": share.in_turn,
        "seconds": share.seconds,
    }
    return {**whole, "causes": causes, "kernel": kernel}


def _answers(page: Page, top: int | None) -> Content:
    given = page.answers
    library, operation, ranks = asdict(given.library), asdict(given.operation), asdict(given.ranks)
    library["layers"] = _pairs(given.library.layers, "layer", "share")
    operation["kinds"] = _pairs(given.operation.kinds, "kind", "share")
    operation["functions"] = _pairs(given.operation.functions, "function", "calls")
    for name in ("who", "calling_who"):
        ranks[name] = ranklist.compress(ranks[name])
    for name in ("programs", "calling_programs"):
        ranks[name] = _pairs(ranks[name], "program", "processes")
    return {
        "time": asdict(given.time),
        "library": library,
        "ranks": ranks,
        "operation": operation,
        "volume": {
            "read_bytes": given.volume.read,
            "written_bytes": given.volume.written,
            "seconds": given.volume.seconds,
            "by": given.volume.by,
        },
        "mapped": _mapped(given.mapped),
        "when": {
            "source": given.when.source,
            "pattern": given.when.pattern,
            "first_seconds": given.when.first,
            "last_seconds": given.when.last,
            "bursts": _pairs(given.when.bursts, "first_seconds", "last_seconds"),
            "period_seconds": given.when.period,
            "parts": given.when.parts,
        },
        "lines": None if given.lines is None else _lines(given.lines, top),
        "says": dict(answers.sentences(given, page.name, page.manifest)),
    }


def _mapped(given: Mapped | None) -> Content | None:
    if given is None:
        return None
    return {
        "files": given.files,
        "path": given.path,
        "mapped_bytes": given.mapped,
        "used_bytes": given.used,
        "storage_bytes": given.storage,
    }


def _pairs(pairs: Sequence[tuple[Any, Any]], first: str, second: str) -> list[Content]:
    return [{first: one, second: other} for one, other in pairs]


def _lines(lines: pa.Table, top: int | None) -> list[Content]:
    """Source lines, with seconds and their share of the time of all."""
    whole = sum(lines["time"].to_pylist())
    rows = [{name: plain(value) for name, value in row.items()} for row in lines.to_pylist()[:top]]
    for row in rows:
        time = row.pop("time")
        row["seconds"] = time / SECOND
        row["longest_seconds"] = row.pop("longest") / SECOND
        row["share"] = time / whole if whole else None
    return rows


def _missing(page: Page) -> Content:
    return {
        "processes_killed": page.how_many("killed"),
        "processes_alive": page.how_many("open"),
        "calls_unfinished": page.runs["unfinished"],
        "stretches_damaged": page.runs["chunks_skipped"],
        "chunks_missing": page.runs["chunks_missing"],
        "marks": as_json(page.table("missing")),
    }


@cache
def schema() -> Content:
    """The JSON Schema of what `content` and `with_tables` give."""
    of_file: Content = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return of_file


@dataclass(frozen=True)
class Number:
    """One number of the first screen."""

    name: str  # where it stands in the JSON, items of lists by what tells them apart
    value: float
    unit: str
    source: str  # where it is from


def numbers(given: Content) -> Iterator[Number]:
    """Each number of `content`, in its order, with unit and source from the schema; without the parts of a picture."""
    return _numbers("", given, schema())


def _numbers(name: str, value: Any, form: Mapping[str, Any]) -> Iterator[Number]:
    form = _form(form)
    if isinstance(value, dict):
        for key, one in value.items():
            below = f"{name}.{key}" if name else key
            yield from _numbers(below, one, form.get("properties", {}).get(key, {}))
    elif isinstance(value, list) and not form.get("picture"):
        for at, one in enumerate(value):
            yield from _numbers(f"{name}[{_item(one, form, at)}]", one, form.get("items", {}))
    elif isinstance(value, int | float) and not isinstance(value, bool) and "unit" in form:
        yield Number(name, value, form["unit"], form["from"])


def _item(item: Any, form: Mapping[str, Any], at: int) -> str:
    """What tells an item of a list apart, files by their last name; else where it stands."""
    words = [
        str(item[key]).rpartition("/")[2] for key in form.get("by", ()) if item[key] is not None
    ]
    return ":".join(words) or str(at)


def written(number: Number) -> str:
    """For people: 231 ms, 47.5 %, 8 KiB, 3 ranks."""
    if number.unit.startswith("seconds"):
        return numerals.seconds(number.value)
    if number.unit.startswith(("share", "0 to 1")):
        return numerals.percent(number.value)
    if number.unit.startswith("bytes"):
        return numerals.size(number.value)
    return numerals.count(number.value)


def _form(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema says of a value: behind its references, and of alternatives the one that is not null."""
    while "$ref" in form or "anyOf" in form:
        if "$ref" in form:
            form = schema()["$defs"][form["$ref"].rpartition("/")[2]]
        else:
            form = next((one for one in form["anyOf"] if one.get("type") != "null"), {})
    return form
