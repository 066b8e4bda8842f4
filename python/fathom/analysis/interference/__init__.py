"""Runs that used the same servers at the same time: what that cost each of them (thesis 2.5.3).

A call is *beside* another run when that one was at the same server while it ran, by the runs' clocks. What it
would have taken otherwise is the mean of calls of the same function and size: of a run of the same program alone,
else of this run's own there at other times, else of its own anywhere, beside nobody. Times in seconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.interference.means import Kind, Mean, Means, Server, kind_of, usual_mean
from fathom.analysis.interference.spans import Span, common, moved, union
from fathom.analysis.latency.servers import are_traced

SECOND = 1e9
# Gaps in a run's time at a server that are shorter than this part of the run are closed: so there are few spans.
SPANS = 2_000
LEAST_GAP = 1_000_000  # ns; a queue is empty again after less than that
# Parts of a run in which the others are looked for: many more than spans, so that few hold an end of one.
BINS = 65_536
# Means that are not so many standard errors apart may be the same.
APART = 3.0
# A server with less than this part of a run's time is not what it works on.
LITTLE = 0.01


@dataclass(frozen=True)
class One:
    """One of the runs; or one of the programs that a run recorded together with the servers they used."""

    name: str
    source: Source
    started: int  # ns since 1970
    duration: int  # ns
    own: int  # ns, of the program where the run had several
    processes: tuple[int, ...]  # empty: all
    nodes: frozenset[str]  # boot ids
    program: tuple[Any, ...]  # what tells whether two runs are of the same program on as many ranks
    totals: Mapping[Server, Mapping[str, Any]]
    spans: Mapping[Server, Sequence[Span]]  # ns of its own time


@dataclass(frozen=True)
class Effect:
    """What one run lost at one server that others used at the same time."""

    run: str
    server: str
    others: tuple[str, ...]
    overlap_seconds: float  # during which both were there
    calls: int  # of this run, beside the others
    seconds: float  # that they took
    expected_seconds: float | None  # alone; null: nothing to compare with
    lost_seconds: float | None  # of the process that lost most
    compared_with: str
    sure: float


@dataclass(frozen=True)
class Interference:
    """All of it."""

    runs: list[One]
    servers: list[Server]  # that one of the runs works on, shared ones first
    users: Mapping[Server, list[str]]  # runs that work on each
    together: list[tuple[str, str]]  # pairs of runs that shared a server at the same time
    effects: list[Effect]
    alone: Mapping[str, str]  # run -> the run of the same program that shared nothing
    notes: list[str] = field(default_factory=list)


def _key(rows: Iterable[Mapping[str, Any]], command: Sequence[str]) -> tuple[Any, ...]:
    """Program, ranks and arguments that are no paths: where it writes may differ."""
    programs = sorted({(row["program"], row["ranks"]) for row in rows}, key=str)
    return (tuple(programs), tuple(word for word in command if "/" not in word))


def _one(
    name: str, source: Source, run: Mapping[str, Any], program: tuple[Any, ...],
    processes: Sequence[int] = (), own: int | None = None,
) -> One:  # fmt: skip
    gap = max(LEAST_GAP, run["duration"] // SPANS)
    spans: dict[Server, list[Span]] = defaultdict(list)
    given = {"processes": list(processes)}
    for row in source.sql("from server_spans($gap, $processes)", gap=gap, **given).to_pylist():
        spans[row["server"], row["key"]].append((row["start"], row["stop"]))
    totals = source.sql("from server_sums($processes)", **given).to_pylist()
    nodes = source.sql("select boot_id from nodes")["boot_id"].to_pylist()
    return One(
        name=name,
        source=source,
        started=run["started"],
        duration=run["duration"],
        own=run["duration"] if own is None else own,
        processes=tuple(processes),
        nodes=frozenset(nodes),
        program=program,
        totals={(row["server"], row["key"]): row for row in totals},
        spans=spans,
    )


def of_run(name: str, source: Source, command: Sequence[str]) -> list[One]:
    """What is asked of one run: of each of its programs if servers were traced that several used.

    Errors: `fathom.errors.RunError` of a damaged run.
    """
    run = source.sql("select started, duration from runs").to_pylist()[0]
    if not are_traced(source):
        programs = source.sql(
            "select distinct regexp_extract(exe, '[^/]*$') as program, ranks from processes where rank is not null"
        )
        return [_one(name, source, run, _key(programs.to_pylist(), command))]
    rows = source.sql("from server_programs()").to_pylist()
    names = _names(name, [row["program"] or "not recorded" for row in rows])
    return [
        _one(one, source, run, _key([row], row["words"] or []), row["processes"], row["stop"] - row["start"])
        for one, row in zip(names, rows, strict=True)
    ]  # fmt: skip


def _names(run: str, programs: Sequence[str]) -> list[str]:
    """RUN:PROGRAM; numbered where one of them ran several times at once; the run's own if it is alone."""
    if len(programs) == 1:
        return [run]
    seen: dict[str, int] = defaultdict(int)
    names = []
    for program in programs:
        seen[program] += 1
        number = f".{seen[program]}" if programs.count(program) > 1 else ""
        names.append(f"{run}:{program}{number}")
    return names


def works_on(run: One) -> set[Server]:
    """Servers that have a part of its time worth speaking of; not where its libraries lie."""
    moved = {
        server: row
        for server, row in run.totals.items()
        if row["bytes_read"] + row["bytes_written"]
    }
    most = sum(row["seconds"] for row in moved.values())
    return {server for server, row in moved.items() if row["seconds"] >= LITTLE * most}


def _beside(run: One, runs: Sequence[One]) -> dict[Server, dict[str, list[Span]]]:
    """At each server that `run` works on: spans of the others there, in its own time, that meet its own."""
    at_server: dict[Server, dict[str, list[Span]]] = defaultdict(dict)
    for server in works_on(run):
        for other in runs:
            if other is run or server not in works_on(other):
                continue
            spans = moved(other.spans[server], other.started - run.started, run.duration)
            if common(run.spans[server], spans):
                at_server[server][other.name] = spans
    return at_server


def classes(run: One, spans: Mapping[Server, Sequence[Span]]) -> pa.Table:
    """Calls by server, process, kind, and whether they were beside `spans` (server_classes())."""
    rows = [(server, key, *span) for (server, key), spans_ in spans.items() for span in spans_]
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    names = ("servers", "keys", "starts", "stops")
    return run.source.sql(
        "from server_classes($servers, $keys, $starts, $stops, $width, $processes)",
        processes=list(run.processes),
        width=max(1, run.duration // BINS),
        **{name: list(column) for name, column in zip(names, columns, strict=True)},
    )


def effect(
    run: One, server: Server, others: Mapping[str, Sequence[Span]],
    rows: Sequence[Mapping[str, Any]], baseline: Means | None, baseline_name: str,
) -> Effect:  # fmt: skip
    """What `run` lost at one server; `rows` are all of its classes."""
    own = Means(row for row in rows if not row["beside"])
    beside = [row for row in rows if row["beside"] and (row["server"], row["key"]) == server]
    together: dict[Kind, Mean] = defaultdict(Mean)
    for row in beside:
        together[kind_of(row)].add(row)
    usual = {kind: usual_mean(server, kind, own, baseline, baseline_name) for kind in together}
    lost: dict[int, float] = defaultdict(float)
    expected = error = 0.0
    for row in beside:
        known = usual[kind_of(row)]
        alone = known[0].each * row["calls"] if known else row["time"]
        expected += alone
        lost[row["process"]] += row["time"] - alone
    for kind, mean in together.items():
        known = usual[kind]
        if known:
            error += mean.calls**2 * (mean.error + known[0].error)
    seconds = sum(mean.time for mean in together.values())
    usual_known = [known for known in usual.values() if known]
    sure = min((known[2] for known in usual_known), default=0.0)
    if seconds - expected < APART * error**0.5:
        sure = min(sure, 0.3)
    spans = union(span for each in others.values() for span in each)
    return Effect(
        run=run.name,
        server=server[0],
        others=tuple(sorted(others)),
        overlap_seconds=common(run.spans[server], spans) / SECOND,
        calls=sum(mean.calls for mean in together.values()),
        seconds=seconds / SECOND,
        expected_seconds=expected / SECOND if usual_known else None,
        lost_seconds=max(0.0, *lost.values()) / SECOND if usual_known else None,
        compared_with=", ".join(sorted({known[1] for known in usual_known})),
        sure=sure,
    )


def _effects(
    run: One, beside: Mapping[Server, Mapping[str, Sequence[Span]]], alone: One | None
) -> list[Effect]:
    spans = {s: union(span for each in o.values() for span in each) for s, o in beside.items()}
    rows = classes(run, spans).to_pylist()
    baseline = Means(classes(alone, {}).to_pylist()) if alone else None
    effects = [
        effect(run, server, others, rows, baseline, alone.name if alone else "")
        for server, others in beside.items()
    ]
    return sorted(effects, key=lambda one: (-(one.lost_seconds or 0.0), one.server))


def _clocks(runs: Sequence[One], together: Iterable[tuple[str, str]]) -> list[str]:
    named = {run.name: run for run in runs}
    return [
        f"{a} and {b} ran on different nodes: that they met is as sure as those clocks agree"
        for a, b in together
        if not named[a].nodes & named[b].nodes
    ]


def _unknown(runs: Sequence[One]) -> list[str]:
    return [
        f"{run.name}: no call on a file was recorded in full, so when it was at which server is not known"
        for run in runs
        if not run.spans
    ]


def interference(runs: Sequence[One]) -> Interference:
    """Which of these runs shared servers at the same time, and what each lost by it."""
    beside = {run.name: _beside(run, runs) for run in runs}
    quiet = [run for run in runs if not beside[run.name]]
    alone = {
        run.name: other
        for run in runs
        if beside[run.name]
        for other in quiet
        if other.program == run.program
    }
    users: dict[Server, list[str]] = defaultdict(list)
    for run in runs:
        for server in works_on(run):
            users[server].append(run.name)
    shared_servers = {server for each in beside.values() for server in each}
    together = sorted({
        (min(run, other), max(run, other))
        for run, each in beside.items() for others in each.values() for other in others
    })  # fmt: skip
    return Interference(
        runs=list(runs),
        servers=sorted(users, key=lambda server: (server not in shared_servers, server)),
        users=users,
        together=together,
        effects=[
            one
            for run in runs
            if beside[run.name]
            for one in _effects(run, beside[run.name], alone.get(run.name))
        ],
        alone={name: other.name for name, other in alone.items()},
        notes=_unknown(runs) + _clocks(runs, together),
    )


def elsewhere(all_effects: Interference, run: str) -> list[str]:
    """Servers that the run used, and no other run at the same time: where it could put everything."""
    contended = {one.server for one in all_effects.effects if one.run == run}
    (this,) = (one for one in all_effects.runs if one.name == run)
    return sorted({name for name, _ in works_on(this)} - contended)
