"""What an archive's events refer to: text, machines, processes, threads, regions, files, handles, groups of ranks."""

from pathlib import PurePath
from typing import Any

import _otf2

from fathom.interop.exports.otf2.metrics import METRICS, Metrics
from fathom.interop.exports.otf2.tables import Row, Tables
from fathom.interop.exports.otf2.words import IO_PARADIGMS, PARADIGMS, ROLES

SECOND = 10**9

#: Attributes of events: number, name, meaning, type.
CALL, SITE, OFFSET, ERROR, SERVES = range(5)
ATTRIBUTES = (
    (CALL, "call", "calls.id of Fathom's tables", _otf2.TYPE_UINT64),
    (SITE, "called from", "place in the program", _otf2.TYPE_SOURCE_CODE_LOCATION),
    (OFFSET, "offset", "of the access in the file, in bytes", _otf2.TYPE_UINT64),
    (ERROR, "error", "errno, or the code of the call's own interface", _otf2.TYPE_INT32),
    (
        SERVES,
        "serves",
        "calls.id of the client's call that a server did this for",
        _otf2.TYPE_UINT64,
    ),
)
MACHINE = 0
#: Numbers of locations: a stream's, and so much more for each that stands beside it.
LANE = 1 << 32
#: Groups: the threads that stand for ranks, then one of each communicator.
RANKS = 0


def location(stream: int, lane: int) -> int:
    """Its number. `lane`: 0, or one more for each call of this stream that goes on at the same time."""
    return lane * LANE + stream


class Definitions:
    """Writes them, each text once and before what refers to it."""

    def __init__(self, writer: Any, tables: Tables, metrics: Metrics) -> None:
        self.writer, self.tables, self.metrics = writer, tables, metrics
        self._texts: dict[str, int] = {}

    def write(self, events: dict[int, int]) -> None:
        """All of them. `events`: how many each location has."""
        tables = self.tables
        last = max(tables.last, self.metrics.last)
        _otf2.GlobalDefWriter_WriteClockProperties(
            self.writer, SECOND, 0, last, tables.selected.started - tables.selected.shift
        )
        for number, name, meaning, form in ATTRIBUTES:
            self._define("Attribute", number, self._text(name), self._text(meaning), form)
        self._system(events)
        self._regions()
        self._ranks()
        self._files()
        self._handles()

    def _define(self, what: str, *values: Any) -> None:
        getattr(_otf2, f"GlobalDefWriter_Write{what}")(self.writer, *values)

    def _text(self, words: str) -> int:
        """Number of a text."""
        number = self._texts.get(words)
        if number is None:
            number = self._texts[words] = len(self._texts)
            # C's strings end at a null character.
            clean = words.replace("\0", "\ufffd").encode(errors="replace").decode()
            self._define("String", number, clean)
        return number

    def _system(self, events: dict[int, int]) -> None:
        """Machine, nodes, processes, threads."""
        tables, name = self.tables, self._text("machine")
        self._define("SystemTreeNode", MACHINE, name, name, _otf2.UNDEFINED_SYSTEM_TREE_NODE)
        self._define("SystemTreeNodeDomain", MACHINE, _otf2.SYSTEM_TREE_DOMAIN_MACHINE)
        for node in tables.nodes:
            number = node["node"] + 1
            self._define(
                "SystemTreeNode", number, self._text(node["host"]), self._text("node"), MACHINE
            )
            self._define("SystemTreeNodeDomain", number, _otf2.SYSTEM_TREE_DOMAIN_SHARED_MEMORY)
        parents = {
            process: tables.processes[process]["parent"] for process in sorted(tables.exported)
        }
        groups = {process: number for number, process in enumerate(_parents_first(parents))}
        for process, number in groups.items():
            row = tables.processes[process]
            self._define(
                "LocationGroup", number, self._text(_group_name(row)), _otf2.LOCATION_GROUP_TYPE_PROCESS,
                row["node"] + 1, groups.get(row["parent"], _otf2.UNDEFINED_LOCATION_GROUP),
            )  # fmt: skip
        streams = {each["stream"]: each for each in tables.streams}
        for number, count in sorted(events.items()):
            if number >= METRICS:
                self._define(
                    "Location", number, self._text("I/O rates"), _otf2.LOCATION_TYPE_METRIC, count,
                    groups[number - METRICS],
                )  # fmt: skip
                continue
            stream = streams[number % LANE]
            self._define(
                "Location", number, self._text(_thread_name(stream, number // LANE)),
                _otf2.LOCATION_TYPE_CPU_THREAD, count, groups[stream["process"]],
            )  # fmt: skip

        self._metrics(groups)

    def _metrics(self, groups: dict[int, int]) -> None:
        """Bytes per second of each layer and direction, of each process. `groups`: numbers of the processes."""
        meaning, unit = self._text("of all calls of the process"), self._text("B/s")
        for (layer, operation), number in self.metrics.kinds.items():
            self._define(
                "MetricMember", number, self._text(f"{layer} {operation}"), meaning,
                _otf2.METRIC_TYPE_OTHER, _otf2.METRIC_ABSOLUTE_NEXT, _otf2.TYPE_DOUBLE,
                _otf2.BASE_DECIMAL, 0, unit,
            )  # fmt: skip
            self._define(
                "MetricClass", number, [number], _otf2.METRIC_ASYNCHRONOUS,
                _otf2.RECORDER_KIND_ABSTRACT,
            )  # fmt: skip
        for rate, number in self.metrics.instances.items():
            self._define(
                "MetricInstance", number, rate.kind, METRICS + rate.process,
                _otf2.SCOPE_LOCATION_GROUP, groups[rate.process],
            )  # fmt: skip

    def _regions(self) -> None:
        """One of each op; places that calls were made from."""
        for op in self.tables.regions:
            self._define(
                "Region", op["region"], self._text(op["op"]), self._text(op["op"]),
                self._text(f"layer {op['layer']}, kind {op['kind']}"),
                ROLES.get(op["kind"], _otf2.REGION_ROLE_FUNCTION),
                PARADIGMS.get(op["layer"], _otf2.PARADIGM_UNKNOWN), _otf2.REGION_FLAG_NONE,
                _otf2.UNDEFINED_STRING, 0, 0,
            )  # fmt: skip
        for number, site in enumerate(self.tables.sites):
            self._define("SourceCodeLocation", number, self._text(site["file"]), site["line"])

    def _ranks(self) -> None:
        """The threads that stand for MPI's ranks, and groups of them."""
        tables = self.tables
        if not tables.speakers:
            return
        at = {rank: number for number, rank in enumerate(tables.speakers)}
        none, mpi = _otf2.GROUP_FLAG_NONE, _otf2.PARADIGM_MPI
        self._define(
            "Group", RANKS, self._text("MPI ranks"), _otf2.GROUP_TYPE_COMM_LOCATIONS, mpi, none,
            list(tables.speakers.values()),
        )  # fmt: skip
        for number, each in enumerate(tables.communicators):
            members = [at[rank] for rank in each["members"]]
            world = each["members"] == list(at)
            name = "MPI_COMM_WORLD" if world else f"{len(members)} ranks from {each['members'][0]}"
            self._define(
                "Group",
                number + 1,
                self._text(name),
                _otf2.GROUP_TYPE_COMM_GROUP,
                mpi,
                none,
                members,
            )
            self._define(
                "Comm",
                number,
                self._text(name),
                number + 1,
                _otf2.UNDEFINED_COMM,
                _otf2.COMM_FLAG_NONE,
            )

    def _files(self) -> None:
        for number, file in enumerate(self.tables.files):
            kind = "IoDirectory" if file["kind"] == "directory" else "IoRegularFile"
            self._define(kind, number, self._text(file["path"]), file["scope"])
            for name, value in (
                ("file system", file["file_system"]),
                ("mount point", file["mount"]),
            ):
                if value is not None:
                    self._define(
                        "IoFileProperty", number, self._text(name), _otf2.TYPE_STRING,
                        _otf2.AttributeValue(stringRef=self._text(value)),
                    )  # fmt: skip

    def _io_paradigms(self) -> dict[str, int]:
        """Those that handles are of, by identification."""
        used = dict.fromkeys(each["paradigm"] for each in self.tables.handles)
        for number, identification in enumerate(used):
            name, together = IO_PARADIGMS.get(identification, (identification, False))
            system = identification in ("POSIX", "ISOC")
            self._define(
                "IoParadigm", number, self._text(identification), self._text(name),
                _otf2.IO_PARADIGM_CLASS_PARALLEL if together else _otf2.IO_PARADIGM_CLASS_SERIAL,
                _otf2.IO_PARADIGM_FLAG_OS if system else _otf2.IO_PARADIGM_FLAG_NONE, [], [], [],
            )  # fmt: skip
        return {identification: number for number, identification in enumerate(used)}

    def _handles(self) -> None:
        """What was open. Where no event makes it, it was open before."""
        tables, paradigms = self.tables, self._io_paradigms()
        files = {each["file"]: number for number, each in enumerate(tables.files)}
        groups = {each["group_hash"]: number for number, each in enumerate(tables.communicators)}
        for each in tables.handles:
            is_created = each["created"] is not None
            self._define(
                "IoHandle", each["handle"], self._text(each["name"] or each["path"] or ""),
                files.get(each["file"], _otf2.UNDEFINED_IO_FILE), paradigms[each["paradigm"]],
                _otf2.IO_HANDLE_FLAG_NONE if is_created else _otf2.IO_HANDLE_FLAG_PRE_CREATED,
                groups.get(each["group_hash"], _otf2.UNDEFINED_COMM),
                _otf2.UNDEFINED_IO_HANDLE if each["parent"] is None else each["parent"],
            )  # fmt: skip
            if not is_created:
                opened = tables.opening(each["handle"])
                mode, status = _otf2.IoAccessMode(opened.mode), _otf2.IoStatusFlag(opened.status)
                self._define("IoPreCreatedHandleState", each["handle"], mode, status)


def _parents_first(parents: dict[int, int | None]) -> list[int]:
    """The keys, each behind its parent, as readers want them; parents that are no keys do not count."""
    done: dict[int, None] = {}
    for each in parents:
        path: dict[int, None] = {}
        at: int | None = each
        while at in parents and at not in done and at not in path:
            path[at] = None
            at = parents[at]
        done.update(dict.fromkeys(reversed(path)))
    return list(done)


def _group_name(process: Row) -> str:
    program = f"{PurePath(process['exe'] or 'process').name} {process['pid']}"
    if process["server"]:
        return f"Server {process['server']}"
    if process["rank"] is None:
        return program
    rank = f"MPI Rank {process['rank']}"
    return rank if process["main"] else f"{rank}: {program}"


def _thread_name(stream: Row, lane: int) -> str:
    name = "Master thread" if stream["main"] else f"Thread {stream['tid']}"
    more = f", {lane + 1} at once" if lane else ""
    return f"{name}, signal handler{more}" if stream["side"] else name + more
