"""Processes, threads and lanes as tracks."""

from dataclasses import dataclass, field
from typing import Any

from fathom.interop.exports.perfetto.packets import Packets, track
from fathom.interop.exports.perfetto.protobuf import message, number, text
from fathom.interop.exports.selected import Selected

#: Above all that Linux gives: numbers for a pid or tid that another process or thread of the run has as well.
BEYOND = 4_194_304
NAME, PROCESS, THREAD, PARENT, ALONE = 2, 3, 4, 5, number(15, 2)  # of a track's description
PROCESSES = """
    select process, pid, command, host, server, parse_filename(coalesce(exe, command[1], '')) as exe, rank
    from processes join nodes using (node) left join server_processes() using (process)
    where process in (select process from calls where {where}) order by process"""


@dataclass
class Tracks:
    """Numbers of tracks, described to the reader when they are first asked for."""

    selected: Selected
    packets: Packets
    _uuids: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    _pids: dict[int, int] = field(default_factory=dict)
    _taken: set[tuple[str, int]] = field(default_factory=set)
    _streams: dict[int, dict[str, Any]] = field(default_factory=dict)

    def _number(self, key: tuple[str | int, ...]) -> tuple[int, bool]:
        """The track's number; is it new?"""
        new = key not in self._uuids
        return self._uuids.setdefault(key, len(self._uuids) + 1), new

    def processes(self) -> None:
        """Describes all processes that have calls."""
        sql = PROCESSES.format(where=self.selected.where)
        for row in self.selected.run.sql(sql).to_pylist():
            uuid, _ = self._number(("process", row["process"]))
            pid = self._pids[row["process"]] = self._alone("pid", row["pid"], row["process"])
            known = [number(1, pid), *(text(2, word) for word in row["command"])]
            known += [text(6, _called(row)), text(8, row["host"])]
            self.packets.add(track(uuid, message(PROCESS, *known)))
        rows = self.selected.run.sql("select stream, process, tid, side from streams").to_pylist()
        self._streams = {row["stream"]: row for row in rows}

    def process(self, process: int) -> int:
        """The track of a process."""
        return self._uuids["process", process]

    def node(self, node: int, host: str) -> int:
        """The track of a node, for what is counted there."""
        uuid, new = self._number(("node", node))
        if new:
            self.packets.add(track(uuid, text(NAME, host), ALONE))
        return uuid

    def counter(self, parent: int, name: str, unit: bytes) -> int:
        """A new track for a counter."""
        uuid, _ = self._number(("counter", len(self._uuids)))
        described = [text(NAME, name), number(PARENT, parent), ALONE, message(8, unit)]
        self.packets.add(track(uuid, *described))
        return uuid

    def lane(self, stream: int, lane: int) -> int:
        """The track of a thread, of what a signal handler did in it, or of one more lane of either."""
        uuid, new = self._number((stream, lane))
        if new:
            row = self._streams[stream]
            if lane:
                parent, name = self.lane(stream, 0), f"at the same time {lane + 1}"
                described = [number(PARENT, parent), text(NAME, name), ALONE]
            elif row["side"]:
                parent, name = self.process(row["process"]), f"signals of {row['tid']}"
                described = [number(PARENT, parent), text(NAME, name), ALONE]
            else:
                described = [message(THREAD, *self._thread(stream, row))]
            self.packets.add(track(uuid, *described))
        return uuid

    def _thread(self, stream: int, row: dict[str, Any]) -> list[bytes]:
        pid = self._pids[row["process"]]
        main = row["tid"] == pid
        tid = self._alone("tid", row["tid"], stream)
        return [number(1, pid), number(2, tid), text(5, "main" if main else "thread")]

    def _alone(self, kind: str, wanted: int, row: int) -> int:
        """The number itself, or one beyond all where it is another's already: readers know things by it."""
        number = BEYOND + row if (kind, wanted) in self._taken else wanted
        self._taken.add((kind, number))
        return number


def _called(row: dict[str, Any]) -> str:
    if row["server"] is not None:
        return f"server {row['server']}"
    return row["exe"] if row["rank"] is None else f"rank {row['rank']} {row['exe']}"
