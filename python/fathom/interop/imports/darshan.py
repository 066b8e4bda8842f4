"""Tells what is in logs of Darshan: `python -m fathom.interop.imports.darshan`, started by run/importing.py."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from fathom.interop.imports.counted import (
    MODULES,
    MOST,
    Counting,
    Module,
    Record,
    communication,
    countings,
    ops_of,
    with_syncs,
)
from fathom.interop.imports.darshan_log import IN_A_FILE, IN_DAOS, TRACES, Log, Routed, Segments
from fathom.interop.imports.details import deviations, of_daos, reach, selected
from fathom.interop.imports.enclosing import Enclosing
from fathom.interop.imports.lines import (
    ALIGNMENT,
    ALL,
    UNKNOWN_OFFSET,
    Lines,
    Op,
    Total,
    configuration,
)
from fathom.interop.imports.serving import serve
from fathom.run.darshan_library import library

# What is read of a log, and what would not be told by its name.
READ = {*MODULES, *TRACES, "LUSTRE", "APMPI", "APXC", "HEATMAP"}
# Heat maps by what they are named, and the module whose bytes they have.
HEAT = {
    "heatmap:POSIX": "POSIX", "heatmap:MPIIO": "MPI-IO", "heatmap:STDIO": "STDIO", "heatmap:DFS": "DFS",
    "heatmap:DAOS": "DAOS",
}  # fmt: skip
# Files of which it is said who was slowest.
SLOWEST = 10
LIMITS = (
    "closes are not counted; sizes of reads and writes are what moved; failed calls are unknown; the shortest call is "
    "unknown (0); places in the code, threads, process numbers and, without DXT, hosts are unknown; a file is its name",
    "which call made which is not recorded: calls of POSIX on a file that MPI-IO or HDF5 has open are taken to be "
    "theirs as far as their seconds have room, traced ones where their times lie in each other",
    "seconds of opens, closes, stats, seeks and the like are one sum, op metadata, which counts a close for each open, "
    "but where MPI-IO opened a file once and set views; those of fsync are in writes",
)


# Table `heat` has at most so many bins, as wide as the narrowest times a power of two (docs/tables.md).
HEAT_BINS, NARROWEST = 200, 12_500_000
TRACED_BY = {module: trace for trace, module in TRACES.items()}


def heat_width(lasted: int) -> int:
    """ns of a bin of table `heat`."""
    width = NARROWEST
    while width * HEAT_BINS < lasted:
        width *= 2
    return width


def ns(seconds: Any) -> Any:
    """Of times of segments."""
    return np.rint(seconds * 1e9).astype(np.int64)


class Telling:
    """What was found, in lines."""

    def __init__(self, log: Log, lines: Lines) -> None:
        self.log, self.lines = log, lines
        self.marks: list[tuple[str, int]] = [(limit, 1) for limit in LIMITS]
        self.counts: dict[str, list[Record]] = {}
        self.traced = {name: log.read(name, log.traced) for name in TRACES}
        for name in MODULES:
            self.counts[name] = log.read(name, log.counted)
        if any(self.traced.values()):
            # Rows do not tell of their buffers.
            lines.without = ALIGNMENT
        self.talk = log.read("APMPI", log.communicated)
        self.striped = log.read("LUSTRE", log.striped)
        self.lasted = max(log.lasted, self.last())
        self.enclosing = Enclosing(self.sums(), log.ranks)
        # Calls, bytes and ns that rows have: file, rank, op.
        self.rows: Counter[tuple[int, int, Op]] = Counter()
        self.bytes: Counter[tuple[int, int, Op]] = Counter()
        self.time: Counter[tuple[int, int, Op]] = Counter()

    def all(self) -> None:
        """Every line."""
        self.job()
        for name, traces in self.traced.items():
            for segments in traces:
                self.trace(MODULES[TRACES[name]], segments)
        for name, records in self.counts.items():
            for record in records:
                self.count(MODULES[name], record)
        for rank in self.talk:
            for counting in communication(rank.counters, rank.seconds, self.lasted):
                self.lines.counter(rank.rank, counting.op, 0, None, counting.total)
        self.synchronized()
        self.heat()
        self.stripes()
        self.network(self.log.read("APXC", self.log.routed))
        self.left_out()
        self.slowest()
        for mark in self.marks:
            self.lines.tell("mark", *mark)
        for what, why in self.log.unreadable:
            self.lines.tell("unreadable", f"{what} {why}")
        self.lines.end()

    def job(self) -> None:
        """The job, its hosts and processes."""
        log, head = self.log, self.log.head
        # Some logs have none.
        words = head.command.split()
        exe = words[0] if words else ""
        version = head.version
        self.marks.insert(0, (f"imported from a Darshan log of version {version}", 1))
        layers = {MODULES[name].layer for name, records in self.counts.items() if records}
        mpi = log.ranks > 1 or bool(self.counts["MPI-IO"])
        level = "call" if any(self.traced.values()) else "file"
        library = head.metadata.get("lib_ver", "")
        description = {
            "recorder": "darshan", "start_ns": log.start, "end_ns": log.start + self.lasted,
            "processes": log.ranks, "ranks": mpi, "program": exe.rpartition("/")[2] or "unknown",
            "command": words, "directory": "", "job": str(head.job), "user": head.user,
            "versions": {"darshan": library, "darshan_log": version}, "configuration": configuration(layers, level),
            "mounts": self.mounts(),
        }  # fmt: skip
        self.lines.tell("run", description)
        hosts = {segments.rank: segments.host for segments in self.talk}
        hosts |= {
            segments.rank: segments.host for records in self.traced.values() for segments in records
        }
        numbers = {"unknown": 0}
        for rank in range(log.ranks):
            host = hosts.get(rank) or "unknown"
            numbers.setdefault(host, len(numbers))
            self.lines.tell("process", rank, numbers[host], {"executable": exe, "command": words})
        used = {numbers[hosts.get(rank) or "unknown"] for rank in range(log.ranks)}
        for host, number in numbers.items():
            if number in used:
                self.lines.tell("host", number, host)

    def mounts(self) -> dict[str, tuple[str, str | None]]:
        """By folders with all that is below them: the type and the mount point of the file system that files are on."""
        on_lustre = {self.log.name(one.file) for one in self.striped}
        by_mount = mounts(self.log.names.values(), dict(self.log.head.mounts), on_lustre)
        containers = {one.container for name in IN_DAOS for one in self.counts[name]}
        return by_mount | {one: ("daos", one) for one in sorted(containers)}

    def last(self) -> int:
        """When the last thing ended that the log has, ns: older logs know the job's end in seconds only."""
        ends = [
            record.ns(name)
            for records in self.counts.values()
            for record in records
            for name in record.seconds
            if name.endswith("_END_TIMESTAMP")
        ]
        ends += [
            int(ns(one.rows["end"].max()))
            for traces in self.traced.values()
            for one in traces
            if len(one.rows)
        ]
        return max(ends, default=0)

    def sums(self) -> Iterator[tuple[str, Op, int, int]]:
        """Each op on each file: its rank and ns."""
        for name, records in self.counts.items():
            module = MODULES[name]
            for record in records:
                for counting in countings(module, record, self.lasted):
                    for place in self.places(module, record):
                        yield place, counting.op, record.rank, counting.total.time

    def places(self, module: Module, record: Record) -> list[str]:
        """What its calls are on, then what calls inside them are on: objects of DAOS do not say their file."""
        file = self.file(module, record)
        if not record.container:
            return [file]
        return [record.container] if record.object else [file, record.container]

    def file(self, module: Module, record: Record) -> str:
        """The name of the file that a record is about, or whose dataset or variable."""
        name = self.log.name(record.name)
        if record.container:
            return f"{record.container}/{record.object or name.lstrip('/')}"
        if module.prefix not in IN_A_FILE:
            return name
        if record.file in self.log.names:
            return self.log.name(record.file)
        # Older versions say it by the name only: FILE:DATASET.
        return name.rpartition(":")[0] or name

    def thing(self, module: Module, record: Record) -> int:
        """What a record is about, as an object."""
        file, name = self.file(module, record), self.log.name(record.name)
        if module.prefix == "H5D" or module.prefix == "PNETCDF_VAR":
            holder = "H5F" if module.prefix == "H5D" else "PNETCDF_FILE"
            parent = self.lines.thing(MODULES[holder].kind, file, 0, _opened(holder))
            size = record.count(f"{module.prefix}_DATATYPE_SIZE")
            return self.lines.thing(module.kind, name.removeprefix(file + ":"), parent, (size, 0))
        return self.lines.thing(module.kind, file, 0, _opened(module.prefix))

    def trace(self, module: Module, segments: Segments) -> None:
        """Segments as calls."""
        rows, name, rank = segments.rows, segments.file, segments.rank
        if not len(rows):
            return
        part = next(part for part in module.parts if part.span == f"F_{segments.what}")
        op = self.traced_op(module, segments) or part.whole or part.counted[0].op
        about = self.thing(module, Record(name, rank, {}, {}))
        inside = self.enclosing.of(self.log.name(name), op, rank)
        began = np.maximum(ns(rows["start"]), 0)
        ended = np.maximum(ns(rows["end"]), began)
        length = np.maximum(rows["length"], 0)
        # Of shared pointers, and below Open MPI, Darshan does not know where.
        offsets = np.where(rows["offset"] < 0, UNKNOWN_OFFSET, rows["offset"])
        columns = (began.tolist(), ended.tolist(), length.tolist(), offsets.tolist())
        timed = ((b, e, [size, at, size]) for b, e, size, at in zip(*columns, strict=True))
        self.lines.calls(rank, op, about, inside, timed)
        for whose in (rank, ALL):
            key = (name, whose, op)
            self.rows[key] += len(rows)
            self.bytes[key] += int(length.sum())
            self.time[key] += int((ended - began).sum())

    def traced_op(self, module: Module, segments: Segments) -> Op | None:
        """Which op the counters of the same file say that segments are."""
        which = next(key for key, one in MODULES.items() if one is module)
        shared = self._by_name.get((which, segments.file, ALL), [])
        for record in self._by_name.get((which, segments.file, segments.rank), shared):
            for part in module.parts:
                if part.span == f"F_{segments.what}":
                    return next((op for op, _ in ops_of(module, part, record)), None)
        return None

    @cached_property
    def _by_name(self) -> dict[tuple[str, int, int], list[Record]]:
        """Records of a module, a file and a rank."""
        by_key = defaultdict(list)
        for module, records in self.counts.items():
            for record in records:
                by_key[(module, record.name, record.rank)].append(record)
        return by_key

    def count(self, module: Module, record: Record) -> None:
        """What a record counts and no row tells."""
        about, place = self.thing(module, record), self.places(module, record)[0]
        every = list(countings(module, record, self.lasted))
        synced = self.synced(every, record)
        for counting in every:
            left = self.left(counting, record)
            if counting.op == synced[0]:
                left = with_syncs(left, synced[1])
            for rank, part in self.parts(place, counting.op, record.rank, left):
                inside = self.enclosing.of(place, counting.op, rank)
                self.lines.counter(rank, counting.op, about, inside, part)
        self.lines.hint(max(0, record.rank), about, self.known(module, record))

    def known(self, module: Module, record: Record) -> dict[str, str]:
        """What a record says besides its calls."""
        facts = selected(record.counters, module.prefix) if module.prefix in IN_A_FILE else {}
        if module.prefix in IN_DAOS:
            facts |= of_daos(record.counters, module.prefix)
        if record.rank == ALL:
            facts |= deviations(module.layer, module.prefix, record.seconds)
        return facts | reach(module.layer, module.prefix, record.counters)

    def parts(self, file: str, op: Op, rank: int, total: Total) -> Iterator[tuple[int, Total]]:
        """Sums as they are told: those of all by rank, where only some ranks' calls were made in others."""
        if rank == ALL and self.enclosing.differs(file, op):
            every = [(one, total.part(one, self.log.ranks)) for one in range(self.log.ranks)]
        else:
            every = [(rank, total)]
        yield from ((one, part) for one, part in every if part.calls)

    def left(self, counting: Counting, record: Record) -> Total:
        """The sum less what has rows."""
        total, key = counting.total, (record.name, record.rank, counting.op)
        if not self.rows[key]:
            return total
        calls = max(0, total.calls - self.rows[key])
        moved, time = max(0, total.bytes - self.bytes[key]), max(0, total.time - self.time[key])
        return Total(calls, moved, time, min(total.longest, time), total.first, total.last)

    def synced(self, every: list[Counting], record: Record) -> tuple[Op | None, int]:
        """The op that syncs, and its ns: Darshan has them in those of writes, which here all have rows."""
        syncs = [one.op for one in every if one.op.kind == "sync" and one.total.time == 0]
        writes = [self.left(one, record) for one in every if one.op.kind == "write"]
        rest = sum(left.time for left in writes if not left.calls)
        return (syncs[0], rest) if syncs and rest else (None, 0)

    def heat(self) -> None:
        """When data moved, of modules without rows; the time of a rank's reads, or writes, as their bytes."""
        spent = self.spent()
        for record in self.log.read("HEATMAP", self.log.heated):
            name = HEAT.get(self.log.name(record.name), "")
            if not name or record.rank == ALL or self.traced.get(TRACED_BY.get(name, "")):
                continue
            width = round(record.width * 1e9)
            for what, bins in (("READ", record.read), ("WRITE", record.written)):
                part = next(part for part in MODULES[name].parts if part.span == f"F_{what}")
                op, moved = part.whole or part.counted[0].op, int(bins[bins > 0].sum())
                time = spent[(record.rank, op.layer, op.kind)] + spent[(ALL, op.layer, op.kind)]
                moments = [
                    (at, int(n), int(n) * time // moved) for at, n in enumerate(bins) if n > 0
                ]
                if moments and moved < MOST:
                    self.lines.heat(record.rank, op, *_narrow(moments, width, self.lasted))

    def spent(self) -> Counter[tuple[int, str, str]]:
        """ns by rank, layer and kind; of what all ranks did together a rank's equal part."""
        by_rank: Counter[tuple[int, str, str]] = Counter()
        for _, op, rank, time in self.sums():
            by_rank[(rank, op.layer, op.kind)] += time if rank != ALL else time // self.log.ranks
        return by_rank

    def stripes(self) -> None:
        """How Lustre lays files out."""
        for record in self.striped:
            hints = {"osts": ",".join(map(str, record.osts))}
            if len(record.components) == 1:
                (one,) = record.components
                hints["striping_unit"] = str(one["STRIPE_SIZE"])
                hints["striping_factor"] = str(one["STRIPE_COUNT"])
                hints["start_iodevice"] = str(record.osts[0]) if record.osts else ""
            else:
                hints["components"] = "; ".join(map(component, record.components))
            about = self.lines.thing(MODULES["POSIX"].kind, self.log.name(record.file))
            known = {
                key: value for key, value in hints.items() if value and not value.startswith("-")
            }
            self.lines.hint(max(0, record.rank), about, known)

    def synchronized(self) -> None:
        """How long ranks waited for each other, where APMPI was told to look."""
        waited = sum(one.synchronized for one in self.talk)
        if waited > 0:
            what = f"ranks waited {waited:.6f} s for the last one before collective calls of MPI"
            self.marks.append((what, 1))

    def network(self, routers: list[Routed]) -> None:
        """What the network of a Cray XC did meanwhile, other jobs' traffic in it."""
        if not routers:
            return
        flits, stalls = (sum(getattr(one, what) for one in routers) for what in ("flits", "stalls"))
        most = max(routers, key=lambda one: one.stalls)
        what = (
            f"module APXC: {len(routers)} routers took {flits} flits and stalled {stalls} times, most at {most.place}, "
            f"of rank {most.rank}: {most.stalls} times; which ports is left out"
        )
        self.marks.append((what, 1))

    def left_out(self) -> None:
        """What the log has and the tables have no place for, or Darshan had no memory for."""
        shared = sum(record.rank == ALL for records in self.counts.values() for record in records)
        if shared:
            what = (
                f"records of files that all {self.log.ranks} ranks opened are sums: each rank has an equal part, "
                "but the slowest and the fastest, which Darshan names"
            )
            self.marks.append((what, shared))
        for name, part in self.log.parts.items():
            if name not in READ:
                many = len(self.log.read(name, self.log.records))
                size = f"records: {many}, bytes in the log: {part.bytes}"
                what = f"module {name}, version {part.version}, is left out; {size}"
                self.marks.append((what, 1))
            if part.partial:
                what = f"module {name}, version {part.version}: Darshan had no memory for all of it"
                self.marks.append((what, 1))
        if not any(self.traced.values()):
            self.marks.append(("no DXT in it: no call has a row, only sums by file", 1))

    def slowest(self) -> None:
        """Of what all ranks share, who needed longest and how far the others are apart, as far as Darshan says it."""
        slowest = []
        for name, records in self.counts.items():
            for record in (one for one in records if one.rank == ALL):
                prefix = MODULES[name].prefix
                time = record.ns(f"{prefix}_F_SLOWEST_RANK_TIME")
                rank = record.count(f"{prefix}_SLOWEST_RANK")
                moved = record.count(f"{prefix}_SLOWEST_RANK_BYTES")
                where = f"{self.file(MODULES[name], record)}, {MODULES[name].layer}"
                what = f"{where}: rank {rank} was slowest, {time / 1e9:.6f} s for {moved} bytes"
                apart = deviations("ranks", prefix, record.seconds).values()
                if apart:
                    what += "; all ranks: standard deviation {} s, {} bytes".format(*apart)
                if time:
                    slowest.append((time, what))
        slowest.sort(reverse=True)
        self.marks += [(what, 1) for _, what in slowest[:SLOWEST]]


def mounts(
    files: Iterable[str], types: Mapping[str, str], on_lustre: Collection[str]
) -> dict[str, tuple[str, str | None]]:
    """The same, by the mount points that are nearest above files. Where a link leads to Lustre, they are of another."""
    by_mount: dict[str, tuple[str, str | None]] = {}
    for file in files:
        at = next((at for at in _folders(file) if at in types), None)
        if file in on_lustre and types.get(at or "") != "lustre":
            by_mount[file.rpartition("/")[0] or "/"] = ("lustre", None)
        elif at is not None:
            by_mount.setdefault(at, (types[at], at))
    return by_mount


def _folders(file: str) -> Iterator[str]:
    """A path and all that is above it, the nearest first."""
    while file.startswith("/"):
        yield file
        file = file.rpartition("/")[0] or ("/" if file != "/" else "")


def component(counters: Mapping[str, int]) -> str:
    """A part of a layout of Lustre: from which byte to which, in how many stripes of which size, of which mirror."""
    last = counters["EXT_END"]
    where = f"{max(0, counters['EXT_START'])}-{last if last >= 0 else ''}"
    mirror = f", mirror {counters['MIRROR_ID']}" if counters["MIRROR_ID"] > 0 else ""
    return f"{where}: {counters['STRIPE_COUNT']} x {counters['STRIPE_SIZE']}{mirror}"


def _narrow(
    bins: list[tuple[int, int, int]], width: int, lasted: int
) -> tuple[int, list[list[int]]]:
    """Bins no wider than those of the run's own heat map."""
    pieces = max(1, width // heat_width(lasted))
    narrow = [
        [at * pieces + piece, *(n * (piece + 1) // pieces - n * piece // pieces for n in numbers)]
        for at, *numbers in bins
        for piece in range(pieces)
    ]
    return width // pieces, narrow


def _opened(prefix: str) -> tuple[int, ...]:
    """Numbers of an object that a communicator opened: its access mode and size are not known by process."""
    return (0, 0) if prefix in ("MPIIO", "PNETCDF_FILE") else ()


if __name__ == "__main__":
    library()
    serve(lambda log, lines: Telling(Log(log), lines).all())
