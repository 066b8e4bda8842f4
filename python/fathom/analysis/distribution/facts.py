"""What a pattern is told of besides what was touched: chunks, HDF5's files, the order of accesses, the job's size."""

from dataclasses import dataclass

from fathom.analysis import Source


@dataclass(frozen=True)
class Facts:
    """Of a run. `ranks` of its job; else, where all are processes without MPI, so many."""

    ranks: int
    mpi: bool
    chunks: dict[tuple[int, str], str]  # of datasets that are stored in such, by file and name
    hdf5: set[int]  # files that HDF5 opened
    # by file, layer and direction: share of accesses that begin where the one before ended, or behind it
    forward: dict[tuple[int, str, str], float]


def facts_of(source: Source) -> Facts:
    """Asks for all of them."""
    (job,) = source.sql(
        "select max(ranks) as ranks, (select count(*) from processes) as processes from runs"
    ).to_pylist()
    chunks = source.sql(
        "select distinct o.file, o.name, h.value from hints_in_force as h join objects as o using (object)"
        " where h.key = 'chunk' and h.source = 'in force' and o.file is not null"
    ).to_pylist()
    hdf5 = source.sql(
        "select distinct file from objects where class = 'hdf5_file' and file is not null"
    )
    order = source.sql("from access_order()").to_pylist()
    return Facts(
        int(job["ranks"] or job["processes"]),
        bool(job["ranks"]),
        {(row["file"], row["name"]): row["value"] for row in chunks},
        set(hdf5["file"].to_pylist()),
        {
            (row["file"], row["layer"], row["direction"]): row["forward"]
            for row in order
            if row["forward"] is not None
        },
    )
