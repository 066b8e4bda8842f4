"""Servers of a run: which there are, and what each did; from counters, so of every level that knows files."""

import pyarrow as pa

from fathom.analysis import Source, statement
from fathom.analysis.summary import mean_seconds, rate, seconds


def are_traced(source: Source) -> bool:
    """Did calls of layer `server` say what the servers did? Else directories of files stand for them."""
    rows = source.sql("select count(*) > 0 as traced from counters where layer = 'server'")
    return bool(rows["traced"][0].as_py())


def servers(source: Source) -> pa.Table:
    """One row per server, by number; none where files are not known (level `job`).

    Columns: number (of queries: the place of its name in their order); server (host/name as it was configured, host or
    host/0… without a name, or a directory); calls; accesses (reads and writes that did not fail); errors; bytes_read;
    bytes_written; seconds (summed over calls); mean_seconds; longest_seconds; mb_per_s (bytes over summed time: what
    one call gets); files; processes (those that called; of a traced server itself). Errors: `fathom.errors.RunError` of
    a damaged run.
    """
    rows = source.sql(statement("latency/server_totals"))
    times = {
        "seconds": seconds(rows["time"]),
        "mean_seconds": mean_seconds(rows),
        "longest_seconds": seconds(rows["longest"]),
        "mb_per_s": rate(pa.compute.add(rows["bytes_read"], rows["bytes_written"]), rows["time"]),
    }
    first = rows.select(
        ["number", "server", "calls", "accesses", "errors", "bytes_read", "bytes_written"]
    )
    columns = {name: first[name] for name in first.column_names}
    return pa.table(columns | times | {name: rows[name] for name in ("files", "processes")})
