"""What accesses cost on the mounts of a site: of each run what it shows, and of many the medians and the best tenth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathom.analysis.account import prepare
from fathom.run import database
from fathom.run.site import Reference
from fathom.run.store import Run


def costs(run: Run) -> list[dict[str, Any]]:
    """Mount and direction -> seconds of a byte, and of a request beyond its bytes (null: not shown), of one run."""
    prepare(run, "account_mounts()")
    rows: list[dict[str, Any]] = run.sql("from account_mounts()").to_pylist()
    return rows


def references(of_runs: Sequence[dict[str, Any]]) -> list[Reference]:
    """Rows of `costs` of many runs, by mount and direction."""
    if not of_runs:
        return []
    rows = database.over(
        """select
            file_system, mount, kind, count(*) as runs,
            median(request) as request, quantile_cont(request, 0.1) as request_best,
            median(per_byte) as per_byte, quantile_cont(per_byte, 0.1) as per_byte_best
        from (select * replace (request::double as request) from shown)
        group by all
        order by all""",
        shown=database.table_of(of_runs),
    )
    return [Reference(**row) for row in rows.to_pylist()]
