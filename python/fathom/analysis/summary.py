"""The tables of `fathom show`. Every function takes a source of tables and gives one table.

Units: `seconds` are summed over calls unless the name says otherwise; `share` is of the run time, 0 to 1;
`mb_per_s` is 10^6 bytes that moved per second. Errors: `fathom.errors.RunError` of a damaged run.
Source of the totals: `counters`, so they are the same at every level and budget; intervals and shares
come from `calls`, so they cover what was recorded in full (`coverage`).
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.own import SECOND, busy_of, own_values
from fathom.run.arrow import compute as pc
from fathom.run.database import added, as_doubles, doubles


def seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """From ns."""
    return pc.divide(as_doubles(column), SECOND)


def _in_seconds(rows: pa.Table) -> pa.Table:
    """Rows with `seconds`, last, in place of `time`."""
    return rows.drop_columns(["time"]).append_column("seconds", seconds(rows["time"]))


def mean_seconds(rows: pa.Table) -> pa.ChunkedArray:
    """Of one call; null where there was none."""
    calls = pc.if_else(pc.greater(rows["calls"], 0), rows["calls"], None)
    return pc.divide(seconds(rows["time"]), as_doubles(calls))


def rate(bytes_moved: pa.ChunkedArray, nanoseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    """MB/s; null where nothing moved or no time passed."""
    known = pc.and_(pc.greater(bytes_moved, 0), pc.greater(nanoseconds, 0))
    nothing = pa.scalar(None, pa.float64())
    divisor = pc.if_else(known, as_doubles(nanoseconds), nothing)
    return pc.multiply(pc.divide(as_doubles(bytes_moved), divisor), SECOND / 1e6)


def _share(nanoseconds: pa.ChunkedArray, duration: int) -> pa.ChunkedArray:
    return pc.divide(as_doubles(nanoseconds), float(max(1, duration)))


def duration(source: Source) -> int:
    """Run time in ns."""
    return int(source.sql("select duration from runs")["duration"][0].as_py())


def layers(source: Source) -> pa.Table:
    """One row per layer, the most time first.

    Columns: layer; calls; recorded (of them in `calls`); errors; bytes; inclusive_seconds (a call inside
    another of its layer not added again); exclusive_seconds; busy_seconds (union of intervals, of all
    ranks, of what was recorded); share (busy of the run time), mb_per_s (bytes over busy time), null
    unless every call was recorded.
    """
    totals = source.sql("from layer_totals()")
    busy_ns = doubles(busy_of(source, layer) for layer in totals["layer"].to_pylist())
    complete = pc.equal(totals["recorded"], totals["calls"])
    share, speed = (
        pc.if_else(complete, column, pa.scalar(None, pa.float64()))
        for column in (_share(busy_ns, duration(source)), rate(totals["bytes"], busy_ns))
    )
    return pa.table(
        {
            "layer": totals["layer"],
            "calls": totals["calls"],
            "recorded": totals["recorded"],
            "errors": totals["errors"],
            "bytes": totals["bytes"],
            "inclusive_seconds": seconds(totals["inclusive"]),
            "exclusive_seconds": seconds(totals["exclusive"]),
            "busy_seconds": seconds(busy_ns),
            "share": share,
            "mb_per_s": speed,
        }
    )


def _pairs(table: pa.Table) -> list[tuple[Any, Any]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def percentiles(source: Source) -> pa.Table:
    """How long calls of a function take, the most time first, of I/O calls that were recorded in full and ended.

    Columns: layer; op; calls; seconds; p50_seconds, p90_seconds, p99_seconds (so many of 100 took no longer);
    longest_seconds.
    """
    return source.sql(
        """select layer, op, calls, time / 1e9 as seconds, median / 1e9 as p50_seconds, "90 %" / 1e9 as p90_seconds,
        "99 %" / 1e9 as p99_seconds, longest / 1e9 as longest_seconds
        from duration_percentiles(state = 'done', op)"""
    )


def functions(source: Source) -> pa.Table:
    """One row per function and caller's layer, the most time first.

    Columns: layer; op; kind; caller (`program`, the layer whose call
    it was made in, or `mpi`: MPI's start and end); calls; errors;
    bytes; seconds; mean_seconds; shortest_seconds; longest_seconds; mb_per_s (of one call: bytes over
    summed time); processes.
    """
    rows = source.sql("from function_totals()")
    return pa.table(
        {
            "layer": rows["layer"],
            "op": rows["op"],
            "kind": rows["kind"],
            "caller": rows["caller"],
            "calls": rows["calls"],
            "errors": rows["errors"],
            "bytes": rows["bytes"],
            "seconds": seconds(rows["time"]),
            "mean_seconds": mean_seconds(rows),
            "shortest_seconds": seconds(rows["shortest"]),
            "longest_seconds": seconds(rows["longest"]),
            "mb_per_s": rate(rows["bytes"], rows["time"]),
            "processes": rows["processes"],
        }
    )


def ranks(source: Source) -> pa.Table:
    """One row per process that made calls or has a rank, by rank.

    Columns: rank (null outside MPI); process; pid; parent (process that started it, where it was recorded); host;
    program; command (its words); ended; calls, bytes, seconds of its outermost calls; busy_seconds (union of their
    intervals, so threads do not add up); share; memory (most bytes resident at once; null: not known).
    """
    rows = source.sql("from rank_totals()")
    busy = dict(_pairs(source.sql("from busy_processes($regions, $talk)", **own_values(source))))
    busy_ns = doubles(busy.get(process) for process in rows["process"].to_pylist())
    return pa.table(
        {
            "rank": rows["rank"],
            "process": rows["process"],
            "pid": rows["pid"],
            "parent": rows["parent"],
            "host": rows["host"],
            "program": rows["exe"],
            "command": rows["command"],
            "ended": rows["ended"],
            "calls": rows["calls"],
            "bytes": rows["bytes"],
            "seconds": seconds(rows["time"]),
            "busy_seconds": seconds(busy_ns),
            "share": _share(busy_ns, duration(source)),
            "memory": rows["memory"],
        }
    )


def spread(source: Source) -> pa.Table:
    """Least, median and most over the ranks, and who has the most.

    Columns: quantity (calls, bytes, seconds, memory, which is left out where unknown); least; median; most; slowest
    (rank, or null outside MPI); slowest_process. Ranks that made no call count as 0.
    """
    rows = source.sql("from rank_spread()")
    of_time = pc.equal(rows["quantity"], "time")
    columns = {name: rows[name] for name in rows.column_names}
    for name in ("least", "median", "most"):
        columns[name] = pc.if_else(of_time, pc.divide(rows[name], SECOND), rows[name])
    return pa.table(columns | {"quantity": pc.if_else(of_time, "seconds", rows["quantity"])})


def files(source: Source) -> pa.Table:
    """One row per file, the most time first; sockets and pipes come last.

    Columns: file; path; kind; processes; calls (of all layers); opens; bytes_read, bytes_written (of
    the lowest layer that moved any); seconds (of outermost calls); server (whose own file it is, where none but servers
    used it).
    """
    return _in_seconds(source.sql("from file_totals()"))


def _any(source: Source, rows: str) -> bool:
    """Are there such rows?"""
    return bool(source.sql(f"select count(*) as n from {rows}")["n"][0].as_py())


def mounts(source: Source) -> pa.Table:
    """One row per file system that files were on, the most time first.

    Columns: file_system (type) and mount, null where they are not known; files; bytes_read, bytes_written; seconds;
    osts (of Lustre: how many the files lie on), least_osts and most_osts (of one file), null where no layout is known.
    """
    return _in_seconds(source.sql("from mount_totals()"))


def hints(source: Source) -> pa.Table:
    """Hints, properties and layouts of files, datasets and variables, from `hints_in_force`: one row per value.

    Columns: setting; value; source (`asked`, `in force`); processes, files that have it; thing (a dataset or variable,
    null for files themselves) and path of one.
    """
    return source.sql("from settings()")


def samples(source: Source) -> pa.Table:
    """What an agent read of the system, from `samples` (docs/tables.md).

    Columns: host; what; device; of (`node`, `process`: over all of the node's); unit (`bytes`, `ns`, `count`); is_level
    (else it is a counter); mean, most (levels as they are; counters per second).
    """
    return source.sql("from sample_rates()")


def kernel(source: Source) -> pa.Table:
    """Reads, writes and syncs by where their data were (`fathom run --kernel`), the most time first.

    Columns: op; layer; origin (`cached`, `device`, `both`; null: of no data); calls; bytes; seconds; missed (bytes
    that the page cache did not have), ahead (others that came into it); requests (to block devices);
    device_seconds (some were under way), queued_seconds (sum of their waits), paused_seconds (of writers),
    journal_seconds (a journal was committed meanwhile).
    """
    known = _any(source, "kernel_events")
    rows = source.sql("from kernel_origins() where $known", known=known)
    return pa.table(
        {name: rows[name] for name in ("op", "layer", "origin", "calls", "bytes")}
        | {"seconds": seconds(rows["time"])}
        | {name: rows[name] for name in ("missed", "ahead", "requests")}
        | {
            f"{name}_seconds": seconds(rows[name])
            for name in ("device", "queued", "paused", "journal")
        }
    )


def variables(source: Source) -> pa.Table:
    """One row per variable (dataset, attribute, variable) and layer, the most time first; from `calls`.

    Columns: layer; path (of the file); variable; extents (elements per dimension); element_bytes;
    processes; reads, writes (its library's calls); bytes_read, bytes_written (of those calls);
    seconds; collective (of reads and writes: made by all ranks together); system_calls, system_read,
    system_written (calls and bytes of layer posix inside any call on it).
    """
    known = _any(
        source,
        "objects where class in ('hdf5_dataset', 'hdf5_attribute') or class like '%_variable'",
    )
    return _in_seconds(source.sql("from variable_totals($known)", known=known))


def memory(source: Source) -> pa.Table:
    """Two rows per file of HDF5: what system calls moved of raw data and of metadata; from `calls`.

    Columns: path; memory (`raw data`, `metadata`, `not known`: HDF5 1.10.0 and 1.10.1); reads, writes, bytes_read,
    bytes_written, seconds of layer posix. Transfers outside HDF5's file drivers are in none.
    """
    known = _any(source, "ops where op like 'H5FD%'") and _any(
        source, "args where name = 'mem_type'"
    )
    return _in_seconds(source.sql("from hdf5_memory($known)", known=known))


def communication(source: Source) -> pa.Table:
    """One row per MPI function that the program called to communicate, the most time first.

    Columns: op; calls; errors; bytes (that the ranks put in; of receives: that arrived); seconds;
    least_seconds, most_seconds (of a rank), slowest (the rank of the most); longest_seconds (of one call).
    """
    rows = source.sql("from communication_totals()")
    return pa.table(
        {
            "op": rows["op"],
            "calls": rows["calls"],
            "errors": rows["errors"],
            "bytes": rows["bytes"],
            "seconds": seconds(rows["time"]),
            "least_seconds": seconds(rows["least"]),
            "most_seconds": seconds(rows["most"]),
            "slowest": rows["slowest"],
            "longest_seconds": seconds(rows["longest"]),
        }
    )


def waits(source: Source) -> pa.Table:
    """One row per function of threads and locks, the most time first.

    Columns: op; calls; errors (time-outs among them); seconds; mean_seconds; longest_seconds; processes.
    """
    rows = source.sql("from wait_totals()")
    return pa.table(
        {
            "op": rows["op"],
            "calls": rows["calls"],
            "errors": rows["errors"],
            "seconds": seconds(rows["time"]),
            "mean_seconds": mean_seconds(rows),
            "longest_seconds": seconds(rows["longest"]),
            "processes": rows["processes"],
        }
    )


def loaders(source: Source) -> pa.Table:
    """Consumers, each before the workers that feed it.

    Columns: consumer, process (numbers of processes); pid; is_worker; seconds (that it lasted); files, bytes, reads
    (of files); reads_per_second; io_seconds; waited_seconds; waits_by (`main`, `thread`: who of a consumer waits; null:
    not seen); processor_seconds; processor_wait_seconds; rest_seconds (of which nothing was recorded; null: not known);
    shares of `seconds` of each; allowed (processors).
    """
    rows = source.sql("from loader_times()")
    lasted = as_doubles(rows["lasted"])
    table = rows.select(["consumer", "process", "pid", "is_worker"])
    table = table.append_column("seconds", seconds(rows["lasted"]))
    for name in ("files", "bytes", "reads", "waits_by", "allowed"):
        table = table.append_column(name, rows[name])
    per_second = pc.divide(as_doubles(rows["reads"]), seconds(rows["lasted"]))
    table = table.append_column("reads_per_second", per_second)
    for name in ("io", "waited", "processor", "processor_wait", "rest"):
        table = table.append_column(f"{name}_seconds", seconds(rows[name]))
        table = table.append_column(f"{name}_share", pc.divide(as_doubles(rows[name]), lasted))
    return table


def checkpoints(source: Source) -> pa.Table:
    """State that is saved again and again, a row for files whose names differ in numbers only; from `calls`.

    Columns: path; layer; writers, rounds; files, bytes (of a round); stall_seconds (of the main thread that spends
    most in it, all rounds); others_seconds (another process waited meanwhile; null: no call tells); stripes (servers of
    a round's files; null: not known); saves (of files), and of them renamed, synced, synced_first, emptied.
    """
    rows = source.sql("from checkpoints()")
    table = rows.select(["place", "layer", "writers", "rounds", "files", "bytes"])
    table = table.rename_columns({"place": "path"})
    for name in ("stall", "others"):
        table = table.append_column(f"{name}_seconds", seconds(rows[name]))
    for name in ("stripes", "saves", "renamed", "synced", "synced_first", "emptied"):
        table = table.append_column(name, rows[name])
    return table


def mapped(source: Source) -> pa.Table:
    """Files that are mapped into memory, the most used first.

    Columns: path; maps; mapped (bytes of these); used (of them in memory when a mapping ended; null: not known);
    processes (a fork's child uses its parent's).
    """
    return source.sql("from mapped_totals()")


def regions(source: Source) -> pa.Table:
    """One row per name of a region or mark of the program (fathom.h), the most time first.

    Columns: region; calls; seconds (regions inside one another are added again); mean_seconds;
    longest_seconds; own_seconds (of I/O calls in it, but in no region inside it); own_share (of
    seconds; null for marks); processes.
    """
    rows = source.sql("from region_totals()")
    time = as_doubles(rows["time"])
    lasted = pc.if_else(pc.greater(time, 0), time, pa.scalar(None, pa.float64()))
    return pa.table(
        {
            "region": rows["region"],
            "calls": rows["calls"],
            "seconds": seconds(rows["time"]),
            "mean_seconds": mean_seconds(rows),
            "longest_seconds": seconds(rows["longest"]),
            "own_seconds": seconds(rows["own"]),
            "own_share": pc.divide(as_doubles(rows["own"]), lasted),
            "processes": rows["processes"],
        }
    )


def tuned(source: Source) -> pa.Table:
    """Columns: setting, value, became, files, objects, example."""
    return source.sql("from tuned_settings()")


def unfinished(source: Source) -> pa.Table:
    """Outermost calls that were open when their process was killed, the longest first.

    Columns: ranks; pids (of processes without a rank); op; layer; path; source_line; since_seconds; seconds (of the
    longest); calls.
    """
    rows = source.sql("from unfinished_calls()")
    places = [
        f"{row['source']}:{row['line']}" if row["line"] else row["source"]
        for row in rows.select(["source", "line"]).to_pylist()
    ]
    return pa.table(
        {
            "ranks": rows["ranks"],
            "pids": rows["pids"],
            "op": rows["op"],
            "layer": rows["layer"],
            "path": rows["path"],
            "source_line": pa.array(places, pa.string()),
            "since_seconds": seconds(rows["since"]),
            "seconds": seconds(rows["longest"]),
            "calls": rows["calls"],
        }
    )


def missing(source: Source) -> pa.Table:
    """What was cut or damaged, from `marks`: kind, detail, processes, value (summed), marks."""
    return source.sql("from mark_totals()")


def coverage(source: Source, by_choice: Sequence[str]) -> dict[str, Any]:
    """Calls recorded in full and counted only, of the layers that were to be recorded; and, as
    `by_choice`, (layer, calls) of those that were to be counted only."""
    rows = source.sql(
        "select layer, sum(recorded) as recorded, sum(calls) as calls"
        " from counters where layer <> 'fathom' group by layer order by layer"
    ).to_pylist()
    to_record = [row for row in rows if row["layer"] not in by_choice]
    return {
        "recorded": sum(row["recorded"] for row in to_record),
        "counted": sum(row["calls"] - row["recorded"] for row in to_record),
        "by_choice": [(row["layer"], row["calls"]) for row in rows if row["layer"] in by_choice],
    }


def tracing(source: Source) -> pa.Table:
    """Fathom's own rows: calls and seconds."""
    rows = source.sql("from tracing_cost()")
    return pa.table({"calls": rows["calls"], "seconds": seconds(rows["time"])})


def beside(source: Source) -> pa.Table:
    """What is left out as a run-time's, not the program's (docs/tables.md, `runtime`), in one row.

    Columns: files; calls; seconds (of its outermost calls, summed over processes).
    """
    rows = source.sql("select files, calls, time from beside")
    return pa.table(
        {"files": rows["files"], "calls": rows["calls"], "seconds": seconds(rows["time"])}
    )


def servers(source: Source) -> pa.Table:
    """One row per server, by number; none where files are not known (level `job`).

    Columns: number (of queries: the place of its name in their order); server (host/name as it was configured, host or
    host/0… without a name; where none was traced the OSTs of a file, or a mount point); calls; accesses (reads and
    writes that did not fail); errors; bytes_read;
    bytes_written; seconds (summed over calls); mean_seconds; longest_seconds; mb_per_s (bytes over summed time: what
    one call gets); files; processes (those that called; of a traced server itself). Errors: `fathom.errors.RunError` of
    a damaged run.
    """
    rows = source.sql("from server_totals()")
    times = {
        "seconds": seconds(rows["time"]),
        "mean_seconds": mean_seconds(rows),
        "longest_seconds": seconds(rows["longest"]),
        "mb_per_s": rate(added(rows["bytes_read"], rows["bytes_written"]), rows["time"]),
    }
    first = rows.select(
        ["number", "server", "calls", "accesses", "errors", "bytes_read", "bytes_written"]
    )
    columns = {name: first[name] for name in first.column_names}
    return pa.table(columns | times | {name: rows[name] for name in ("files", "processes")})
