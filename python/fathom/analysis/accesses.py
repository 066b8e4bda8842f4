"""How files were accessed: by whom, in what order, in which sizes; MPIProf's and Darshan's tables. From counters.
Errors: `fathom.errors.RunError` of a damaged run."""

import pyarrow as pa

from fathom.analysis import Source
from fathom.analysis.summary import seconds


def origins(source: Source) -> pa.Table:
    """What POSIX, stdio and aio read and wrote, by the function that made them do so and group of files.

    Columns: layer; operation (`read`, `write`); caller_layer, caller (null: the program itself); file_group (like
    `out.*.rst`; null: files are not known); ranks (list; processes outside MPI); files; calls; bytes; seconds;
    caller_seconds (all of the caller's time on those files, communication included).
    """
    rows = source.sql("from access_origins()")
    names = [name for name in rows.column_names if name not in ("time", "caller_time")]
    times = {"seconds": seconds(rows["time"]), "caller_seconds": seconds(rows["caller_time"])}
    return pa.table({name: rows[name] for name in names} | times)


def patterns(source: Source) -> pa.Table:
    """One row per file and layer that moved data, the most bytes first; from counters at level `file` and `call`.

    Columns: path; layer; processes; reads, writes; bytes; sequential, consecutive, strided, unaligned_file,
    unaligned_memory, holes_file (shares of the accesses; null: not counted); switches (between reading and writing);
    common_size, common_calls, common_bound (the size met most often, how often, and by how much less it may be).
    """
    return source.sql("from access_patterns()")


def sizes(source: Source) -> pa.Table:
    """One row per layer and operation: how large its accesses are; from counters.

    Columns: layer; operation (`read`, `write`); accesses; bins (list of [from, below, accesses]; below is null in the
    last, open one); common (list of [size, accesses, bound], the most frequent first).
    """
    common: dict[tuple[str, str], list[list[int]]] = {}
    for row in source.sql("from common_sizes()").to_pylist():
        key = (row["layer"], row["operation"])
        common.setdefault(key, []).append([row["size"], row["calls"], row["bound"]])
    bins: dict[tuple[str, str], list[list[int | None]]] = {}
    for row in source.sql("from size_ranges()").to_pylist():
        key = (row["layer"], row["operation"])
        bins.setdefault(key, []).append([row["size_from"], row["size_below"], row["calls"]])
    return pa.table(
        {
            "layer": pa.array([layer for layer, _ in bins], pa.string()),
            "operation": pa.array([operation for _, operation in bins], pa.string()),
            "accesses": pa.array(
                [sum(b[2] or 0 for b in each) for each in bins.values()], pa.int64()
            ),
            "bins": pa.array(list(bins.values()), pa.list_(pa.list_(pa.int64()))),
            "common": pa.array(
                [common.get(key, [])[:4] for key in bins], pa.list_(pa.list_(pa.int64()))
            ),
        }
    )


def shapes(source: Source) -> pa.Table:
    """One row per file and function that reads or writes: in which shape it moves its bytes, from counters.

    Columns: path; layer; op; accesses; sequential, consecutive, strided, holes_memory, holes_file (shares of them;
    null: not known); stride, stride_calls (bytes from one offset to the next, most often, and how often); extent,
    extent_calls (bytes from the first to the last of the file that an access with holes touches); datatype,
    datatype_calls (of memory, most often), datatype_bytes, datatype_extent, datatype_true_extent.
    """
    return source.sql("from access_shapes()")


def shared(source: Source) -> pa.Table:
    """One row per file that several ranks (processes where there are none) used, and layer: who moved how much.

    Columns: path; layer; processes; bytes_read, bytes_written; least_bytes, mean_bytes, most_bytes, deviation_bytes;
    least_seconds, mean_seconds, most_seconds, deviation_seconds (of all calls of the layer on the file; deviation: the
    root of the variance over the ranks); fastest, slowest (ranks); mb_per_s (an estimate: all bytes over the slowest
    one's time, Darshan's `agg_perf_by_slowest`).
    """
    return source.sql("from shared_file_totals()")


def file_counts(source: Source) -> pa.Table:
    """How many files were used how, from counters.

    Columns: use (`read only`, `written only`, `read and written`, `no data`); files; by_one, shared (used by one
    process, by several; null where not all ranks were recorded alike); bytes; most_bytes (of one file).
    """
    rows = source.sql("from file_counts()")
    if source.sql("from ranks_in_part()")["files"][0].as_py():
        for name in ("by_one", "shared"):
            unknown = pa.nulls(rows.num_rows, pa.int64())
            rows = rows.set_column(rows.column_names.index(name), name, unknown)
    return rows
