"""What an archive's events refer to: text, machines, processes, threads, regions."""

from pathlib import PurePath
from typing import Any

import _otf2
from _otf2 import GlobalDefWriter_WriteAttribute as write_attribute
from _otf2 import GlobalDefWriter_WriteClockProperties as write_clock
from _otf2 import GlobalDefWriter_WriteLocation as write_location
from _otf2 import GlobalDefWriter_WriteLocationGroup as write_location_group
from _otf2 import GlobalDefWriter_WriteRegion as write_region
from _otf2 import GlobalDefWriter_WriteString as write_string
from _otf2 import GlobalDefWriter_WriteSystemTreeNode as write_node
from _otf2 import GlobalDefWriter_WriteSystemTreeNodeDomain as write_domain

from fathom.export.otf2.tables import Tables
from fathom.export.otf2.words import PARADIGMS, ROLES

SECOND = 10**9

#: Attributes of events: number, name, meaning, type.
CALL = 0
ATTRIBUTES = ((CALL, "call", "calls.id of Fathom's tables", _otf2.TYPE_UINT64),)


class Definitions:
    """Writes them, each text once and before what refers to it."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self._texts: dict[str, int] = {}

    def text(self, words: str) -> int:
        """Number of a text."""
        number = self._texts.get(words)
        if number is None:
            number = self._texts[words] = len(self._texts)
            # C's strings end at a null character.
            clean = words.replace("\0", "\ufffd").encode(errors="replace").decode()
            write_string(self.writer, number, clean)
        return number

    def clock(self, started: int, first: int, last: int) -> None:
        """Times are ns since `started`."""
        write_clock(self.writer, SECOND, first, last - first, started)

    def attributes(self) -> None:
        """Of events."""
        for number, name, meaning, form in ATTRIBUTES:
            write_attribute(self.writer, number, self.text(name), self.text(meaning), form)

    def system(self, tables: Tables, events: dict[int, int]) -> None:
        """Machine, nodes, processes, threads. `events`: of each stream that has any."""
        root = self.text("machine")
        write_node(self.writer, 0, root, root, _otf2.UNDEFINED_SYSTEM_TREE_NODE)
        write_domain(self.writer, 0, _otf2.SYSTEM_TREE_DOMAIN_MACHINE)
        for node in tables.nodes:
            number = node["node"] + 1
            write_node(self.writer, number, self.text(node["host"]), self.text("node"), 0)
            write_domain(self.writer, number, _otf2.SYSTEM_TREE_DOMAIN_SHARED_MEMORY)
        streams = [each for each in tables.streams if each["stream"] in events]
        for process in sorted({each["process"] for each in streams}):
            self._group(tables, process)
        for each in streams:
            name = "Master thread" if each["main"] else f"Thread {each['tid']}"
            write_location(
                self.writer, each["stream"],
                self.text(f"{name}, signal handler" if each["side"] else name),
                _otf2.LOCATION_TYPE_CPU_THREAD, events[each["stream"]], each["process"],
            )  # fmt: skip

    def _group(self, tables: Tables, process: int) -> None:
        row = tables.processes[process]
        program = PurePath(row["exe"] or "process").name
        rank = row["rank"]
        if row["server"]:
            name = f"Server {program} {row['pid']}"
        elif rank is None:
            name = f"{program} {row['pid']}"
        else:
            name = f"MPI Rank {rank}" if row["main"] else f"MPI Rank {rank}: {program} {row['pid']}"
        parent = row["parent"] if row["parent"] in tables.exported else None
        write_location_group(
            self.writer, process, self.text(name), _otf2.LOCATION_GROUP_TYPE_PROCESS,
            row["node"] + 1, _otf2.UNDEFINED_LOCATION_GROUP if parent is None else parent,
        )  # fmt: skip

    def regions(self, tables: Tables) -> None:
        """One of each op."""
        for op in tables.ops:
            write_region(
                self.writer, op["region"], self.text(op["op"]), self.text(op["op"]),
                self.text(f"layer {op['layer']}, kind {op['kind']}"),
                ROLES.get(op["kind"], _otf2.REGION_ROLE_FUNCTION),
                PARADIGMS.get(op["layer"], _otf2.PARADIGM_UNKNOWN), _otf2.REGION_FLAG_NONE,
                _otf2.UNDEFINED_STRING, 0, 0,
            )  # fmt: skip
