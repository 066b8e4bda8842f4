"""The latency model once more, by loops over lists, as docs/commands/query.md says it. Times in ns."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from latency.forest import KINDS, PATHS, Call, Forest

NO_IO = ("fathom", "user", "threads")
STORAGE = ("posix", "stdio", "aio")
TALK = [n for n, kind in enumerate(KINDS) if kind == "socket" or PATHS[n].startswith("/proc")]


@dataclass
class Request:
    """What one server did for one call."""

    unit: Call
    call: Call
    server: str
    time: int
    after: int
    bytes: int
    accesses: int
    rows: int
    disk: int = 0
    disk_calls: int = 0
    subcall: int = -1
    number: int = -1


class Oracle:
    """Of one forest; `chosen` says which own calls are asked about."""

    def __init__(self, forest: Forest, chosen: Callable[[Call], bool], relays: bool) -> None:
        self.relays = relays
        self.calls = forest.calls
        self.by_id = {call["id"]: call for call in self.calls}
        self.who = "rank" if forest.ranked else "process"
        self.links = forest.links
        self.traced = any(call["layer"] == "server" for call in self.calls)
        self.children: dict[int, list[Call]] = defaultdict(list)
        for call in self.calls:
            if call["parent"]:
                self.children[call["parent"]].append(call)
        self.units = [c for c in self.calls if self.is_own(c) and chosen(c)]

    def ancestors(self, call: Call) -> list[Call]:
        out = []
        while call["parent"]:
            call = self.by_id[call["parent"]]
            out.append(call)
        return out

    def is_own(self, call: Call) -> bool:
        if call["layer"] in (*NO_IO, "server") or call["kind"] == "comm" or call["file"] in TALK:
            return False
        if any(c["layer"] not in ("user", "threads") for c in self.ancestors(call)):
            return False
        return call[self.who] is not None

    def under(self, unit: Call) -> list[Call]:
        """The unit and all calls inside it."""
        out = [unit]
        for child in self.children[unit["id"]]:
            out += self.under(child)
        return out

    def between(self, unit: Call, call: Call) -> list[Call]:
        """Calls around this one, up to the unit."""
        if call is unit:
            return []
        above = self.ancestors(call)
        return above[: above.index(unit) + 1]

    def server_name(self, process: int) -> str:
        node = 1 + process // 6
        same = sorted(
            {
                c["process"]
                for c in self.calls
                if c["layer"] == "server" and 1 + c["process"] // 6 == node
            }
        )
        return f"n{node}" if len(same) == 1 else f"n{node}/{same.index(process)}"

    def parts(self, client: Call) -> dict[tuple[str, bool], Request]:
        """Per server that worked for this call, apart from what it had others do."""
        rows: dict[tuple[str, bool], list[Call]] = defaultdict(list)
        for link in self.links:
            if link["to_call"] == client["id"]:
                row = self.by_id[link["from_call"]]
                rows[self.server_name(row["process"]), row["kind"] == "comm"].append(row)
        return {key: self.part(client, key[0], each) for key, each in rows.items()}

    def part(self, client: Call, name: str, rows: list[Call]) -> Request:
        left = client["start"] + client["duration"]
        span = max(r["start"] + r["duration"] for r in rows) - min(r["start"] for r in rows)
        whole = min(span, sum(r["duration"] for r in rows))
        within = 0
        for row in rows:
            late = max(0, row["start"] + row["duration"] - max(left, row["start"]))
            within += min(client["duration"], row["duration"] - late)
        time = min(client["duration"], within, whole)
        own = [c for r in rows for c in self.children[r["id"]] if c["layer"] != "fathom"]
        disk = sum(c["duration"] for c in own)
        return Request(
            client, client, name, time, whole - time, sum(r["bytes"] or 0 for r in rows),
            sum(r["kind"] in ("read", "write") and not r["error"] for r in rows), len(rows), min(disk, time), len(own),
        )  # fmt: skip

    def numbers(self, segment: Callable[[Call], bool]) -> dict[tuple[int, int], int]:
        """Number of each outermost call that holds such calls, by process and ordinal: from 0 in each process; a
        collective call's is the latest of its ranks', and what follows it is later by as much. Those whose order
        differs between ranks, which MPI forbids, keep their own."""
        held = {(c["process"], c["call"]): c for c in self.calls if self.is_own(c) and segment(c)}
        order = sorted(held)
        numbers = {key: sum(k[0] == key[0] for k in order[:n]) for n, key in enumerate(order)}
        groups_: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for key, call in held.items():
            if "collective" in call and not call["parent"]:
                groups_[call["collective"]].append(key)
        begun = {
            group: min(c["start"] for c in self.calls if c.get("collective") == group)
            for group in groups_
        }
        last: dict[int, int] = {}
        for group in sorted(groups_, key=lambda g: (begun[g], g)):
            members = groups_[group]
            if any(call < last.get(process, 0) for process, call in members):
                continue
            latest = max(numbers[key] for key in members)
            for process, call in members:
                more, last[process] = latest - numbers[process, call], call
                for key in order:
                    if key[0] == process and key[1] >= call:
                        numbers[key] += more
        return numbers

    def stacked(self, unit: Call) -> dict[str, list[int]]:
        """Layer -> calls, inclusive, exclusive of one own call."""
        out: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for call in self.under(unit):
            around = self.between(unit, call)
            rest = call["duration"] - sum(c["duration"] for c in self.children[call["id"]])
            row = out[call["layer"]]
            row[0] += 1
            if call["layer"] not in [c["layer"] for c in around]:
                row[1] += call["duration"]
            parts = self.parts(call)
            if parts:
                slowest = max(p.time for p in parts.values())
                disk = max(p.disk for p in parts.values())
                outermost = not any(self.parts(c) for c in around)
                out["server"][0] += sum(p.rows for p in parts.values())
                out["server"][1] += slowest if outermost else 0
                out["disk"][0] += sum(p.disk_calls for p in parts.values())
                out["disk"][1] += disk if outermost else 0
                taken = min(slowest, rest)
                out["disk"][2] += min(disk, rest)
                out["server"][2] += taken - min(disk, rest)
                rest -= taken
            row[2] += rest
        return out

    def sums(self, key: Callable[[Call], Any]) -> dict[Any, dict[str, list[int]]]:
        out: dict[Any, dict[str, list[int]]] = {}
        for unit in self.units:
            group = out.setdefault(key(unit), {})
            for layer, row in self.stacked(unit).items():
                total = group.setdefault(layer, [0, 0, 0])
                for n in range(3):
                    total[n] += row[n]
        return out

    def after(self, unit: Call) -> int:
        out = 0
        for call in self.under(unit):
            parts = self.parts(call)
            out += max(p.after for p in parts.values()) if parts else 0
        return out

    def all_servers(self) -> list[str]:
        """Names in their order: those that anything of the run reached."""
        if self.traced:
            return sorted(
                {
                    self.server_name(c["process"])
                    for c in self.calls
                    if c["layer"] == "server" and c["kind"] != "comm"
                }
            )
        names = set()
        for call in self.calls:
            around = self.ancestors(call)[:1]
            if call["layer"] in STORAGE and call["file"] is not None and call["file"] not in TALK:
                if around and (around[0]["layer"] in STORAGE or around[0]["kind"] == "comm"):
                    continue
                names.add(str(PurePath(PATHS[call["file"]]).parent))
        return sorted(names)

    def served(self, unit: Call, call: Call) -> list[Request]:
        """What each server did for a call; what it had others do counts where waiting counts, and moves nothing."""
        of: dict[str, list[tuple[bool, Request]]] = defaultdict(list)
        for (name, relayed), part in self.parts(call).items():
            if self.relays or not relayed:
                of[name].append((relayed, part))
        return [
            Request(unit, call, name, max(p.time for _, p in each), max(p.after for _, p in each),
                    sum(p.bytes for relayed, p in each if not relayed), sum(p.accesses for _, p in each),
                    sum(p.rows for _, p in each))
            for name, each in of.items()
        ]  # fmt: skip

    def requests(self) -> list[Request]:
        """Of the chosen calls, numbered."""
        out: list[Request] = []
        for unit in self.units:
            for call in self.under(unit):
                if self.traced:
                    out += self.served(unit, call)
                elif (
                    call["layer"] in STORAGE and call["file"] is not None and call["file"] not in TALK
                    and not any(c["layer"] in STORAGE for c in self.between(unit, call))
                ):  # fmt: skip
                    data = call["kind"] in ("read", "write")
                    name = str(PurePath(PATHS[call["file"]]).parent)
                    out.append(Request(unit, call, name, call["duration"], 0, (call["bytes"] or 0) if data else 0,
                                       int(data and not call["error"]), 1))  # fmt: skip
        names = self.all_servers()
        for request in out:
            request.number = names.index(request.server)
            same = {(r.call["start"], r.call["id"]) for r in out if place(r) == place(request)}
            request.subcall = sorted(same).index((request.call["start"], request.call["id"]))
        return out


def place(request: Request) -> tuple[int, int]:
    """Process and ordinal of the outermost call."""
    return request.unit["process"], request.unit["call"]


def groups(requests: Iterable[Request], key: Callable[[Request], Any]) -> dict[Any, list[Request]]:
    """Requests by a key."""
    out: dict[Any, list[Request]] = defaultdict(list)
    for request in requests:
        out[key(request)].append(request)
    return dict(out)


def energy(requests: list[Request], active: float, inactive: float) -> float:
    """Joules of the servers' disks: at work while a request of the own call is there, at rest until it ends."""
    joules = 0.0
    for each in groups(requests, lambda r: (r.unit["id"], r.server)).values():
        took = each[0].unit["duration"]
        busy = min(took, sum(r.time for r in each))
        joules += (busy * active + (took - busy) * inactive) / 1e9
    return joules


def own_time(requests: list[Request]) -> int:
    """Time of the own calls that these are of."""
    return sum(
        each[0].unit["duration"] for each in groups(requests, lambda r: r.unit["id"]).values()
    )


def server_rate(requests: list[Request]) -> float | None:
    """MB/s of one server for these; null where nothing was read or written."""
    time = sum(r.time for r in requests if r.accesses)
    return sum(r.bytes for r in requests) / time * 1e3 if time else None
