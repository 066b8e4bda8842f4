"""Runs on the same servers at the same time, as text and as JSON."""

from dataclasses import asdict
from typing import Any

from fathom.analysis.interference import SECOND, Effect, Interference, One, elsewhere
from fathom.run import database
from fathom.text import numbers
from fathom.text.tables import Column, emphasised, heading, printable, show, text

# What a run loses that is less than both is noise, as of findings.
LEAST_SECONDS, LEAST_SHARE = 0.01, 0.01
# A server at which a run lost less than this part of what it lost at another is not worth leaving out.
LEAST_OF_MOST = 0.1

RUNS = (
    Column("run", "run", text, right=False),
    Column("run time", "run_seconds", numbers.seconds),
    Column("alone", "alone_seconds", numbers.seconds),
    Column("times", "times", numbers.times),
    Column("lost", "lost_seconds", numbers.seconds),
    Column("alone is", "alone", text, right=False),
)
SERVERS = (
    Column("server", "server", text, right=False, is_path=True),
    Column("run", "run", text, right=False),
    Column("calls", "calls", numbers.count, spare=1),
    Column("seconds", "longest_seconds", numbers.seconds),
    Column("alone", "alone_seconds", numbers.seconds),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("shared with", "shared_with", text, right=False),
)
EFFECTS = (
    Column("run", "run", text, right=False),
    Column("server", "server", text, right=False, is_path=True),
    Column("beside", "beside", text, right=False),
    Column("for", "overlap_seconds", numbers.seconds),
    Column("calls", "calls", numbers.count, spare=1),
    Column("took", "seconds", numbers.seconds),
    Column("alone", "expected_seconds", numbers.seconds),
    Column("times", "times", numbers.times),
    Column("lost", "lost_seconds", numbers.seconds),
    Column("sure", "sure", numbers.percent),
    Column("alone is known from", "compared_with", text, right=False, spare=2),
)


def _lost(overlaps: Interference, run: str) -> float | None:
    """The most that it lost at one server: what it lost at others may have been at the same time."""
    lost = [effect.lost_seconds for effect in overlaps.effects if effect.run == run]
    known = [seconds for seconds in lost if seconds is not None]
    return max(known, default=None if lost else 0.0)


def run_rows(overlaps: Interference) -> list[dict[str, Any]]:
    """A row per run."""
    seconds = {run.name: run.own / SECOND for run in overlaps.runs}
    rows = []
    for name, taken in seconds.items():
        other = overlaps.alone.get(name)
        rows.append({
            "run": name,
            "run_seconds": taken,
            "alone": other,
            "alone_seconds": seconds[other] if other else None,
            "times": taken / seconds[other] if other else None,
            "lost_seconds": _lost(overlaps, name),
        })  # fmt: skip
    return rows


def server_rows(overlaps: Interference) -> list[dict[str, Any]]:
    """A row per server and run that works on it; servers that were shared at the same time first."""
    runs = {run.name: run for run in overlaps.runs}
    shared = {(effect.run, effect.server): ", ".join(effect.others) for effect in overlaps.effects}
    rows = []
    for server in overlaps.servers:
        for name in overlaps.users[server]:
            alone = overlaps.alone.get(name)
            before = runs[alone].totals.get(server) if alone else None
            rows.append({
                "server": server[0],
                "run": name,
                **{key: runs[name].totals[server][key] for key in
                   ("calls", "seconds", "longest_seconds", "bytes_read", "bytes_written")},
                "alone_seconds": before["longest_seconds"] if before else None,
                "shared_with": shared.get((name, server[0])),
            })  # fmt: skip
    return rows


def _effect(lost: Effect) -> dict[str, Any]:
    times = lost.seconds / lost.expected_seconds if lost.expected_seconds else None
    return {**asdict(lost), "others": list(lost.others), "beside": ", ".join(lost.others), "times": times}  # fmt: skip


def effect_rows(overlaps: Interference) -> list[dict[str, Any]]:
    """A row per run and server that it shared."""
    return [_effect(effect) for effect in overlaps.effects]


def _worth(run: One, lost: float | None) -> bool:
    return bool(lost and lost > LEAST_SECONDS and lost > LEAST_SHARE * run.own / SECOND)


def advice(overlaps: Interference) -> list[str]:
    """What to do, the run that lost most first."""
    lines = []
    for run in sorted(overlaps.runs, key=lambda one: -(_lost(overlaps, one.name) or 0.0)):
        least = LEAST_OF_MOST * (_lost(overlaps, run.name) or 0.0)
        hurt = [
            one for one in overlaps.effects
            if one.run == run.name and _worth(run, one.lost_seconds) and (one.lost_seconds or 0.0) >= least
        ]  # fmt: skip
        if not hurt:
            continue
        names = ", ".join(one.server for one in hurt)
        others = ", ".join(sorted({name for one in hurt for name in one.others}))
        free = elsewhere(overlaps, run.name)
        lost = numbers.seconds(_lost(overlaps, run.name))
        where = (
            f"leave {names} out: its other {numbers.things(len(free), 'server')} had it alone"
            if free
            else f"use other servers than {others}, or run them one after the other"
        )
        lines.append(f"{run.name} lost {lost} to {others}: {where}")
    return lines


def as_json(overlaps: Interference) -> dict[str, Any]:
    """Everything, raw numbers."""
    return {
        "format": 1,
        "runs": run_rows(overlaps),
        "together": [list(pair) for pair in overlaps.together],
        "servers": server_rows(overlaps),
        "interference": effect_rows(overlaps),
        "advice": advice(overlaps),
        "notes": overlaps.notes,
    }


def show_interference(overlaps: Interference) -> None:
    """All tables, to stdout."""
    heading("Runs")
    show(RUNS, database.table_of(run_rows(overlaps)))
    heading("\nServers (seconds: of the process that spent most there)")
    rows = server_rows(overlaps)
    if rows:
        show(SERVERS, database.table_of(rows))
    else:
        print("  none is known: no calls on files were recorded")
    heading("\nShared at the same time")
    if overlaps.effects:
        show(EFFECTS, database.table_of(effect_rows(overlaps)))
    else:
        print("  no server was used by two runs at the same time")
    for line in advice(overlaps):
        emphasised("  do    ", line)
    for note in overlaps.notes:
        emphasised("  note  ", printable(note))
