"""What MPI-IO moved beyond what it was asked for: data sieving, read-modify-write, locks."""

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.collectives.operations import in_seconds
from fathom.run.arrow import compute as pc
from fathom.run.database import added, as_doubles


def _with_extra(rows: pa.Table) -> pa.Table:
    """And how much more was moved than asked for: null where no system call was seen."""
    moved, asked = added(rows["bytes_read"], rows["bytes_written"]), as_doubles(rows["bytes"])
    nothing = pa.scalar(None, moved.type)
    seen = pc.greater(moved, 0)
    whole = rows["bytes"] if moved.type == rows["bytes"].type else asked
    extra = pc.max_element_wise(pc.subtract(moved, whole), pa.scalar(0, moved.type))
    share = pc.divide(asked, as_doubles(pc.if_else(seen, moved, nothing)))
    rows = rows.append_column("extra_bytes", pc.if_else(seen, extra, nothing))
    return rows.append_column("efficiency", share)


def sieving(source: Source) -> pa.Table:
    """One row per reading or writing function of MPI-IO and file, the most extra bytes first; from `counters`.

    Columns: op; path; operation (`read`, `write`); calls; bytes (that the program asked for and got); reads,
    bytes_read, writes, bytes_written (system calls on the file inside those calls; of a write the reads are those of
    read-modify-write); unaligned (of them, those whose offset is no multiple of 4,096); locks, lock_seconds (fcntl,
    flock, lockf inside: taking and releasing); extra_bytes (moved beyond what was asked for), efficiency (asked over
    moved; above 1 where one read served several ranks): null where no system call was seen to move any.
    """
    return _with_extra(in_seconds(source.sql("from sieved_functions()")))


def sieved_calls(source: Source) -> pa.Table:
    """One row per call of MPI-IO inside which more was moved than it asked for, or that took locks; from `calls`.

    The most extra bytes first, at most 10,000. The ranks' parts of a collective call are one row, since they move one
    another's bytes.

    Columns: call (`calls.id`, of the first part); rank (null: several); ranks; then as `sieving`, and start_seconds,
    seconds.
    """
    return _with_extra(in_seconds(source.sql("from sieved_calls()")))
