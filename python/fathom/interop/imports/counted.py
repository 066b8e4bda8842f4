"""Darshan's modules as Fathom's ops: which counter is how often which function was called, and whose bytes and seconds
belong to it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fathom.interop.imports.details import Access, extremes
from fathom.interop.imports.lines import (
    ALIGNMENT,
    ALL,
    COLLECTIVE,
    DATASET,
    HDF5_FILE,
    MPI_FILE,
    PATH,
    PNETCDF_FILE,
    PNETCDF_VARIABLE,
    SUM,
    TRACKED,
    Damaged,
    Op,
    Total,
)

DATA = "size,offset,bytes"
# Ranges of messages of APMPI: what is in their counters' names, and the least size.
MESSAGES = {
    "0_256": 0,
    "256_1K": 257,
    "1K_8K": 1025,
    "8K_256K": 8193,
    "256K_1M": 262145,
    "1M_PLUS": 1048577,
}
# Above this a number cannot be meant: bytes of a job, seconds of one.
MOST, LONGEST = 1 << 62, 1e9


@dataclass(frozen=True)
class Record:
    """A module's record of a file: rank -1 has the sums of all ranks."""

    name: int
    rank: int
    counters: Mapping[str, int]
    seconds: Mapping[str, float]
    file: int = 0  # what a dataset or variable lies in, where Darshan says it
    container: str = ""  # of DAOS: daos://POOL/CONTAINER
    object: str = ""  # number of an object of DAOS

    def count(self, name: str) -> int:
        """A counter; 0 where that version of Darshan has none, or where its sum ran over."""
        value = self.counters.get(name, 0)
        if value > MOST:
            raise Damaged(f"counter {name} is {value}")
        return max(0, value)

    def ns(self, name: str) -> int:
        """Seconds as ns; 0 where there are none."""
        value = self.seconds.get(name, 0.0)
        if not -LONGEST < value < LONGEST:
            raise Damaged(f"counter {name} is {value}")
        return max(0, round(value * 1e9))


@dataclass(frozen=True)
class Counted:
    """An op and the counters (without their module's prefix) that say how often it was called."""

    op: Op
    counters: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Ops that share bytes and seconds: Darshan does not say which of them took what. Where several that move data were
    called, they are one op, `whole`; seconds of others are those of an op of their own, `sum`."""

    counted: tuple[Counted, ...]
    time: str
    span: str = ""
    bytes: str = ""
    longest: str = ""
    whole: Op | None = None
    sum: Op | None = None
    close: Op | None = None  # of opens, views and closes, which may be told apart (`_told_apart`)


@dataclass(frozen=True)
class Module:
    """One of Darshan's: counters begin with `prefix`; what its records are about is of `kind`."""

    layer: str
    prefix: str
    kind: int
    parts: tuple[Part, ...]


def _ops(layer: str, height: int, *rows: str) -> tuple[Counted, ...]:
    """Rows are: function, kind, counters; a `*` behind the function's name: a collective one."""
    ops = []
    for row in rows:
        name, kind, *counters = row.split()
        fields = DATA if kind in ("read", "write") else ""
        flags = (COLLECTIVE if name.endswith("*") else 0) | (TRACKED | ALIGNMENT if fields else 0)
        op = Op(layer, name.rstrip("*"), kind, height, fields, flags)
        ops.append(Counted(op, tuple(counters)))
    return tuple(ops)


def _data(layer: str, height: int, what: str, moved: str, *rows: str, whole: str = "") -> Part:
    """Reads or writes: `what` is READ or WRITE, `moved` the counter of bytes."""
    whole_op = Op(layer, whole, what.lower(), height, DATA, TRACKED | ALIGNMENT) if whole else None
    span, longest = f"F_{what}", f"F_MAX_{what}_TIME"
    return Part(_ops(layer, height, *rows), f"F_{what}_TIME", span, moved, longest, whole_op)


def _meta(layer: str, height: int, *rows: str) -> Part:
    """Opens and all else that takes Darshan's seconds of metadata, closes among them, which it does not count."""
    op = Op(layer, SUM, "meta", height)
    return Part(_ops(layer, height, *rows), "F_META_TIME", "F_OPEN", sum=op)


MODULES = {
    "POSIX": Module("posix", "POSIX", PATH, (
        _data("posix", 1, "READ", "BYTES_READ", "read read READS"),
        _data("posix", 1, "WRITE", "BYTES_WRITTEN", "write write WRITES"),
        _meta("posix", 1, "open open OPENS", "stat meta STATS", "lseek seek SEEKS", "dup meta DUPS",
            "fileno meta FILENOS", "mmap map MMAPS", "rename meta RENAME_SOURCES"),
        Part(_ops("posix", 1, "fsync sync FSYNCS", "fdatasync sync FDSYNCS"), ""),
    )),
    "STDIO": Module("stdio", "STDIO", PATH, (
        _data("stdio", 1, "READ", "BYTES_READ", "fread read READS"),
        _data("stdio", 1, "WRITE", "BYTES_WRITTEN", "fwrite write WRITES"),
        _meta("stdio", 1, "fopen open OPENS", "fdopen open FDOPENS", "fseek seek SEEKS", "fflush sync FLUSHES"),
    )),
    "MPI-IO": Module("mpiio", "MPIIO", MPI_FILE, (
        _data("mpiio", 2, "READ", "BYTES_READ", "MPI_File_read read INDEP_READS", "MPI_File_read_all* read COLL_READS",
            "MPI_File_read_all_begin* read SPLIT_READS", "MPI_File_iread read NB_READS", whole="read"),
        _data("mpiio", 2, "WRITE", "BYTES_WRITTEN", "MPI_File_write write INDEP_WRITES",
            "MPI_File_write_all* write COLL_WRITES", "MPI_File_write_all_begin* write SPLIT_WRITES",
            "MPI_File_iwrite write NB_WRITES", whole="write"),
        replace(_meta("mpiio", 2, "MPI_File_open* open COLL_OPENS INDEP_OPENS", "MPI_File_set_view* meta VIEWS",
            "MPI_File_sync* sync SYNCS"), close=Op("mpiio", "MPI_File_close", "close", 2, flags=COLLECTIVE)),
    )),
    "H5F": Module("hdf5", "H5F", HDF5_FILE, (
        _meta("hdf5", 3, "H5Fopen open OPENS", "H5Fflush sync FLUSHES"),
    )),
    "H5D": Module("hdf5", "H5D", DATASET, (
        _data("hdf5", 3, "READ", "BYTES_READ", "H5Dread read READS"),
        _data("hdf5", 3, "WRITE", "BYTES_WRITTEN", "H5Dwrite write WRITES"),
        _meta("hdf5", 3, "H5Dopen open OPENS", "H5Dflush sync FLUSHES"),
    )),
    "PNETCDF_FILE": Module("pnetcdf", "PNETCDF_FILE", PNETCDF_FILE, (
        _meta("pnetcdf", 3, "ncmpi_create* open CREATES", "ncmpi_open* open OPENS", "ncmpi_redef* meta REDEFS",
            "ncmpi_sync* sync SYNCS"),
        Part(_ops("pnetcdf", 3, "ncmpi_wait_all* wait COLL_WAITS", "ncmpi_wait wait INDEP_WAITS"), "F_WAIT_TIME",
            "F_WAIT"),
    )),
    "PNETCDF_VAR": Module("pnetcdf", "PNETCDF_VAR", PNETCDF_VARIABLE, (
        _data("pnetcdf", 3, "READ", "BYTES_READ", "ncmpi_get read INDEP_READS", "ncmpi_get_all* read COLL_READS",
            "ncmpi_iget read NB_READS", whole="read"),
        _data("pnetcdf", 3, "WRITE", "BYTES_WRITTEN", "ncmpi_put write INDEP_WRITES",
            "ncmpi_put_all* write COLL_WRITES", "ncmpi_iput write NB_WRITES", whole="write"),
        _meta("pnetcdf", 3, "ncmpi_inq_varid meta OPENS"),
    )),
    # NB_READS and the like are in these numbers already.
    "DFS": Module("dfs", "DFS", PATH, (
        _data("dfs", 2, "READ", "BYTES_READ", "dfs_read read READS", "dfs_readx read READXS", whole="read"),
        _data("dfs", 2, "WRITE", "BYTES_WRITTEN", "dfs_write write WRITES", "dfs_writex write WRITEXS", whole="write"),
        _meta("dfs", 2, "dfs_open open OPENS", "dfs_lookup open LOOKUPS", "dfs_obj_global2local open GLOBAL_OPENS",
            "dfs_dup open DUPS", "dfs_get_size meta GET_SIZES", "dfs_punch meta PUNCHES", "dfs_remove meta REMOVES",
            "dfs_stat meta STATS"),
    )),
    "DAOS": Module("daos", "DAOS", PATH, (
        _data("daos", 1, "READ", "BYTES_READ", "daos_obj_fetch read OBJ_FETCHES", "daos_array_read read ARRAY_READS",
            "daos_kv_get read KV_GETS", whole="read"),
        _data("daos", 1, "WRITE", "BYTES_WRITTEN", "daos_obj_update write OBJ_UPDATES",
            "daos_array_write write ARRAY_WRITES", "daos_kv_put write KV_PUTS", whole="write"),
        _meta("daos", 1, "daos_obj_open open OBJ_OPENS", "daos_array_open open ARRAY_OPENS",
            "daos_kv_open open KV_OPENS", "daos_obj_punch meta OBJ_PUNCHES",
            "daos_obj_punch_dkeys meta OBJ_DKEY_PUNCHES", "daos_obj_punch_akeys meta OBJ_AKEY_PUNCHES",
            "daos_obj_list_dkey meta OBJ_DKEY_LISTS", "daos_obj_list_akey meta OBJ_AKEY_LISTS",
            "daos_obj_list_recx meta OBJ_RECX_LISTS", "daos_array_get_size meta ARRAY_GET_SIZES",
            "daos_array_set_size meta ARRAY_SET_SIZES", "daos_array_stat meta ARRAY_STATS",
            "daos_array_punch meta ARRAY_PUNCHES", "daos_array_destroy meta ARRAY_DESTROYS",
            "daos_kv_remove meta KV_REMOVES", "daos_kv_list meta KV_LISTS", "daos_kv_destroy meta KV_DESTROYS"),
    )),
}  # fmt: skip


@dataclass(frozen=True)
class Counting:
    """What a record says of one op."""

    op: Op
    total: Total


def ops_of(module: Module, part: Part, record: Record) -> list[tuple[Op, int]]:
    """The ops of a part that were called, and how often; one, where bytes and seconds cannot be told apart."""
    counts = []
    for counted in part.counted:
        calls = sum(record.count(f"{module.prefix}_{name}") for name in counted.counters)
        if calls:
            counts.append((counted.op, calls))
    if part.whole and len(counts) > 1:
        return [(part.whole, sum(calls for _, calls in counts))]
    if part.sum and record.ns(f"{module.prefix}_{part.time}"):
        # Its calls are those that nobody counts: a close for each open.
        opens = sum(calls for op, calls in counts if op.kind == "open")
        return [(part.sum, max(1, opens)), *counts]
    return counts


def _span(module: Module, span: str, record: Record, lasted: int) -> tuple[int, int]:
    """Between which times calls were, as far as that is known."""
    first = record.ns(f"{module.prefix}_{span}_START_TIMESTAMP") if span else 0
    last = record.ns(f"{module.prefix}_{span}_END_TIMESTAMP") if span else 0
    return (first, last) if last >= first > 0 else (0, lasted)


@dataclass(frozen=True)
class _Timed:
    """Calls of one op, their ns, and between which times they were."""

    op: Op
    calls: int
    time: int
    span: tuple[int, int]


def _told_apart(module: Module, part: Part, record: Record, lasted: int) -> list[_Timed]:
    """Opens, views and closes, of a rank that opened the file once: its open and its close are spans.

    The rest are views, which Darshan times where they were given hints.
    """
    counts = ops_of(module, replace(part, sum=None), record)
    opens, views = (sum(n for op, n in counts if op.kind == kind) for kind in ("open", "meta"))
    # The hints of the open are one more.
    are_timed = views and record.count("MPIIO_HINTS") > views
    if part.close is None or record.rank == ALL or opens != 1 or not are_timed:
        return []
    opened, closed = (_span(module, span, record, lasted) for span in ("F_OPEN", "F_CLOSE"))
    between = (opened[1], max(opened[1], closed[0]))
    open_time, close_time = opened[1] - opened[0], closed[1] - closed[0]
    rest = record.ns(f"{module.prefix}_{part.time}") - open_time - close_time
    # Spans that the log lacks are as long as the run.
    if rest < 0:
        return []
    of_kind = {"open": (open_time, opened), "meta": (rest, between)}
    timed = [_Timed(op, n, *of_kind.get(op.kind, (0, between))) for op, n in counts]
    return [*timed, _Timed(part.close, 1, close_time, closed)]


def _timed(module: Module, part: Part, record: Record, lasted: int) -> list[_Timed]:
    """The ops of a part that were called. Where Darshan has one sum of seconds, the first one has it."""
    time = record.ns(f"{module.prefix}_{part.time}") if part.time else 0
    span = _span(module, part.span, record, lasted)
    return _told_apart(module, part, record, lasted) or [
        _Timed(op, calls, 0 if number else time, span)
        for number, (op, calls) in enumerate(ops_of(module, part, record))
    ]


def _moves(module: Module, record: Record) -> int:
    """In how many directions data moved."""
    return sum(bool(ops_of(module, part, record)) for part in module.parts if part.bytes)


def _sum(module: Module, record: Record) -> tuple[int, int]:
    """Bytes and ns of all that Darshan says who was slowest in."""
    moved = sum(
        record.count(f"{module.prefix}_{part.bytes}") for part in module.parts if part.bytes
    )
    time = sum(record.ns(f"{module.prefix}_{part.time}") for part in module.parts if part.time)
    return moved, time


def _ranks(module: Module, record: Record, moved: int, time: int) -> list[list[int]]:
    """What single ranks had of an op's bytes and ns, where the record is of all."""
    if record.rank != ALL or not time:
        return []
    every = _sum(module, record)
    known = extremes(record.counters, record.seconds, module.prefix, every)
    return [
        [rank, bytes_ * moved // max(1, every[0]), ns * time // max(1, every[1])]
        for rank, bytes_, ns in known
    ]


def _functions(module: Module, part: Part, record: Record) -> list[tuple[Op, int]]:
    """What takes an op's seconds, where it is more than one function: how often each was called."""
    counts = ops_of(module, replace(part, whole=None), record)
    if part.bytes == "BYTES_WRITTEN":
        # Darshan's seconds of writes are those of fsync too.
        synced = (one for one in module.parts if not one.time)
        counts += [called for one in synced for called in ops_of(module, one, record)]
    return counts if len(counts) > 1 else []


def with_syncs(total: Total, time: int) -> Total:
    """Syncs with their ns. Which took longest is not said: as long as their mean it was."""
    return replace(total, time=time, longest=time // total.calls)


def countings(module: Module, record: Record, lasted: int) -> list[Counting]:
    """What a record says, op by op; `lasted`: ns of the job."""
    countings = _countings(module, record, lasted)
    writes = next((part for part in module.parts if part.bytes == "BYTES_WRITTEN"), None)
    if writes is None or any(one.op.kind == "write" for one in countings):
        return countings
    # A rank that only synced has Darshan's seconds of writes for it.
    time = record.ns(f"{module.prefix}_{writes.time}")
    syncs = [one for one in countings if one.op.kind == "sync" and not one.total.time]
    for one in syncs[:1] if time else []:
        at = countings.index(one)
        countings[at] = replace(one, total=with_syncs(one.total, time))
    return countings


def _countings(module: Module, record: Record, lasted: int) -> list[Counting]:
    """The same, with the seconds of writes for writes only."""
    countings = []
    for part in module.parts:
        moved = record.count(f"{module.prefix}_{part.bytes}") if part.bytes else 0
        longest = record.ns(f"{module.prefix}_{part.longest}") if part.longest else 0
        for one in _timed(module, part, record, lasted):
            # Of a part without a time of its longest call none lasted longer than all together.
            most = min(longest or one.time, one.time)
            total = Total(one.calls, moved, one.time, most, *one.span)
            more: dict[str, Any] = {}
            if part.bytes:
                what, alone = part.span.removeprefix("F_"), _moves(module, record) == 1
                more = Access(record.counters, module.prefix, what, one.calls, alone).more()
                functions = _functions(module, part, record)
                if functions:
                    more["functions"] = functions
            ranks = _ranks(module, record, moved, one.time)
            if ranks:
                more["ranks"] = ranks
            total = replace(total, sizes=more.pop("sizes", ()), more=more)
            countings.append(Counting(one.op, total))
            moved = 0
    return countings


def communication(
    counters: Mapping[str, int], times: Mapping[str, float], lasted: int
) -> list[Counting]:
    """What a rank did by functions of MPI."""
    countings = []
    for key, calls in counters.items():
        name = key.removesuffix("_CALL_COUNT")
        if name == key or calls <= 0:
            continue
        op = Op("mpi", "MPI_" + name.removeprefix("MPI_").capitalize(), "comm", 2)
        seconds = (times.get(f"{name}_{which}_TIME", 0.0) for which in ("TOTAL", "MAX"))
        time, longest = (round(min(max(0.0, value), LONGEST) * 1e9) for value in seconds)
        moved = max(0, counters.get(f"{name}_TOTAL_BYTES", 0))
        ranges = [
            [least, counters.get(f"{name}_MSG_SIZE_AGG_{label}", 0)]
            for label, least in MESSAGES.items()
        ]
        more = {"ranges": [pair for pair in ranges if pair[1] > 0]}
        total = Total(calls, moved, time, min(longest, time), 0, lasted, more=more)
        countings.append(Counting(op, total))
    return countings
