"""A lake on one screen: what the jobs of a centre lose, by whom and where; a job beside its program's earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.lake import Beside, Rows
from fathom.run import database
from fathom.text import numbers
from fathom.text.tables import Column, heading, note, printable, show, text

HOUR = 3600.0


def _hours(value: float | None) -> str:
    """Of seconds."""
    return numbers.hours(None if value is None else value / HOUR)


def _moment(value: Any) -> str:
    return "" if value is None else f"{value:%m-%d %H:%M}"


def _name(heading_: str, name: str, spare: int = 0) -> Column:
    return Column(heading_, name, text, right=False, spare=spare)


LOST = (
    Column("lost node h", "lost_node_seconds", _hours),
    Column("of all", "share", numbers.percent),
)
WHY = (_name("cause", "cause", 1), _name("finding", "rule", 3))


def _losers(what: str) -> tuple[Column, ...]:
    return (
        Column(what, "what", text, right=False, is_key=True, is_path=what == "mount"),
        Column("jobs", "jobs", numbers.count, spare=2),
        *LOST,
        Column("in I/O", "io_node_seconds", _hours, spare=4),
        *WHY,
    )


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "jobs": (
        Column("job", "name", text, right=False, is_key=True),
        _name("user", "user"),
        _name("program", "program", 2),
        Column("nodes", "nodes", numbers.count, spare=3),
        Column("run time", "seconds", numbers.seconds, spare=4),
        Column("I/O", "io_share", numbers.percent, spare=4),
        LOST[0],
        *WHY,
    ),
    "users": _losers("user"),
    "programs": _losers("program"),
    "mounts": _losers("mount"),
    "causes": _losers("cause")[:-2],
    "servers": (
        Column("server", "server", text, right=False, is_key=True, is_path=True),
        Column("mount", "mount", text, right=False, is_path=True, spare=3),
        Column("jobs", "jobs", numbers.count),
        Column("saw it slow", "jobs_slow", numbers.count),
        Column("times its peers", "times", numbers.times),
        Column("moved", "bytes", numbers.size, spare=2),
        Column("slow from", "slow_from", _moment, right=False, spare=1),
        Column("to", "slow_to", _moment, right=False, spare=1),
    ),
    "risen": (
        _name("", "kind"),
        Column("name", "what", text, right=False, is_key=True),
        Column("jobs", "jobs", numbers.count, spare=2),
        LOST[0],
        Column("usual", "median_node_seconds", _hours),
        Column("times", "times", numbers.times),
        Column("days before", "days", numbers.count, spare=1),
    ),
    "days": (
        Column("day", "date", str, right=False, is_key=True),
        Column("jobs", "jobs", numbers.count),
        Column("users", "users", numbers.count, spare=2),
        Column("node h", "node_seconds", _hours),
        Column("in I/O", "io_node_seconds", _hours),
        LOST[0],
        _name("cause", "cause", 1),
    ),
}
TITLES = {
    "users": "Users who lose most",
    "programs": "Programs that lose most",
    "jobs": "Jobs that lose most",
    "mounts": "File systems at which most is lost",
    "causes": "Causes",
    "servers": "Servers, the slowest first",
    "risen": "Far above their own usual day, on the last one",
    "days": "By day",
}
#: Rows of each table on the one screen.
SCREEN = {
    "users": 3, "programs": 3, "jobs": 3, "mounts": 3, "servers": 3, "risen": 3, "days": 5,
}  # fmt: skip
BESIDE = (
    Column("", "what", text, right=False, is_key=True),
    Column("this job", "now", text),
    Column("median before", "before", text),
    Column("times", "times", numbers.times),
)


def _about(total: Mapping[str, Any]) -> str:
    days = f"{total['first_day']} to {total['last_day']}"
    share = total["lost_node_seconds"] / total["node_seconds"] if total["node_seconds"] else None
    return (
        f"{numbers.things(total['jobs'], 'job')} of {numbers.things(total['users'], 'user')}, {days}:"
        f" {_hours(total['lost_node_seconds'])} of {_hours(total['node_seconds'])} node hours lost"
        f" ({numbers.percent(share)}), {_hours(total['io_node_seconds'])} in I/O"
    )


def show_table(table: str, rows: Rows) -> None:
    """One of analysis.lake.TABLES."""
    heading(TITLES[table])
    if rows:
        show(COLUMNS[table], database.table_of(rows))
    else:
        note("  none")


def show_screen(total: Mapping[str, Any], tables: Mapping[str, Rows]) -> None:
    """All of a lake that fits a screen; tables without rows are left out."""
    heading(_about(total))
    for table, rows in tables.items():
        if rows:
            print()
            show_table(table, rows)


def _written(row: Mapping[str, Any]) -> dict[str, Any]:
    write = numbers.size if row["unit"] == "bytes" else numbers.seconds
    return {**row, "now": write(row["value"]), "before": write(row["median"])}


def show_beside(beside: Beside, top: int | None) -> None:
    """A job, and how it differs from its program's runs before it."""
    job = beside.job
    who = f" of {printable(job['user'])}" if job["user"] else ""
    heading(
        f"{printable(job['name'])}: {printable(job['program'])}{who}, {job['started']:%Y-%m-%d %H:%M} UTC"
    )
    if not beside.runs:
        note("  no earlier run of this program is in the lake")
    else:
        ranks = f" with {numbers.things(beside.ranks, 'rank')}" if beside.ranks else ""
        note(f"  beside {numbers.things(beside.runs, 'earlier run')} of the program{ranks}")
        sentence = _sentence(beside.measures)
        if sentence:
            note(f"  {sentence}")
    for unit, title in (("seconds", "Seconds"), ("bytes", "Bytes"), ("cause", "Causes")):
        of_unit = [_written(row) for row in beside.measures if row["unit"] == unit][:top]
        if of_unit:
            heading(f"\n{title}")
            show(BESIDE, database.table_of(of_unit))


def _sentence(measures: Sequence[Mapping[str, Any]]) -> str:
    """`today 3x its median I/O; most of that: sync`."""
    io = next(row for row in measures if (row["what"], row["unit"]) == ("I/O", "seconds"))
    if not io["times"]:
        return ""
    more = [row for row in measures if row["unit"] == "cause" and row["median"] is not None]
    most = max(more, key=lambda row: row["value"] - row["median"], default=None)
    grown = most is not None and most["value"] > most["median"]
    where = f"; most of what it takes more: {most['what']}" if most is not None and grown else ""
    return f"its I/O takes {numbers.times(io['times'])} its median{where}"
