"""A log of Darshan: its job, names and modules, by Darshan's own library. Each part is read in a process of its own, so
one that is damaged, or newer than the library, costs nothing but itself."""

import ctypes
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_double, c_int, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np

from fathom.interop.imports.counted import LONGEST, MODULES, MOST, Record
from fathom.interop.imports.lines import Damaged
from fathom.run.darshan_library import (
    LONGEST_TEXT,
    Base,
    Heat,
    InDaos,
    Job,
    Layout,
    Library,
    Module,
    Mount,
    Name,
    Router,
    Traced,
    library,
)

TRACES = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
# Segments of these versions are as below; newer ones are longer, and nothing says by how much.
TRACE_VERSIONS = {"DXT_POSIX": 1, "DXT_MPIIO": 2}
SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
# Arrays of a record of APMPI, by what is in the names of theirs.
APMPI = ("", "f_mpiop_totaltime_", "f_mpiop_synctime_", "f_mpi_global_")
# Records that say which file what they are about lies in.
IN_A_FILE = ("H5D", "PNETCDF_VAR")
# Records that say which pool and container it lies in.
IN_DAOS = ("DFS", "DAOS")
REMEDY = "libdarshan-util of the Darshan that wrote the log reads it, where its darshan-parser is in PATH"
# A job with more processes has not been seen.
MOST_PROCESSES = 20_000_000
MOST_SEGMENTS, MOST_PARTS = 1 << 40, 1 << 16

T = TypeVar("T")


class Unreadable(Exception):
    """Why a part of the log cannot be read; `before`: records that came before what is damaged, and are good alone."""

    before: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Part:
    """A module of the log."""

    name: str
    index: int
    version: int
    partial: bool
    bytes: int


@dataclass(frozen=True)
class Segments:
    """Of DXT: what one rank read, or wrote, of a file."""

    file: int
    rank: int
    host: str
    what: str
    rows: Any


@dataclass(frozen=True)
class Heated:
    """Of HEATMAP: bytes that a rank read and wrote by bins of time; `name` is a layer's."""

    name: int
    rank: int
    width: float
    read: Any
    written: Any


@dataclass(frozen=True)
class Communicated:
    """Of APMPI: where a rank ran; counters of MPI's functions by name, calls and bytes, and seconds."""

    rank: int
    host: str
    counters: dict[str, int]
    seconds: dict[str, float]
    synchronized: float  # seconds


@dataclass(frozen=True)
class Routed:
    """Of APXC: a router of a Cray XC's network, the rank that asked it, what came in and how often it had to wait."""

    rank: int
    place: str
    flits: int
    stalls: int


@dataclass(frozen=True)
class Striped:
    """Of Lustre: components of a file's layout (counters by name), and its OSTs."""

    file: int
    rank: int
    components: list[dict[str, int]]
    osts: list[int]


@dataclass
class Head:
    """What is known before any module is read."""

    processes: int
    start: int
    lasted: float
    job: int
    user: int
    version: str
    metadata: dict[str, str]
    command: str
    mounts: list[tuple[str, str]]
    parts: dict[str, Part]


def apart(read: Callable[[], T]) -> T:
    """What `read` gives, by a process of its own; raises `Unreadable` with what it says, or where it dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(read, writer)
    os.close(writer)
    with open(reader, "rb") as answer:
        pickled = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise Unreadable(f"Darshan's library ended by {name}: damaged")
    content = pickle.loads(pickled)
    if isinstance(content, Unreadable):
        raise content
    result: T = content
    return result


def _answer(read: Callable[[], T], answer: int) -> None:
    """In the child: never returns."""
    try:
        content: Any = read()
    except Unreadable as error:
        content = error
    except Damaged as error:
        content = Unreadable(str(error))
    except (ValueError, OverflowError, MemoryError) as error:
        content = Unreadable(f"damaged: {error}")
    try:
        with open(answer, "wb") as file:
            pickle.dump(content, file)
    finally:
        # What the library does at its end concerns nobody.
        os._exit(0)


class Log:
    """A log, and what of it several modules need."""

    def __init__(self, path: str) -> None:
        darshan = library()
        if darshan is None:
            raise Damaged("there is no library of Darshan that reads it")
        self.library: Library = darshan
        # Opened by us: it says why it cannot be, and a name may be no UTF-8, which the library would not take.
        self._file = Path(path).open("rb")  # noqa: SIM115  (as long as we live)
        try:
            self.head = apart(self._head)
        except Unreadable as error:
            raise Damaged(str(error)) from error
        self.ranks, self.start = self.head.processes, self.head.start
        if not 0 < self.ranks <= MOST_PROCESSES or self.start < 0:
            raise Damaged("damaged: its job has no number of processes")
        if not 0 <= self.head.lasted < LONGEST:
            raise Damaged("damaged: its job has no run time")
        self.lasted = round(self.head.lasted * 1e9)
        self.parts = self.head.parts
        self.unreadable: list[tuple[str, str]] = []
        self.names: dict[int, str] = {}
        try:
            self.names = apart(self._names)
        except Unreadable as error:
            self.unreadable.append(("names of files", f"cannot be read: {error}"))

    def _open(self) -> c_void_p:
        """A handle of its own: handles of several processes would share the file's position."""
        handle = self.library.calls.darshan_log_open(b"/proc/self/fd/%d" % self._file.fileno())
        if not handle:
            raise Unreadable("no log of Darshan, or of a version that its library does not know")
        return c_void_p(handle)

    def _head(self) -> Head:
        calls, handle, job = self.library.calls, self._open(), Job()
        if calls.darshan_log_get_job(handle, byref(job)) < 0:
            raise Unreadable("damaged: its job cannot be read")
        command = ctypes.create_string_buffer(LONGEST_TEXT)
        calls.darshan_log_get_exe(handle, command)
        lasted = c_double()
        calls.darshan_log_get_job_runtime(handle, job, byref(lasted))
        pairs = (line.partition("=") for line in _text(job.metadata).splitlines())
        return Head(
            processes=job.processes,
            start=job.start_s * 10**9 + job.start_ns,
            lasted=lasted.value,
            job=job.job,
            user=job.uid,
            # There is no function that gives it; it stands at the handle's begin.
            version=_text(ctypes.string_at(handle.value or 0, 8).split(b"\0")[0]),
            metadata={key: value for key, _, value in pairs},
            command=_text(command.value),
            mounts=self._mounts(handle),
            parts=self._parts(handle),
        )

    def _parts(self, handle: c_void_p) -> dict[str, Part]:
        modules, count = POINTER(Module)(), c_int()
        self.library.calls.darshan_log_get_modules(handle, byref(modules), byref(count))
        parts = (
            Part(
                _text(module.name),
                module.index,
                module.version,
                bool(module.partial),
                module.length,
            )
            for module in modules[: count.value]
        )
        return {part.name: part for part in parts}

    def _mounts(self, handle: c_void_p) -> list[tuple[str, str]]:
        mounts, count = POINTER(Mount)(), c_int()
        if self.library.calls.darshan_log_get_mounts(handle, byref(mounts), byref(count)) < 0:
            return []
        return [(_text(mount.path), _text(mount.type)) for mount in mounts[: count.value]]

    def _names(self) -> dict[int, str]:
        names, count = POINTER(Name)(), c_int()
        self.library.calls.darshan_log_get_name_records(self._open(), byref(names), byref(count))
        return {one.id: _text(one.name) for one in names[: count.value]}

    def name(self, record: int) -> str:
        """Of a file or what lies in one."""
        return self.names.get(record, f"<{record}>")

    def rank(self, base: Base) -> int:
        """Whose a record is; of a job of one process, what all share is its own."""
        if not -1 <= base.rank < self.ranks:
            raise Damaged(f"damaged: rank {base.rank} of {self.ranks}")
        return 0 if self.ranks == 1 else int(base.rank)

    def read(self, name: str, records: Callable[[str], Iterator[T]]) -> list[T]:
        """All of a module; none where it is not there, or cannot be read, which is then told."""
        if name not in self.parts:
            return []
        try:
            return apart(lambda: list(records(name)))
        except Unreadable as error:
            rest = f" behind its first {len(error.before)} records" if error.before else ""
            what = f"module {name}, version {self.parts[name].version},"
            self.unreadable.append((what, f"cannot be read{rest}: {error}"))
            return list(error.before)

    def _records(self, module: str) -> Iterator[int]:
        """Addresses of a module's records, each until the next."""
        calls, handle = self.library.calls, self._open()
        while True:
            record = c_void_p()
            status = calls.darshan_log_get_record(handle, self.parts[module].index, byref(record))
            if status < 0:
                raise Unreadable(f"damaged, or newer than Darshan's library here; {REMEDY}")
            if status == 0 or not record.value:
                return
            yield record.value
            calls.darshan_free(record)

    def counted(self, module: str) -> Iterator[Record]:
        """Of a module that counts."""
        prefix = MODULES[module].prefix.lower()
        names = self.library.names(f"{prefix}_counter_names")
        seconds = self.library.names(f"{prefix}_f_counter_names")
        if not names:
            raise Unreadable(f"Darshan's library here does not have it; {REMEDY}")
        start = ctypes.sizeof(Base) + 8 * (module in IN_A_FILE)
        for address in self._records(module):
            base = Base.from_address(address)
            file = (
                ctypes.c_uint64.from_address(address + start - 8).value
                if module in IN_A_FILE
                else 0
            )
            numbers = (ctypes.c_int64 * len(names)).from_address(address + start)
            times = (ctypes.c_double * len(seconds)).from_address(address + start + 8 * len(names))
            rest = address + start + 8 * (len(names) + len(seconds))
            yield Record(
                base.id, self.rank(base), dict(zip(names, numbers, strict=True)),
                dict(zip(seconds, times, strict=True)), file, *_in_daos(module, rest),
            )  # fmt: skip

    def traced(self, module: str) -> Iterator[Segments]:
        """Of a module that traces."""
        if self.parts[module].version > TRACE_VERSIONS[module]:
            raise Unreadable(f"a newer Darshan wrote it; {REMEDY}")
        for address in self._records(module):
            record = Traced.from_address(address)
            rank, host, at = (
                self.rank(record.base),
                _text(record.host),
                address + ctypes.sizeof(Traced),
            )
            if rank < 0 or any(
                not 0 <= count < MOST_SEGMENTS for count in (record.writes, record.reads)
            ):
                raise Unreadable("damaged: a record that cannot be")
            for what, count in (("WRITE", record.writes), ("READ", record.reads)):
                rows = np.frombuffer(ctypes.string_at(at, count * SEGMENT.itemsize), SEGMENT)
                at += count * SEGMENT.itemsize
                _check(rows)
                yield Segments(record.base.id, rank, host, what, rows)

    def heated(self, module: str) -> Iterator[Heated]:
        """Of HEATMAP."""
        for address in self._records(module):
            record = Heat.from_address(address)
            if not (0 < record.bins < MOST_PARTS and 0 < record.width < LONGEST):
                raise Unreadable("damaged: a record that cannot be")
            read, written = (
                np.array(bins[: record.bins], np.int64) for bins in (record.reads, record.writes)
            )
            yield Heated(record.base.id, self.rank(record.base), record.width, read, written)

    def striped(self, module: str) -> Iterator[Striped]:
        """Of LUSTRE."""
        names = self.library.names("lustre_comp_counter_names")
        if not names:
            raise Unreadable("Darshan's library here is too old for its components")
        layouts: list[Striped] = []
        try:
            for address in self._records(module):
                record = Layout.from_address(address)
                counts = record.components, record.stripes
                if not all(0 <= count < MOST_PARTS for count in counts):
                    raise Unreadable("damaged: a record that cannot be")
                parts = [
                    {
                        name.removeprefix("LUSTRE_COMP_"): n
                        for name, n in zip(names, part.counters, strict=True)
                    }
                    for part in record.component[: record.components]
                ]
                osts = list(record.osts[: record.stripes])
                layouts.append(Striped(record.base.id, self.rank(record.base), parts, osts))
        except (Unreadable, Damaged) as error:
            # Each says all of a file: none of them is part of a sum.
            stopped = Unreadable(str(error))
            stopped.before = tuple(layouts)
            raise stopped from error
        yield from layouts

    def communicated(self, module: str) -> Iterator[Communicated]:
        """Of APMPI."""
        kinds = [(kind, self.library.names(f"apmpi_{kind}counter_names")) for kind in APMPI]
        if not all(names for _, names in kinds):
            raise Unreadable(f"Darshan's library here does not have it; {REMEDY}")
        records = self._records(module)
        next(records, None)  # what is of all ranks
        for address in records:
            base, at = Base.from_address(address), address + ctypes.sizeof(Base)
            arrays: dict[str, dict[str, Any]] = {}
            for kind, names in kinds:
                number = ctypes.c_double if kind else ctypes.c_int64
                arrays[kind] = dict(zip(names, (number * len(names)).from_address(at), strict=True))
                at += 8 * len(names)
            host = _text(ctypes.string_at(at, 128).split(b"\0")[0])
            waited = arrays["f_mpi_global_"]["MPI_TOTAL_COMM_SYNC_TIME"]
            yield Communicated(
                self.rank(base), host, arrays[""], arrays["f_mpiop_totaltime_"], waited
            )

    def routed(self, module: str) -> Iterator[Routed]:
        """Of APXC."""
        names = self.library.names("apxc_counter_names")
        if not names:
            raise Unreadable(f"Darshan's library here does not have it; {REMEDY}")
        records = self._records(module)
        next(records, None)  # what is of all routers
        for address in records:
            router = Router.from_address(address)
            at = address + ctypes.sizeof(Router)
            counters = dict(
                zip(names, (ctypes.c_uint64 * len(names)).from_address(at), strict=True)
            )
            flits = sum(count for name, count in counters.items() if "FLIT" in name)
            stalls = sum(count for name, count in counters.items() if "STALL" in name)
            place = f"group {router.group}, chassis {router.chassis}, blade {router.blade}, node {router.node}"
            yield Routed(self.rank(router.base), place, flits, stalls)

    def records(self, module: str) -> Iterator[None]:
        """Of any module: nothing but how many there are."""
        for _ in self._records(module):
            yield None


def _in_daos(module: str, at: int) -> tuple[str, str]:
    """The container, and the object, that a record is about, where it is about one."""
    if module not in IN_DAOS:
        return "", ""
    place = InDaos.from_address(at)
    pool, container = (UUID(bytes=bytes(one)) for one in (place.pool, place.container))
    number = f"{place.high:x}.{place.low:x}" if module == "DAOS" else ""
    return f"daos://{pool}/{container}", number


def _check(rows: Any) -> None:
    good = (np.abs(rows["start"]) < LONGEST) & (np.abs(rows["end"]) < LONGEST)
    if not (good.all() and (np.abs(rows["length"]) < MOST).all()):
        raise Unreadable("damaged: a segment that cannot be")


def _text(text: bytes) -> str:
    return text.decode(errors="replace")
