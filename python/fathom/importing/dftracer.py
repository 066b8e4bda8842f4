"""Reads files of DFTracer and tells what it found: `python -m fathom.importing.dftracer FILE...`. Each file is read
twice: first for names and processes, whose records may stand behind their use, then for events."""

import posixpath
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fathom.importing import pfw
from fathom.importing.functions import Function, function, layer_of, told
from fathom.importing.lines import PATH, Damaged, Lines, configuration, tell_all
from fathom.importing.pfw import Event
from fathom.importing.positions import Positions

# Units of times, in ns.
UNITS = {"NS": 1, "US": 1_000, "MS": 1_000_000, "SEC": 1_000_000_000}
LARGE, LARGEST, MOST_NUMBER = 1 << 63, pfw.LARGEST, (1 << 32) - 1
SUMS = "sums by interval"
LEFT_OUT = {pfw.COUNTER: "samples of nodes", pfw.AGGREGATED: SUMS}
LIMITS = (
    "which call made which is not recorded: calls lie in those of higher layers on their thread whose times hold "
    "theirs, by a clock of microseconds",
    "a file is its name; offsets that follow from a position are known of descriptors only, while one thread has "
    "opened the file once; which error it was is unknown (-1); places in the code are unknown",
    "results of opens and of most calls on names are not recorded: one that failed looks as any other",
    "C's formatted and single-character calls (fprintf, fscanf, getc), stat of newer C libraries and what goes through "
    "duplicated descriptors are not recorded",
)

Whose = tuple[str, int]
# A function's name, and which of the catalogue it is.
Known = tuple[str, Function | None]
NO_FILE = ("", 0)


@dataclass
class Process:
    """One of a host."""

    number: int
    pid: int
    said: Event = field(default_factory=dict)  # arguments of its start
    began: int = LARGE
    rank: int | None = None
    ended: bool = False
    told: bool = False
    directory: str = ""
    # Paths and objects by hash, in that directory.
    files: dict[Any, tuple[str, int]] = field(default_factory=lambda: {"": NO_FILE})
    positions: Positions = field(default_factory=Positions)


class Trace:
    """What files say of processes and names."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.names: dict[Any, str] = {}
        self.host_of: dict[tuple[Path, int], str] = {}
        self.processes: dict[Whose, Process] = {}
        self.first, self.last = LARGE, 0
        self.unit = UNITS["US"]
        self.empty = own = 0
        for path in paths:
            with pfw.naming(path):
                found = self._file(path)
            self.empty += found is None
            own += found or 0
        if self.empty == len(paths):
            raise Damaged("empty: DFTracer writes at a program's end, and was stopped before")
        if not own:
            raise Damaged("no trace of DFTracer 1 or 2: none of its own records is in it")
        if self.last * self.unit > pfw.LARGEST:
            raise Damaged("times that cannot be")
        self._number()

    def _file(self, path: Path) -> int | None:
        """How many of DFTracer's own records it has; None: it has no line."""
        own: int | None = None
        first, last = self.first, self.last
        for number, line in pfw.lines(path):
            own = own or 0
            began = pfw.BEGAN.search(line)
            if began:
                at = int(began[1])
                took = pfw.TOOK.search(line, began.end()) or pfw.TOOK.search(line)
                first = min(first, at)
                last = max(last, at + int(took[1]) if took else at)
            if b'"dftracer"' in line:
                found = pfw.event(number, line)
                if found.get("cat") == pfw.OWN:
                    own += 1
                    self._own(path, found)
        self.first, self.last = first, last
        return own

    def _own(self, path: Path, found: Event) -> None:
        """DFTracer's word of itself: names, hosts, starts and ends of processes."""
        pid, args, name = (
            pfw.number_of(found, "pid", MOST_NUMBER),
            found.get("args", {}),
            found.get("name"),
        )
        value = args.get("value")
        if name in ("FH", "SH", "HH") and isinstance(value, str | int):
            text = pfw.text(args.get("name"))
            self.names[pid, value] = self.names[value] = text
            if name == "HH":
                self.host_of[path, pid] = text
        elif name == "CM" and args.get("name") == "time_metric":
            self.unit = UNITS.get(str(value), 0)
            if not self.unit:
                raise Damaged(f"times in {str(value)!r:.20}, which is no known unit")
        elif name == "PR" and args.get("name") == "rank":
            self.process(path, found).rank = pfw.rank_of(value)
        elif name in ("start", "end"):
            process = self.process(path, found)
            process.ended = process.ended or name == "end"
            if name == "start":
                process.said, process.began = args, pfw.number_of(found, "ts")
                process.directory = self.name(pid, args.get("cwd"))

    def _number(self) -> None:
        """Processes by rank, then as they began."""
        ranks = Counter(one.rank for one in self.processes.values() if one.rank is not None)
        for rank, often in ranks.most_common(1):
            if often > 1:
                raise Damaged(f"{often} processes are rank {rank}: name the files of one run")
        order = sorted(
            self.processes.values(),
            key=lambda one: (LARGE if one.rank is None else one.rank, one.began),
        )
        for number, process in enumerate(order):
            process.number = number

    def whose(self, path: Path, found: Event) -> Whose:
        """Host and number of an event's process."""
        pid = pfw.number_of(found, "pid", MOST_NUMBER)
        return self.host_of.get((path, pid), "unknown"), pid

    def process(self, path: Path, found: Event) -> Process:
        """Whose event it is."""
        whose = self.whose(path, found)
        if whose not in self.processes:
            self.processes[whose] = Process(len(self.processes), whose[1])
        return self.processes[whose]

    def name(self, pid: int, hashed: Any) -> str:
        """What was hashed; "" where no record says it."""
        if not isinstance(hashed, str | int):
            return ""
        return self.names.get((pid, hashed)) or self.names.get(hashed, "")

    def words(self, process: Process) -> list[str]:
        """The command; its words stand between semicolons."""
        words = self.name(process.pid, process.said.get("cmd_hash"))
        return words.split(";") if words else []


class Telling:
    """What was found, in lines."""

    def __init__(self, trace: Trace, lines: Lines) -> None:
        self.trace, self.lines = trace, lines
        # By category, type and name of an event.
        self.functions: dict[tuple[object, object, object], Known] = {}
        # Processes of the file that is read, by number.
        self.met: dict[Any, Process] = {}
        self.layers: set[str] = set()
        self.hosts: dict[str, int] = {}
        # What has no place in the tables, and calls of which nothing but the time is known.
        self.left: Counter[str] = Counter()
        self.calls = self.bare = self.above = 0

    def all(self) -> None:
        """Every line."""
        for path in self.trace.paths:
            with pfw.naming(path):
                self.file(path)
        if not self.calls and self.left[SUMS]:
            raise Damaged(
                "only sums by interval are in it: record without DFTRACER_ENABLE_AGGREGATION"
            )
        for whose, process in self.trace.processes.items():
            self.process(whose[0], process)
        self.run()
        self.marks()
        self.lines.end()

    def file(self, path: Path) -> None:
        """Its events."""
        self.met.clear()
        for number, line in pfw.lines(path):
            found = pfw.event(number, line)
            phase = pfw.phase(found)
            if phase == pfw.COMPLETE:
                if found.get("cat") != pfw.OWN:
                    try:
                        self.event(path, found)
                    except TypeError:  # a list cannot be looked up
                        raise Damaged(f"line {number} is no event") from None
            elif phase != pfw.METADATA:
                self.left[LEFT_OUT.get(phase, "records of a kind that is not known")] += 1

    def event(self, path: Path, found: Event) -> None:
        """A call."""
        process = self.met.get(found.get("pid")) or self.meet(path, found)
        said = found.get("args", {})
        what = (found.get("cat"), found.get("type"), found.get("name"))
        name, known = self.functions.get(what) or self.function(*what)
        if known is None:
            self.left[f"calls of {name}"] += 1
            if name in ("fork", "vfork"):
                process.positions.forked()
            return
        began = pfw.number_of(found, "ts", self.trace.last)
        ended = began + pfw.number_of(found, "dur", self.trace.last - began)
        thread = pfw.number_of(found, "tid", MOST_NUMBER) or process.pid
        # As is_number does, a call of which for each would take as long as all else.
        numbers = {
            key: value
            for key, value in said.items()
            if type(value) is int and -LARGEST <= value <= LARGEST
        }
        file, about = process.files.get(said.get("fhash", "")) or self.file_of(
            process, said["fhash"]
        )
        op, fields, error = told(known, name, (file, thread), numbers, process.positions)
        if name == "chdir" and file:
            process.directory, process.files = file, {"": NO_FILE}
        first, unit = self.trace.first, self.trace.unit
        times = ((began - first) * unit, (ended - first) * unit)
        self.lines.call(process.number, op, about, times, error, fields, thread)
        self.calls += 1
        self.bare += not said and known.call is not None
        self.above += known.layer in ("mpiio", "hdf5")

    def meet(self, path: Path, found: Event) -> Process:
        """The process of an event that is its first; tells its line."""
        process = self.trace.process(path, found)
        self.process(self.trace.whose(path, found)[0], process)
        self.met[process.pid] = process
        return process

    def function(self, category: object, kind: object, name: object) -> Known:
        """The name of an event's function, and which one it is, when it is first met."""
        layer, text = layer_of(str(category), kind if pfw.is_number(kind) else None), pfw.text(name)
        known = self.functions[category, kind, name] = (
            text,
            function(layer, text) if layer else None,
        )
        if layer and known[1]:
            self.layers.add(layer)
        return known

    def file_of(self, process: Process, hashed: Any) -> tuple[str, int]:
        """A file's path, from the process's directory, and its object, when it is first met."""
        if not isinstance(hashed, str | int):
            return NO_FILE
        name = self.trace.name(process.pid, hashed) or f"<{hashed}>"
        path = posixpath.normpath(posixpath.join(process.directory, name))
        process.files[hashed] = (path, self.lines.thing(PATH, path))
        return process.files[hashed]

    def process(self, host: str, process: Process) -> None:
        """Its line, when it is first met."""
        if process.told:
            return
        process.told = True
        if host not in self.hosts:
            self.hosts[host] = len(self.hosts)
            self.lines.tell("host", self.hosts[host], host)
        parent = process.said.get("ppid")
        known = {
            "executable": self.trace.name(process.pid, process.said.get("exec_hash")),
            "command": self.trace.words(process), "directory": process.directory, "pid": process.pid,
            "parent": parent if pfw.is_number(parent) and 0 <= parent <= MOST_NUMBER else None,
            "rank": process.rank,
        }  # fmt: skip
        said = {key: value for key, value in known.items() if value is not None}
        self.lines.tell("process", process.number, self.hosts[host], said)

    def run(self) -> None:
        """The program is the process that began first."""
        trace = self.trace
        first = min(trace.processes.values(), key=lambda one: one.began)
        words, version = trace.words(first), first.said.get("version", "")
        ranks = [one.rank for one in trace.processes.values() if one.rank is not None]
        start, end = min(trace.first, trace.last) * trace.unit, trace.last * trace.unit
        told = {
            "recorder": "dftracer", "start_ns": start, "end_ns": end,
            "processes": max(ranks) + 1 if ranks else len(trace.processes), "ranks": False,
            "program": "".join(words[:1]).rpartition("/")[2] or "unknown", "command": words,
            "directory": trace.name(first.pid, first.said.get("cwd")), "job": "",
            "versions": {"dftracer": str(version)}, "configuration": configuration(self.layers),
        }  # fmt: skip
        self.lines.tell("run", told)

    def marks(self) -> None:
        """What the tables lack."""
        trace = self.trace
        open_ended = sum(not one.ended for one in trace.processes.values())
        found = [("files of DFTracer that this was imported from", len(trace.paths))]
        found += [(limit, 1) for limit in LIMITS]
        found += [
            ("calls without file, size and offset: DFTRACER_INC_METADATA was not 1", self.bare),
            ("calls of MPI-IO and HDF5 have neither files nor bytes: those are in POSIX's inside", self.above),
            ("processes without DFTracer's last record: they were killed, or ran on", open_ended),
            ("files without a line: of processes that were killed, or had less than DFTracer keeps", trace.empty),
        ]  # fmt: skip
        self.lines.marks(found, self.left)


def main(names: list[str]) -> int:
    """Tells all files as one run."""
    return tell_all(lambda lines: Telling(Trace(pfw.traces([*map(Path, names)])), lines).all())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
