"""What a lake says of the jobs of a centre: who loses most, what has risen, which servers are slow; a job beside the
runs of its program before it. Lost are node seconds (analysis/sql/lake.sql)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fathom.analysis import Source

#: Of a day's loss, below which nobody is said to have risen; times the median of one's own days.
LEAST, FAR = 0.01, 2.0
#: Bytes of a job at a server that say how quick it is; jobs that make a server worth judging; times its peers.
FEW, ENOUGH, SLOW = 1 << 20, 3, 1.5

#: What a table of the screen is called -> its statement.
TABLES = {
    "jobs": "from lake_worst_jobs()",
    "users": "from lake_losers(user)",
    "programs": "from lake_losers(program)",
    "mounts": "from lake_losers(mount)",
    "causes": "from lake_losers(cause)",
    "servers": f"from lake_servers_slow({FEW}, {ENOUGH}, {SLOW})",
    "risen": f"from lake_risen({LEAST}, {FAR})",
    "days": "from lake_days()",
}
#: That is in the order of days, of which the last ones count.
IN_TIME = "days"

Rows = list[dict[str, Any]]


def rows(source: Source, table: str, top: int | None = None) -> Rows:
    """Rows of one of TABLES, the first `top`, or all."""
    every: Rows = source.sql(TABLES[table]).to_pylist()
    if top is None:
        return every
    return every[-top:] if table == IN_TIME else every[:top]


def total(source: Source) -> dict[str, Any]:
    """Of all jobs: how many, days, users; node seconds, those in I/O, and lost; the first and last day."""
    row: dict[str, Any] = source.sql(
        "select count(*) as jobs, count(distinct date) as days, count(distinct user) as users, min(date) as first_day,"
        " max(date) as last_day, coalesce(sum(seconds * nodes), 0) as node_seconds,"
        " coalesce(sum(io_seconds * nodes), 0) as io_node_seconds,"
        " coalesce(sum(lost_node_seconds), 0) as lost_node_seconds from jobs"
    ).to_pylist()[0]
    return row


def jobs(source: Source) -> Rows:
    """Of each job, the first one first, what a job table has (fathom.pages.landscapes.job). Closes are not kept."""
    every: Rows = source.sql(
        "select *, epoch(started) as started_seconds, seconds as run_seconds, null as closes"
        " from jobs order by started, id"
    ).to_pylist()
    return every


@dataclass(frozen=True)
class Beside:
    """A job, and measures of it beside those of its program's runs before it."""

    job: dict[str, Any]
    runs: int  # before it
    ranks: int | None  # of these; None: of any number, since none had as many
    measures: Rows


def beside(source: Source, name: str) -> Beside | None:
    """The last job of this name, batch number or id; None: there is none."""
    jobs = source.sql(
        "from jobs where name = $name or job = $name or id = $name order by started desc, id limit 1",
        name=name,
    ).to_pylist()
    if not jobs:
        return None
    job = jobs[0]
    for ranks in (job["ranks"], None):
        measures = source.sql(
            "from lake_beside($id, $ranks::bigint)", id=job["id"], ranks=ranks
        ).to_pylist()
        runs = max((row["runs"] for row in measures), default=0)
        if runs:
            break
    return Beside(job, runs, ranks if runs else None, measures)


def names(source: Source) -> list[str]:
    """Of the newest jobs."""
    jobs: list[str] = source.sql("select name from jobs order by started desc limit 1000")[
        "name"
    ].to_pylist()
    return jobs
