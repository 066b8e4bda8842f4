"""Collective calls of MPI-IO, one by one, by function, by aggregator."""

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.own import SECOND
from fathom.run.arrow import compute as pc
from fathom.run.database import as_doubles

# Columns in ns, by what they are called in seconds.
TIMES = {
    "start": "start_seconds",
    "elapsed": "elapsed_seconds",
    "time": "seconds",
    "wait": "wait_seconds",
    "exchange": "exchange_seconds",
    "io": "io_seconds",
    "lock_time": "lock_seconds",
}


def in_seconds(rows: pa.Table) -> pa.Table:
    """The same rows, their times in seconds and named so."""
    for name, called in TIMES.items():
        if name in rows.column_names:
            values = pc.divide(as_doubles(rows[name]), SECOND)
            rows = rows.set_column(rows.column_names.index(name), called, values)
    return rows


def _with_rest(rows: pa.Table) -> pa.Table:
    """And what is left of `seconds`: the exchange in it, too, where that is not known."""
    known = [
        pc.fill_null(rows[name], 0.0) for name in ("wait_seconds", "exchange_seconds", "io_seconds")
    ]
    rest = rows["seconds"]
    for part in known:
        rest = pc.subtract(rest, part)
    return rows.append_column("rest_seconds", pc.max_element_wise(rest, 0.0))


def operations(source: Source) -> pa.Table:
    """One row per collective read or write of MPI-IO, the longest first; from `calls`.

    Columns: collective (number); op; operation (`read`, `write`); path; start_seconds, elapsed_seconds (first
    rank's enter to last rank's leave); ranks, ranks_seen; bytes (that they asked for and moved). Aggregators
    (processes whose system calls moved data of the file in its direction): aggregators, aggregator_ranks,
    aggregator_nodes; cb_nodes_asked, cb_nodes, cb_config_list_asked, cb_config_list, cb_buffer_size (the hints asked
    for, and in force); aggregator_least_bytes, aggregator_most_bytes.

    domains says how the file was dealt out: `one` aggregator, `even` pieces, `aligned` pieces, `round-robin by
    stripe`, `group` (round-robin within groups), `independent` (each rank moved its own), `nothing` (no bytes),
    `unknown`. aligned_bytes: the largest power of two that all borders can be multiples of; stripe_bytes.
    chunk_bytes (largest system call), system_calls, rounds (most of one aggregator), moved_bytes; back_calls,
    back_bytes (of a write: reads of what lies between, to be written back). linked_bytes, for_others_bytes,
    confidence: of the links `carries` (null: none): all, from one process to another, least %.

    Times, summed over ranks: seconds; of them wait_seconds (until the last rank came, I/O in it not counted),
    exchange_seconds (the library's own MPI calls after that; null: layer mpi was not recorded, or not ROMIO),
    io_seconds (system calls), rest_seconds (what is left; with the exchange, where that is null).
    """
    return _with_rest(in_seconds(source.sql("from collective_operations()")))


def functions(source: Source) -> pa.Table:
    """One row per collective reading or writing function and file, the most time first; from `calls` and `counters`.

    Columns as those of `operations`, summed: op; operation; path; operations; ranks; bytes; least_aggregators,
    aggregators (of one operation); aggregator_nodes; domains (all that occurred); chunk_bytes; system_calls; rounds;
    elapsed_seconds; seconds; wait_seconds; exchange_seconds (from counters, less wait_seconds; null: not ROMIO, layer
    mpi was off, or the function met several files); io_seconds; rest_seconds.
    """
    return _with_rest(in_seconds(source.sql("from collective_functions()")))


def aggregators(source: Source) -> pa.Table:
    """One row per process that moved data in collective calls, file and function, the most bytes first; from `calls`
    and `links`.

    Columns: rank; process; host; op; path; operations; system_calls; bytes; linked_bytes (bytes of ranks in them);
    own_bytes (of those, its own rank's); of_ranks (whose); confidence (%); all four null where no link is known;
    seconds (of its system calls).
    """
    return in_seconds(source.sql("from collective_aggregators()"))


def exchange(source: Source) -> pa.Table:
    """One row per collective MPI-IO function, the most time first.

    Columns: op; calls; seconds; exchange_seconds, posix_seconds, rest_seconds (of them: the library's own MPI
    calls, file I/O, neither; exchange and rest are null where the exchange is not known: OMPIO, or layer mpi
    was off); seen_seconds (the exchange that was seen all the same: a part).
    """
    rows = source.sql("from collective_exchange()")
    nothing = pa.scalar(None, pa.float64())
    time, seen, posix = (
        pc.divide(as_doubles(rows[name]), SECOND) for name in ("time", "exchange", "posix")
    )
    rest = pc.max_element_wise(pc.subtract(pc.subtract(time, seen), posix), 0.0)
    return pa.table(
        {
            "op": rows["op"],
            "calls": rows["calls"],
            "seconds": time,
            "exchange_seconds": pc.if_else(rows["known"], seen, nothing),
            "posix_seconds": posix,
            "rest_seconds": pc.if_else(rows["known"], rest, nothing),
            "seen_seconds": seen,
        }
    )


def joined(source: Source) -> pa.Table:
    """One row per collective function.

    Columns: layer; op; operations; incomplete (of them not seen of all ranks); disagreeing (ranks name
    another function or file); ranks_seen (least); ranks_expected (most).
    """
    return source.sql("from collective_joined()")
