"""Reads a Darshan log by Darshan's own library and tells what it found: `python -m fathom.importing.darshan LOG`, in a
process of its own (importing/start.py), since that library may not survive a damaged log."""

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fathom.importing.counted import (
    LONGEST,
    MODULES,
    MOST,
    Counting,
    Module,
    Record,
    countings,
    ops_of,
    seconds_left,
)
from fathom.importing.lines import ALL, Damaged, Lines, Op, Total, configuration, tell_all

TRACES = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
# What is read of a log, and what would not be told by its name.
READ = {*MODULES, *TRACES, "LUSTRE"}
# A job with more processes has not been seen.
MOST_PROCESSES = 20_000_000
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


class Log:
    """A log, and what of it several modules need."""

    def __init__(self, path: str) -> None:
        import darshan.backend.cffi_backend as backend

        self.library = backend
        # Opened by us: it says why it cannot be, and a name may be no UTF-8, which the library would not take.
        with Path(path).open("rb") as file:
            self.log = backend.log_open(f"/proc/self/fd/{file.fileno()}")
        if self.log["handle"] == backend.ffi.NULL:
            raise Damaged("no log of Darshan, or of a version that its library does not know")
        self.job = backend.log_get_job(self.log)
        self.ranks = self.job["nprocs"]
        if not 0 < self.ranks <= MOST_PROCESSES or self.job["start_time_sec"] < 0:
            raise Damaged("damaged: its job has no number of processes")
        self.start = self.job["start_time_sec"] * 10**9 + self.job["start_time_nsec"]
        if not 0 <= self.job["run_time"] < LONGEST:
            raise Damaged("damaged: its job has no run time")
        self.lasted = round(self.job["run_time"] * 1e9)
        self.modules = backend.log_get_modules(self.log)
        self.names = backend.log_get_name_records(self.log)

    def name(self, record: int) -> str:
        """Of a file or what lies in one."""
        return str(self.names.get(record, f"<{record}>"))

    def rank(self, record: Any) -> int:
        """Whose a record is; of a job of one process, what all share is its own."""
        rank = int(record.base_rec.rank)
        if not -1 <= rank < self.ranks:
            raise Damaged(f"damaged: rank {rank} of {self.ranks}")
        return 0 if self.ranks == 1 else rank

    def records(self, module: str) -> Iterator[Any]:
        """A module's records as the library has them, each until the next."""
        if module not in self.modules:
            return
        ffi, library = self.library.ffi, self.library.libdutil
        kind = self.library._structdefs[module]
        while True:
            buffer = ffi.new("void **")
            got = library.darshan_log_get_record(
                self.log["handle"], self.modules[module]["idx"], buffer
            )
            if got < 0:
                raise Damaged(f"damaged: module {module} cannot be read")
            if got == 0:
                return
            yield ffi.cast(kind, buffer)[0][0], buffer[0]
            library.darshan_free(buffer[0])

    def counted(self, module: str) -> Iterator[Record]:
        """Of a module that counts."""
        names = self.library.counter_names(module), self.library.fcounter_names(module)
        for record, _ in self.records(module):
            numbers = (list(record.counters), list(record.fcounters))
            counters, seconds = (
                dict(zip(*pair, strict=True)) for pair in zip(names, numbers, strict=True)
            )
            file = record.file_rec_id if module in ("H5D", "PNETCDF_VAR") else 0
            yield Record(record.base_rec.id, self.rank(record), counters, seconds, file)

    def segments(self, module: str) -> Iterator[tuple[int, int, str, str, Any]]:
        """Of a module that traces: file, rank, host, READ or WRITE, segments."""
        ffi = self.library.ffi
        for record, start in self.records(module):
            rank, host = self.rank(record), ffi.string(record.hostname).decode(errors="replace")
            counts = (("WRITE", record.write_count), ("READ", record.read_count))
            if rank < 0 or any(not 0 <= count < 1 << 40 for _, count in counts):
                raise Damaged(f"damaged: module {module} has a record that cannot be")
            at = ffi.cast("char *", start) + ffi.sizeof("struct dxt_file_record")
            for what, count in counts:
                bytes_of = ffi.buffer(at, count * SEGMENT.itemsize)
                rows = np.frombuffer(bytes_of, SEGMENT).copy()
                at += count * SEGMENT.itemsize
                good = (np.abs(rows["start"]) < LONGEST) & (np.abs(rows["end"]) < LONGEST)
                if not (good.all() and (np.abs(rows["length"]) < MOST).all()):
                    raise Damaged(f"damaged: module {module} has a segment that cannot be")
                yield record.base_rec.id, rank, host, what, rows


class Telling:
    """What was found, in lines."""

    def __init__(self, log: Log, lines: Lines) -> None:
        self.log, self.lines = log, lines
        self.marks: list[tuple[str, int]] = [(limit, 1) for limit in LIMITS]
        self.counts: dict[str, list[Record]] = {}
        self.traced = {name: list(log.segments(name)) for name in TRACES if name in log.modules}
        for name in MODULES:
            self.counts[name] = list(log.counted(name))
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
            for file, rank, _, what, rows in told:
                self.trace(MODULES[TRACES[name]], file, rank, what, rows)
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
        log, words = self.log, self.command()
        exe = words[0] if words else ""
        version = log.job["log_ver"]
        self.marks.insert(0, (f"imported from a Darshan log of version {version}", 1))
        layers = {MODULES[name].layer for name, found in self.counts.items() if found}
        mpi = log.ranks > 1 or bool(self.counts["MPI-IO"])
        level = "call" if self.traced else "file"
        library = log.job["metadata"].get("lib_ver", "")
        told = {
            "recorder": "darshan", "start_ns": log.start, "end_ns": log.start + log.lasted,
            "processes": log.ranks, "ranks": mpi, "program": exe.rpartition("/")[2] or "unknown",
            "command": words, "directory": "", "job": str(log.job["jobid"]), "user": log.job["uid"],
            "versions": {"darshan": library, "darshan_log": version}, "configuration": configuration(layers, level),
        }  # fmt: skip
        self.lines.tell("run", told)
        hosts = {rank: host for found in self.traced.values() for _, rank, host, _, _ in found}
        numbers = {"unknown": 0}
        for rank in range(log.ranks):
            host = hosts.get(rank) or "unknown"
            numbers.setdefault(host, len(numbers))
            self.lines.tell("process", rank, numbers[host], {"executable": exe, "command": words})
        used = {numbers[hosts.get(rank) or "unknown"] for rank in range(log.ranks)}
        for host, number in numbers.items():
            if number in used:
                self.lines.tell("host", number, host)

    def command(self) -> list[str]:
        """The program's words; some logs have none."""
        words: str = self.log.library.log_get_exe(self.log.log)
        return words.split()

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

    def trace(self, module: Module, name: int, rank: int, what: str, rows: Any) -> None:
        """Segments as calls."""
        if not len(rows):
            return
        part = next(part for part in module.parts if part.span == f"F_{what}")
        op = self.traced_op(module, name, rank, what) or part.whole or part.counted[0].op
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

    def traced_op(self, module: Module, name: int, rank: int, what: str) -> Op | None:
        """Which op the counters of the same file say that segments are."""
        which = next(key for key, one in MODULES.items() if one is module)
        shared = self._by_name.get((which, name, ALL), [])
        for record in self._by_name.get((which, name, rank), shared):
            for part in module.parts:
                if part.span == f"F_{what}":
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
        for record, _ in self.log.records("LUSTRE"):
            rank, name = max(0, self.log.rank(record)), self.log.name(record.base_rec.id)
            parts = [list(record.comps[at].counters) for at in range(min(record.num_comps, 1000))]
            if len(parts) != 1:
                self.marks.append(
                    (f"{name}: a layout of Lustre in {len(parts)} pieces is left out", 1)
                )
                continue
            size, count = parts[0][:2]
            first = int(record.ost_ids[0]) if record.num_stripes > 0 else -1
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
        for name, about in self.log.modules.items():
            if name not in READ:
                self.marks.append((f"module {name} of Darshan is left out", 1))
            if about["partial_flag"]:
                self.marks.append((f"module {name}: Darshan had no memory for all of it", 1))
        if not self.traced:
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
    ended = tell_all(lambda lines: Telling(Log(sys.argv[1]), lines).all())
    sys.stderr.flush()
    # All is told: what the library does at its end concerns nobody.
    os._exit(ended)
