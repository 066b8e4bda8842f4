"""Rows of many runs: which runs lie below a directory; each row kept beside its run's tables, and those that are not
there yet made by as many processes as the machine has for us."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path, PurePosixPath
from typing import Any

from fathom.analysis import Remembered, Source, findings, landscape, part
from fathom.cache import conclusions
from fathom.cache.answers import CachedAnswers, version
from fathom.errors import DamagedRun, NotARun
from fathom.run.directory import is_settled, resolve
from fathom.run.manifest import failure, imported_by, user_name
from fathom.run.store import Run, open_run
from fathom.text import numbers

FEW = 0.01  # of a run's I/O time: file groups found by suffix that have less are not printed
MANY = 8  # runs without a row, from which on other processes are worth their start


#: Seconds of a group of files that have a speed-up.
GROUP_SECONDS = ("io", "open", "read", "write", "close")


@dataclass(frozen=True)
class Wanted:
    """What a row is of: which layer's calls, which groups of files; with what the findings say is lost?"""

    layer: str | None = None
    globs: tuple[tuple[str, str], ...] = ()
    lost: bool = False
    with_runtime: bool = False  # also what is not the program's (docs/tables.md, `runtime`)
    rank: int | None = None  # times, bytes and operations of this one


def below(paths: Sequence[str], logs: bool = False) -> list[str]:
    """Runs as they are; of a directory that is none, all runs below it, in the order of their paths. `logs`: Darshan's
    too."""
    runs_below = []
    for path in paths:
        try:
            resolve(path)
            runs = [path]
        except NotARun:
            runs = sorted(_inside(Path(path), logs)) or [path]
        except DamagedRun:
            runs = [path]  # who opens it says what is wrong
        runs_below += runs
    return runs_below


def _inside(place: Path, logs: bool) -> Iterator[str]:
    closed: list[str] = []
    for folder, names, files in os.walk(place, onerror=lambda error: closed.append(error.filename)):
        if "run.json" in files or "streams" in names:
            names.clear()
            yield folder
        elif logs:
            yield from (os.path.join(folder, file) for file in files if file.endswith(".darshan"))
    yield from closed  # who opens one says why it cannot be read


def _notes(run: Run, source: Source, row: dict[str, Any]) -> list[str]:
    """What the reader must know of how much of the run is there."""
    notes = [failed] if (failed := failure(run.manifest)) else []
    level = run.manifest.get("configuration", {}).get("level", "call")
    imported = imported_by(run.manifest)
    if row["operation"] is None:
        notes.append("no I/O call was recorded: fathom doctor PROGRAM says why that can be")
    notes += part.in_part(source, run.manifest)
    if row["io_uncertain_seconds"] > FEW * row["io_seconds"]:
        most = numbers.seconds(row["io_uncertain_seconds"])
        notes.append(f"threads of a rank were added up: its I/O time may be up to {most} less")
    if row["when_from"] == "heat" and row["left_out_calls"]:
        notes.append(f"when: {part.HEAT_OF_ALL}")
    if not row["files_told"]:
        if imported:
            why, instead = f"{imported} does not name the files of most calls", ""
        elif level == "job":
            why, instead = "level job", "; record at level file"
        else:
            why = "files of most calls are not known"
            instead = "; record all ranks with their files"
        notes.append(f"{why}: no file groups; {part.FILES_UNTOLD}{instead}")
    gone = run.sql(
        "select (select count(*) from processes where ended = 'killed') as killed,"
        " chunks_missing + chunks_skipped as chunks from runs"
    ).to_pylist()[0]
    if gone["killed"]:
        ended = "did not end in order"
        notes.append(f"{numbers.things(gone['killed'], 'process', 'processes')} {ended}")
    if gone["chunks"]:
        notes.append(f"{numbers.things(gone['chunks'], 'chunk')} of its streams missing or damaged")
    return notes


def _no_rank(run: Run, wanted: Wanted) -> list[str]:
    if wanted.rank is None:
        return []
    ranks = run.sql("select count(*) as n from processes where rank = $rank", rank=wanted.rank)
    return [] if ranks["n"][0].as_py() else [f"rank {wanted.rank} was not recorded"]


def _program(run: Run) -> str:
    """What most ranks ran, else what took most I/O time; of a run with neither, what was started."""
    text = """with outermost as (select process, sum(time) as time from counters where enclosing is null group by all)
        select exe from processes left join outermost using (process) where exe <> ''
        group by exe order by count(rank) desc, sum(time) desc nulls last, exe limit 1"""
    programs = run.sql(text).to_pylist()
    return PurePosixPath(programs[0]["exe"] if programs else run.manifest.get("program", "")).name


def _lost(run: Run) -> dict[str, Any]:
    """What the largest finding would win, and the cause that took the slowest process most of its I/O."""
    ranked = conclusions.find(run, findings.rules())
    most = next((finding for finding in ranked.conclusions if finding.lost), None)
    causes = ranked.bar.slowest.causes if ranked.bar.slowest else {}
    cause = max(causes, key=lambda name: causes[name], default=None)
    return {
        "lost_seconds": most.lost if most else 0.0,
        "lost_by": most.rule.title if most else None,
        "cause": cause,
        "cause_seconds": causes[cause] if cause else 0.0,
    }


def row_of(run: Run, wanted: Wanted) -> dict[str, Any]:
    """A run's row, worked out anew."""
    source = Remembered(run)
    row = {
        "run": run.name,
        "path": str(run.path),
        "program": _program(run),
        "command": [str(word) for word in run.manifest.get("command", [])],
        "recorder": run.manifest.get("recorder"),
        "job": run.manifest.get("job"),
        "user": user_name(run.manifest),
        "started_seconds": run.sql("select started / 1e9 as s from runs")["s"][0].as_py(),
        **landscape.row(source, wanted.layer, wanted.rank),
        **(_lost(run) if wanted.lost else {}),
    }
    globs = wanted.globs
    row["groups"] = (
        landscape.groups(source, globs, wanted.layer, wanted.rank) if row["files_told"] else []
    )
    row["notes"] = _notes(run, source, row) + _no_rank(run, wanted)
    return row


def _cache_of(path: str, wanted: Wanted, reader: str) -> tuple[CachedAnswers, str] | None:
    """Where the row of a run that is over is kept, and under which question."""
    with contextlib.suppress(NotARun, DamagedRun):
        directory = resolve(path)
        if is_settled(directory):
            return CachedAnswers(directory, reader, 0), json.dumps(["landscape", asdict(wanted)])
    return None


def _ready(path: str, wanted: Wanted, reader: str) -> dict[str, Any] | None:
    """The row as it was kept; a run may have been moved since."""
    place = _cache_of(path, wanted, reader)
    row: dict[str, Any] | None = place[0].peek(place[1]) if place else None
    directory = resolve(path) if row else Path(path)
    where = {"run": directory.name.removesuffix(".fathom"), "path": str(directory)}
    return {**row, **where} if row else None


def _row(path: str, wanted: Wanted, reader: str, quiet: bool) -> dict[str, Any]:
    """The row, made anew; kept for who asks next."""
    row = row_of(open_run(path, quiet=quiet, with_runtime=wanted.with_runtime), wanted)
    place = _cache_of(path, wanted, reader)
    if place:
        place[0].answer(place[1], True, lambda: row, lambda: None)
    return row


def flat(row: dict[str, Any], groups: list[str]) -> dict[str, Any]:
    """Lists as words apart by blanks; of each group its seconds, and speed-ups where there are some."""
    flat = {
        key: " ".join(str(item) for item in value) if isinstance(value, list) else value
        for key, value in row.items()
        if key not in ("groups", "when_parts")
    }
    flat["notes"] = "; ".join(row["notes"])
    have = {group["group"]: group for group in row["groups"]}
    for name in groups:
        for key in ("io_seconds", "read_seconds", "write_seconds"):
            flat[f"{name} {key}"] = have.get(name, {}).get(key)
        for key in GROUP_SECONDS if "speedup_run" in row else ():
            flat[f"{name} speedup_{key}"] = have.get(name, {}).get(f"speedup_{key}")
    return flat


def job(row: dict[str, Any]) -> dict[str, Any]:
    """A row (with what is lost) as a line of a job table, in words that XDMoD and ClusterCockpit have; times in seconds
    since 1970."""
    return {
        "job_id": row["job"],
        "user": row["user"],
        "program": row["program"],
        "start_time": round(row["started_seconds"]),
        "end_time": round(row["started_seconds"] + row["run_seconds"]),
        "wall_seconds": row["run_seconds"],
        "nodes": row["nodes"],
        "ranks": row["ranks"],
        "read_bytes": row["bytes_read"],
        "write_bytes": row["bytes_written"],
        "open_count": row["opens"],
        "close_count": row["closes"],
        "io_seconds": row["io_seconds"],
        "io_share": row["io_share"],
        "cause": row["cause"],
        "finding": row["lost_by"],
        "lost_seconds": row["lost_seconds"],
        "run": row["path"],
    }


def workers(number: int) -> ProcessPoolExecutor | None:
    """So many processes beside this one, which end with it, however it ends; None where one is enough."""
    return (
        ProcessPoolExecutor(number, get_context("spawn"), _end_with_parent) if number > 1 else None
    )


def _end_with_parent() -> None:
    """Else a worker waits for ever for what a parent that was killed would give it."""
    parent = parent_process()
    assert parent

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def each(
    paths: Sequence[str], wanted: Wanted, alone: bool = False
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Of each path what gives its row, in order. `alone`: without processes beside this one."""
    reader = version()
    ready = {path: _ready(path, wanted, reader) for path in paths}
    missing = [path for path, row in ready.items() if row is None]
    make: dict[str, Callable[[], dict[str, Any]]]
    processors = len(os.sched_getaffinity(0)) if len(missing) >= MANY and not alone else 1
    pool = workers(processors)
    with pool or contextlib.nullcontext():
        quiet = pool is not None
        make = {path: partial(_row, path, wanted, reader, quiet) for path in missing}
        if pool:
            make = {path: pool.submit(work).result for path, work in make.items()}
        for path, row in ready.items():
            yield make[path] if row is None else partial(dict, row)
