"""Tells what is in a Darshan log: `python -m fathom.importing.darshan LOG`, started by importing/start.py."""

import sys
from collections import Counter, defaultdict
from functools import cached_property
from typing import Any

import numpy as np

from fathom.importing.counted import (
    MODULES,
    Counting,
    Module,
    Record,
    countings,
    ops_of,
    seconds_left,
)
from fathom.importing.darshan_log import TRACES, Log, Segments
from fathom.importing.lines import ALL, Lines, Op, Total, configuration, tell_all

# What is read of a log, and what would not be told by its name.
READ = {*MODULES, *TRACES, "LUSTRE"}
# Layers that call a layer, by file: nearest first.
ABOVE = {"posix": ("mpiio", "pnetcdf", "hdf5"), "mpiio": ("pnetcdf", "hdf5")}
# Files of which it is said who was slowest.
SLOWEST = 10
LIMITS = (
    "closes are not counted; sizes of reads and writes are what moved; failed calls are unknown; the shortest call is "
    "unknown (0); places in the code, threads, process numbers and, without DXT, hosts are unknown; a file is its name",
    "which call made which is not recorded: calls of POSIX on a file that MPI-IO or HDF5 has open are taken to be "
    "theirs, traced ones where their times lie in each other",
    "seconds of opens, stats, seeks and the like are one sum, which stands at the first of them; those of fsync are "
    "in writes",
)


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
        # Of each file and layer its ops by kind: what a lower layer's calls lie in.
        self.ops: dict[tuple[str, str], dict[str, Op]] = defaultdict(dict)
        # Calls, bytes and ns that rows have: file, rank, op.
        self.rows: Counter[tuple[int, int, Op]] = Counter()
        self.bytes: Counter[tuple[int, int, Op]] = Counter()
        self.time: Counter[tuple[int, int, Op]] = Counter()

    def all(self) -> None:
        """Every line."""
        self.job()
        self.learn_ops()
        for name, told in self.traced.items():
            for segments in told:
                self.trace(MODULES[TRACES[name]], segments)
        for name, records in self.counts.items():
            for record in records:
                self.count(MODULES[name], record)
        self.stripes()
        self.left_out()
        self.slowest()
        for mark in self.marks:
            self.lines.tell("mark", *mark)
        self.lines.end()

    def job(self) -> None:
        """The job, its hosts and processes."""
        log, head = self.log, self.log.head
        # Some logs have none.
        words = head.command.split()
        exe = words[0] if words else ""
        version = head.version
        self.marks.insert(0, (f"imported from a Darshan log of version {version}", 1))
        layers = {MODULES[name].layer for name, found in self.counts.items() if found}
        mpi = log.ranks > 1 or bool(self.counts["MPI-IO"])
        level = "call" if any(self.traced.values()) else "file"
        library = head.metadata.get("lib_ver", "")
        told = {
            "recorder": "darshan", "start_ns": log.start, "end_ns": log.start + log.lasted,
            "processes": log.ranks, "ranks": mpi, "program": exe.rpartition("/")[2] or "unknown",
            "command": words, "directory": "", "job": str(head.job), "user": head.user,
            "versions": {"darshan": library, "darshan_log": version}, "configuration": configuration(layers, level),
        }  # fmt: skip
        self.lines.tell("run", told)
        hosts = {one.rank: one.host for found in self.traced.values() for one in found}
        numbers = {"unknown": 0}
        for rank in range(log.ranks):
            host = hosts.get(rank) or "unknown"
            numbers.setdefault(host, len(numbers))
            self.lines.tell("process", rank, numbers[host], {"executable": exe, "command": words})
        used = {numbers[hosts.get(rank) or "unknown"] for rank in range(log.ranks)}
        for host, number in numbers.items():
            if number in used:
                self.lines.tell("host", number, host)

    def learn_ops(self) -> None:
        """Which ops each file has in each layer, whoever made them."""
        for name, records in self.counts.items():
            module = MODULES[name]
            for record in records:
                known = self.ops[(self.file(module, record), module.layer)]
                for part in module.parts:
                    for op, _ in ops_of(module, part, record):
                        known.setdefault(op.kind, op)

    def file(self, module: Module, record: Record) -> str:
        """The name of the file that a record is about, or whose dataset or variable."""
        name = self.log.name(record.name)
        if module.prefix not in ("H5D", "PNETCDF_VAR"):
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

    def inside(self, module: Module, file: str, op: Op) -> Op | None:
        """The op of a higher layer that made these calls: the nearest layer's that has the file, of the same kind, else
        one that moves data, else the open."""
        for layer in ABOVE.get(module.layer, ()):
            found = self.ops.get((file, layer))
            if found:
                kinds = (op.kind, "write", "read", "open")
                return next((found[kind] for kind in kinds if kind in found), None)
        return None

    def trace(self, module: Module, segments: Segments) -> None:
        """Segments as calls."""
        rows, name, rank = segments.rows, segments.file, segments.rank
        if not len(rows):
            return
        part = next(part for part in module.parts if part.span == f"F_{segments.what}")
        op = self.traced_op(module, segments) or part.whole or part.counted[0].op
        about = self.thing(module, Record(name, rank, {}, {}))
        inside = self.inside(module, self.log.name(name), op)
        began = np.maximum(ns(rows["start"]), 0)
        ended = np.maximum(ns(rows["end"]), began)
        length = np.maximum(rows["length"], 0)
        columns = (began.tolist(), ended.tolist(), length.tolist(), rows["offset"].tolist())
        told = ((b, e, [size, at, size]) for b, e, size, at in zip(*columns, strict=True))
        self.lines.calls(rank, op, about, inside, told)
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
        found = defaultdict(list)
        for module, records in self.counts.items():
            for record in records:
                found[(module, record.name, record.rank)].append(record)
        return found

    def count(self, module: Module, record: Record) -> None:
        """What a record counts and no row tells."""
        about, file = self.thing(module, record), self.file(module, record)
        for counting in countings(module, record, self.log.lasted):
            left = self.left(counting, record)
            if left.calls:
                inside = self.inside(module, file, counting.op)
                self.lines.counter(record.rank, counting.op, about, inside, left)
        seconds = seconds_left(module, record)
        if seconds:
            what = f"{seconds / 1e9:.6f} s of {module.layer} on {file}: by calls that Darshan does not count"
            self.marks.append((what, 1))

    def left(self, counting: Counting, record: Record) -> Total:
        """The sum less what has rows."""
        total, key = counting.total, (record.name, record.rank, counting.op)
        if not self.rows[key]:
            return total
        calls = max(0, total.calls - self.rows[key])
        moved, time = max(0, total.bytes - self.bytes[key]), max(0, total.time - self.time[key])
        return Total(calls, moved, time, min(total.longest, time), total.first, total.last)

    def stripes(self) -> None:
        """How Lustre lays files out."""
        for record in self.log.read("LUSTRE", self.log.striped):
            rank, name, parts = max(0, record.rank), self.log.name(record.file), record.components
            if len(parts) != 1:
                self.marks.append(
                    (f"{name}: a layout of Lustre in {len(parts)} pieces is left out", 1)
                )
                continue
            size, count = parts[0]["STRIPE_SIZE"], parts[0]["STRIPE_COUNT"]
            first = record.osts[0] if record.osts else -1
            hints = {"striping_unit": size, "striping_factor": count, "start_iodevice": first}
            said = {key: str(value) for key, value in hints.items() if value >= 0}
            about = self.lines.thing(MODULES["POSIX"].kind, name)
            self.lines.hint(rank, about, said)

    def left_out(self) -> None:
        """What the log has and the tables have no place for, or Darshan had no memory for."""
        shared = sum(record.rank == ALL for records in self.counts.values() for record in records)
        if shared:
            what = f"records of files that all {self.log.ranks} ranks opened are sums: each rank has an equal part"
            self.marks.append((what, shared))
        for name, part in self.log.parts.items():
            if name not in READ:
                self.marks.append((f"module {name} of Darshan is left out", 1))
            if part.partial:
                what = f"module {name}, version {part.version}: Darshan had no memory for all of it"
                self.marks.append((what, 1))
        for what, why in self.log.unreadable:
            self.marks.append((f"{what} cannot be read: {why}", 1))
        if not any(self.traced.values()):
            self.marks.append(("no DXT in it: no call has a row, only sums by file", 1))

    def slowest(self) -> None:
        """Of what all ranks share, who needed longest, as far as Darshan says it."""
        found = []
        for name, records in self.counts.items():
            for record in (one for one in records if one.rank == ALL):
                prefix = MODULES[name].prefix
                time = record.ns(f"{prefix}_F_SLOWEST_RANK_TIME")
                rank = record.count(f"{prefix}_SLOWEST_RANK")
                moved = record.count(f"{prefix}_SLOWEST_RANK_BYTES")
                where = f"{self.log.name(record.name)}, {MODULES[name].layer}"
                what = f"{where}: rank {rank} was slowest, {time / 1e9:.6f} s for {moved} bytes"
                if time:
                    found.append((time, what))
        found.sort(reverse=True)
        self.marks += [(what, 1) for _, what in found[:SLOWEST]]


def _opened(prefix: str) -> tuple[int, ...]:
    """Numbers of an object that a communicator opened: its access mode and size are not known by process."""
    return (0, 0) if prefix in ("MPIIO", "PNETCDF_FILE") else ()


if __name__ == "__main__":
    sys.exit(tell_all(lambda lines: Telling(Log(sys.argv[1]), lines).all()))
