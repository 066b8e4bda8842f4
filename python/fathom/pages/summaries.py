"""What a lake has of a run: its row, as `fathom landscape` has it, and tables beside it (catalog/lake.toml)."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

from fathom.analysis import findings, landscape
from fathom.analysis.account import prepare
from fathom.analysis.findings import Finding, Findings
from fathom.analysis.sentence import sentence
from fathom.cache import conclusions
from fathom.errors import RunError, printable
from fathom.files import is_file
from fathom.pages import landscapes
from fathom.run import lake, manifest
from fathom.run.directory import is_settled, resolve
from fathom.run.lake import Summary, moment
from fathom.run.store import Run, open_run

MANY = 4  # runs from which on other processes are worth their start
HOSTS = 64  # that a row names
NEEDFUL = "transfer"  # the cause that is no loss
AS_THEY_ARE = (
    *("io_seconds", "io_most_seconds", "io_share", "bytes_read", "bytes_written"),
    *("opens", "peak_opens_per_second", "coverage", "program"),
    *(f"{name}_seconds" for name in landscape.OPERATIONS),
)
GROUP = (
    *("files", "io_seconds", "bytes_read", "bytes_written"),
    *(f"{name}_seconds" for name in landscape.OPERATIONS),
)


def _hash(*words: object) -> str:
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]


def key(directory: Path) -> lake.Key:
    """Identity and content of a packed run, read without its tables. Where it lies, and its name, are none of them."""
    about = manifest.read(directory)
    packed = directory / "tables" / "packed"
    lines = packed.read_text(encoding="utf-8").splitlines() if is_file(packed) else []
    streams = sorted(line for line in lines if line.startswith(("files=", "bytes=")))
    content = [streams, about.get("end_ns"), about.get("exit")]
    if about.get("recorder") or "id" not in about:
        # An import has another id each time that the log is imported.
        known = ("recorder", "job", "user", "command", "start_ns")
        return _hash([about.get(name) for name in known], content), _hash(content)
    return _hash(about["id"], about.get("start_ns")), _hash(content)


def day(directory: Path) -> date | None:
    """Of its start, where run.json says it."""
    started = manifest.read(directory).get("start_ns")
    return moment(started).date() if started else None


def _place(finding: Finding) -> str | None:
    return finding.lines[0] if finding.lines else None


def _findings(ranked: Findings) -> list[dict[str, Any]]:
    return [
        {
            "rule": one.rule.name,
            "title": one.rule.title,
            "layer": one.rule.layer,
            "seconds": one.lost,
            "least_seconds": one.between and one.between[0],
            "most_seconds": one.between and one.between[1],
            "sure": one.sure,
            "place": _place(one),
            "sentence": sentence(one.rule.says, one.values),
            "advice": sentence(one.rule.fix, one.values),
        }
        for one in ranked.conclusions
    ]


def _lost(ranked: Findings, nodes: int) -> dict[str, Any]:
    """What the findings, none of which counts the same seconds, would win together."""
    slowest = ranked.bar.slowest
    causes = {name: s for name, s in slowest.causes.items() if name != NEEDFUL} if slowest else {}
    losing = [one for one in ranked.conclusions if one.lost]
    lost = min(sum(one.lost or 0.0 for one in losing), ranked.bar.run_seconds)
    return {
        "lost_seconds": lost,
        "lost_node_seconds": lost * nodes,
        "lost_by": losing[0].rule.name if losing else None,
        "cause": max(causes, key=lambda name: causes[name], default=None),
    }


def _job(run: Run, row: Mapping[str, Any], ranked: Findings) -> dict[str, Any]:
    about = run.manifest
    started, seconds = (
        run.sql("select started, duration / 1e9 as s from runs").to_pylist()[0].values()
    )
    hosts = run.sql("select distinct host from nodes order by host")["host"].to_pylist()
    nodes = max(1, len(hosts))
    return {
        "collected": moment(time.time_ns()),
        "name": run.name,
        "path": str(run.path),
        "job": about.get("environment", {}).get("SLURM_JOB_ID") or about.get("job"),
        "user": manifest.user_name(about),
        "command": manifest.command_line(about),
        "recorder": about.get("recorder"),
        "level": about.get("configuration", {}).get("level"),
        "hosts": hosts[:HOSTS],
        "nodes": nodes,
        "ranks": row["ranks"] or row["ranks_seen"],
        "started": moment(about.get("start_ns") or started),
        "ended": moment(started + int(seconds * 1e9)),
        "seconds": seconds,
        "status": manifest.ended(about),
        **{name: row[name] for name in AS_THEY_ARE},
        **_lost(ranked, nodes),
        "notes": "; ".join(row["notes"]),
    }


def of(run: Run) -> Summary:
    """Rows of each table of one run."""
    wanted = landscapes.Wanted()
    row = landscapes.row_of(run, wanted)
    ranked = conclusions.find(run, findings.rules())
    prepare(run, "lake_mounts() lake_causes() server_files()")
    servers = run.sql("from lake_servers($hours)", hours=row["coverage"] == 1).to_pylist()
    tables: dict[str, list[dict[str, Any]]] = {
        "mounts": run.sql("from lake_mounts()").to_pylist(),
        "causes": run.sql("from lake_causes()").to_pylist(),
        "findings": _findings(ranked),
        "groups": [
            {"file_group": one["group"], **{name: one[name] for name in GROUP}}
            for one in row["groups"]
        ],
        "servers": [
            {**one, "begins": moment(one["begins"]), "ends": moment(one["ends"])} for one in servers
        ],
        lake.LAST: [_job(run, row, ranked)],
    }
    identity, version = key(run.path)
    for rows in tables.values():
        for one in rows:
            one |= {"id": identity, "version": version}
    return tables


@cache
def _lake(path: str) -> lake.Lake:
    return lake.Lake(Path(path))


def _is_there(to: lake.Lake, directory: Path) -> bool:
    started = day(directory)
    return started is not None and is_settled(directory) and to.has(started, key(directory))


def _new(into: str, path: str) -> Summary | None:
    """Rows of a run that has ended; None: they are in the lake."""
    if _is_there(_lake(into), resolve(path)):
        return None
    run = open_run(path, quiet=True)
    alive = run.sql("select count(*) as n from processes where ended = 'open'")["n"][0].as_py()
    if alive:
        raise RunError(f"{printable(path)}: it still runs; collect it when it has ended")
    # Of what was not packed before only now is it known.
    return None if _is_there(_lake(into), run.path) else of(run)


def each(to: lake.Lake, paths: Sequence[str]) -> Iterator[Callable[[], Summary | None]]:
    """Of each path, in order, what gives its rows; None: they are in the lake already."""
    processors = len(os.sched_getaffinity(0)) if len(paths) >= MANY else 1
    pool = landscapes.workers(processors)
    with pool or nullcontext():
        work = [partial(_new, str(to.path), path) for path in paths]
        yield from [pool.submit(one).result for one in work] if pool else work
