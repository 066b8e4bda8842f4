"""`lakes`, `centre`, `centre_job`: what the jobs of a centre lose, by whom and where; a job beside earlier runs of its
program (analysis/lake.py)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from fathom.analysis import lake as analysis
from fathom.errors import UsageError
from fathom.run.lake import Lake, Reader
from fathom.webapi.answers import answer, text
from fathom.webapi.answers.session import Runs
from fathom.webapi.answers.table import Table

#: Rows of a table that the page is given; `fathom landscape LAKE --by TABLE` has all.
MOST = 500

#: A column: of analysis.lake's rows, its name on the page, its unit.
Columns = Sequence[tuple[str, str, str]]
LOST = ("lost_node_seconds", "lost node h", "hours")
WHY: Columns = (("cause", "cause", "text"), ("rule", "finding", "text"))


def _losers(what: str) -> Columns:
    return (
        ("what", what, "text"), ("jobs", "jobs", "count"), LOST, ("share", "of all", "share"),
        *WHY, ("io_node_seconds", "in I/O h", "hours"), ("bytes", "moved", "bytes"),
    )  # fmt: skip


COLUMNS: Mapping[str, Columns] = {
    "jobs": (
        ("name", "job", "text"), ("user", "user", "text"), ("program", "program", "text"), ("nodes", "nodes", "count"),
        ("started", "started", "text"), ("seconds", "run time", "s"), ("io_share", "I/O", "share"), LOST, *WHY,
        ("id", "id", "text"),
    ),
    "users": _losers("user"),
    "programs": _losers("program"),
    "mounts": _losers("file system"),
    "causes": [one for one in _losers("cause") if one not in WHY],
    "servers": (
        ("server", "server", "text"), ("mount", "file system", "text"), ("jobs", "jobs", "count"),
        ("jobs_slow", "saw it slow", "count"), ("times", "times its peers", "count"), ("bytes", "moved", "bytes"),
        ("slow_from", "slow from", "text"), ("slow_to", "to", "text"),
    ),
    "risen": (
        ("kind", "kind", "text"), ("what", "name", "text"), ("jobs", "jobs", "count"), LOST,
        ("median_node_seconds", "usual node h", "hours"), ("times", "times", "count"), ("days", "days before", "count"),
    ),
    "days": (
        ("date", "day", "text"), ("jobs", "jobs", "count"), ("users", "users", "count"),
        ("node_seconds", "node h", "hours"),
        ("io_node_seconds", "in I/O h", "hours"), LOST, ("cause", "cause", "text"),
    ),
}  # fmt: skip
MEASURES: Columns = (
    ("what", "what", "text"), ("value", "this job", "s"), ("median", "median before", "s"), ("times", "times", "count"),
)  # fmt: skip
HOUR = 3600.0
#: What a table without rows says.
NONE = {
    "risen": "No user, program or file system lost far more on the last day than on its usual one.",
    "servers": "No job's file system names its servers.",
}


class OpenLake:
    """One that is asked by many requests: read once, and anew when files came or went."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet. Errors: UsageError, it is none."""
        self.lake = Lake(path)
        self._turn = threading.Lock()  # a connection keeps the rows of one statement
        self._of: object = None  # the files that were read
        self._reader: Reader | None = None
        self._known: dict[str, Any] = {}

    def answer(self, key: str, make: Any) -> Any:
        """What `make` gives of a reader, worked out once for the lake as it is."""
        with self._turn:
            since = self.lake.since(None)
            files = self.lake.listing(since)
            if self._reader is None or files != self._of:
                self._reader, self._known, self._of = self.lake.reading(since), {}, files
            if key not in self._known:
                self._known[key] = make(self._reader)
            return self._known[key]


@answer("lakes", of_all=True)
def lakes(runs: Runs) -> list[dict[str, Any]]:
    """Those that are open."""
    return [{"name": name, "path": str(one.lake.path)} for name, one in runs.lakes.items()]


@answer("centre", of_all=True, required=("name",), name=text)
def centre(runs: Runs, name: str) -> dict[str, Any]:
    """Sums over all jobs, and the tables of analysis.lake, each with its worst first."""
    return _lake(runs, name).answer("", _screen)  # type: ignore[no-any-return]


def _screen(reader: Reader) -> dict[str, Any]:
    total = {key: _plain(value) for key, value in analysis.total(reader).items()}
    tables = {}
    for table, columns in COLUMNS.items():
        rows = analysis.rows(reader, table)
        some = rows[-MOST:] if table == analysis.IN_TIME else rows[:MOST]
        tables[table] = _table(some, columns, len(rows), None if rows else NONE.get(table))
    return {"total": total, "tables": tables}


@answer("centre_job", of_all=True, required=("name", "job"), name=text, job=text)
def centre_job(runs: Runs, name: str, job: str) -> dict[str, Any]:
    """Its row; measures of it beside the runs of its program before it: seconds, bytes, causes."""
    return _lake(runs, name).answer(f"job {job}", lambda reader: _job(reader, job))  # type: ignore[no-any-return]


def _job(reader: Reader, job: str) -> dict[str, Any]:
    beside = analysis.beside(reader, job)
    if beside is None:
        raise UsageError(f"job={job[:80]!r}: no such job is in the lake; table jobs lists them")
    measures = {}
    for unit in ("seconds", "bytes", "cause"):
        rows = [row for row in beside.measures if row["unit"] == unit]
        shown = "bytes" if unit == "bytes" else "s"
        columns = [(key, name, shown if of == "s" else of) for key, name, of in MEASURES]
        measures[unit] = _table(rows, columns, len(rows))
    return {
        "job": {key: _plain(value) for key, value in beside.job.items()},
        "runs": beside.runs,
        "ranks": beside.ranks,
        "measures": measures,
    }


def _lake(runs: Runs, name: str) -> OpenLake:
    if name not in runs.lakes:
        raise UsageError(
            f"name={name[:80]!r}: no such lake is open; there are {', '.join(runs.lakes) or 'none'}"
        )
    one: OpenLake = runs.lakes[name]
    return one


def _table(rows: analysis.Rows, columns: Columns, total: int, note: str | None = None) -> Table:
    values = [[_cell(row.get(key), key) for key, _, _ in columns] for row in rows]
    return Table([(name, unit) for _, name, unit in columns], values, total, note=note)


def _cell(value: Any, key: str) -> Any:
    """Node seconds as hours; these and ratios as people compare them."""
    if value is not None and key.endswith("node_seconds"):
        return float(f"{value / HOUR:.4g}")
    return round(value, 2) if key == "times" and value is not None else _plain(value)


def _plain(value: Any) -> Any:
    """Days and moments (UTC) as text."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return value.isoformat() if isinstance(value, date) else value
