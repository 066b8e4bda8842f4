"""Random runs: forests of calls of several threads and processes, with servers that work for them or without."""

import random
from pathlib import Path
from typing import Any

import fathom
from schema import counters_of, write_run

Call = dict[str, Any]
OPS = {
    "hdf5": [("H5Dwrite", "write"), ("H5Dread", "read"), ("H5Fopen", "open")],
    "mpiio": [("MPI_File_write_all", "write"), ("MPI_File_read", "read")],
    "posix": [("pwrite", "write"), ("pread", "read"), ("open", "open"), ("fsync", "sync")],
    "stdio": [("fwrite", "write"), ("fread", "read")],
    "aio": [("aio_write", "post")],
    "mpi": [("MPI_Allreduce", "comm"), ("MPI_Init", "comm")],
    "user": [("step", "meta"), ("checkpoint", "meta")],
    "threads": [("pthread_join", "wait")],
    "fathom": [("seal", "meta")],
    "server": [("serve", "write")],
}
#: Of a program's call; of a call inside another.
OUTER = ["hdf5", "mpiio", "posix", "posix", "stdio", "aio", "mpi", "user", "threads", "fathom"]
INNER = ["hdf5", "mpiio", "posix", "posix", "posix", "stdio", "mpi", "user", "fathom"]
PATHS = ["/d/a/out.0", "/d/a/out.1", "/d/b/c/log", "/top", "/d/a/sock", "/proc/stat"]
KINDS = ["regular", "regular", "unknown", "regular", "socket", "regular"]
SITES = 4
NO_FILE = ("mpi", "user", "threads", "fathom", "server")


class Forest:
    """A run of `clients` processes; `traced`: with servers."""

    def __init__(self, seed: int, traced: bool) -> None:
        self.dice = random.Random(seed)
        self.clients = self.dice.randrange(1, 4)
        self.ranked = self.dice.random() < 0.7
        self.calls: list[Call] = []
        self.links: list[dict[str, Any]] = []
        self.numbers = [0] * 8
        for process in range(self.clients):
            for thread in range(self.dice.choice([1, 1, 2])):
                self._thread(process, 10 * process + thread)
        self._ordinals()
        if traced:
            self._serve()

    def _add(self, parent: Call | None, layer: str, start: int, duration: int, **more: Any) -> Call:
        op, kind = self.dice.choice(OPS[layer])
        call = {
            "id": len(self.calls) + 1, "layer": layer, "op": op, "kind": kind, "start": start,
            "duration": duration, "nested": 0, "parent": parent["id"] if parent else None,
            "depth": parent["depth"] + 1 if parent else 0, "error": self.dice.choice([0, 0, 0, 5]),
            "bytes": self.dice.choice([0, 8, 100]) if kind in ("read", "write") else None,
            "file": self.dice.choice([None, *range(len(PATHS))]) if layer not in NO_FILE else None,
        }  # fmt: skip
        if parent:
            call |= {key: parent[key] for key in ("process", "stream", "rank")}
        call |= more
        self.calls.append(call)
        return call

    def _thread(self, process: int, stream: int) -> None:
        at = self.dice.randrange(50)
        for _ in range(self.dice.randrange(4, 11)):
            rank = process + 2 if self.ranked else None
            call = self._add(
                None, self.dice.choice(OUTER), at, self.dice.randrange(0, 400),
                process=process, stream=stream, rank=rank, site=self.dice.randrange(SITES),
            )  # fmt: skip
            self._inside(call)
            at += call["duration"] + self.dice.randrange(20)

    def _inside(self, parent: Call) -> None:
        """Calls one after the other within the parent's time."""
        if parent["layer"] == "fathom" or parent["depth"] > 4:
            return
        at, end = parent["start"], parent["start"] + parent["duration"]
        for _ in range(self.dice.choice([0, 0, 1, 2, 3])):
            at += self.dice.randrange(20)
            if at > end:
                break
            took = self.dice.randrange(0, end - at + 1)
            parent["nested"] += took
            self._inside(self._add(parent, self.dice.choice(INNER), at, took))
            at += took

    def _ordinals(self) -> None:
        by_id = {call["id"]: call for call in self.calls}
        for process in range(self.clients):
            mine = [c for c in self.calls if c["process"] == process and c["depth"] == 0]
            for number, call in enumerate(sorted(mine, key=lambda c: (c["start"], c["id"]))):
                call["call"] = number
        for call in self.calls:
            if call["parent"]:
                call["call"] = by_id[call["parent"]]["call"]

    def _serve(self) -> None:
        """Some storage calls are served by one to three servers; parts may begin early, end late, be relayed."""
        at_least_one = False
        for client in list(self.calls):
            if client["layer"] not in ("posix", "stdio", "mpiio") or self.dice.random() < 0.3:
                continue
            for server in self.dice.sample(range(4, 8), self.dice.randrange(1, 4)):
                for _ in range(self.dice.choice([1, 1, 2, 3])):
                    self._part(client, server)
                    at_least_one = True
        if not at_least_one:
            self._part(self.calls[0], 4)

    def _part(self, client: Call, server: int) -> None:
        start = client["start"] + self.dice.randrange(-10, client["duration"] + 5)
        took = self.dice.randrange(0, 60)
        kind = self.dice.choice(["read", "write", "meta", "comm"])
        row = self._add(
            None, "server", start, took, process=server, stream=100 + server, rank=None,
            kind=kind, bytes=self.dice.choice([0, 64]), call=0,
        )  # fmt: skip
        for _ in range(0 if kind == "comm" else self.dice.randrange(3)):
            left = took - row["nested"]
            disk = self.dice.randrange(0, left + 1)
            layer = self.dice.choice(["posix", "fathom"])
            self._add(row, layer, start + row["nested"], disk, call=0)
            row["nested"] += disk
        self.links.append({"from_call": row["id"], "to_call": client["id"], "kind": "serves"})

    def collectives(self) -> list[dict[str, Any]]:
        """Some calls of MPI-IO and HDF5 become members, one of a rank."""
        rows = []
        for op in ("MPI_File_write_all", "H5Dwrite"):
            members = {c["rank"]: c for c in self.calls if c["op"] == op and c["rank"] is not None}
            if not members:
                continue
            for call in members.values():
                call["collective"] = len(rows)
            each = members.values()
            rows.append({
                "collective": len(rows), "op": op, "layer": next(iter(each))["layer"], "ranks_seen": len(each),
                "ranks_expected": self.clients, "agreed": True,
                "first_enter": min(c["start"] for c in each), "last_enter": max(c["start"] for c in each),
                "first_leave": min(c["start"] + c["duration"] for c in each),
                "last_leave": max(c["start"] + c["duration"] for c in each),
            })  # fmt: skip
        return rows

    def write(self, folder: Path) -> Any:
        """The run, opened."""
        duration = max((c["start"] + c["duration"] for c in self.calls), default=1)
        clients = [
            {"process": p, "rank": p + 2 if self.ranked else None, "node": 0}
            for p in range(self.clients)
        ]
        others = [{"process": p, "node": 1 + p // 6} for p in range(self.clients, 8)]
        return fathom.open(
            write_run(
                folder / "r.fathom",
                runs=[{"duration": duration, "ranks": self.clients if self.ranked else None}],
                collectives=self.collectives(),
                calls=self.calls,
                links=self.links,
                counters=counters_of(self.calls),
                processes=clients + others,
                nodes=[{"node": n, "host": f"n{n}"} for n in range(3)],
                ops=[
                    {"layer": layer, "op": op, "kind": kind}
                    for layer, each in OPS.items()
                    for op, kind in each
                ],
                sites=[
                    {"site": n, "source": f"/src/{'ab'[n % 2]}.c", "line": 10 * n, "module": "/p"}
                    for n in range(SITES)
                ],
                files=[
                    {"file": n, "path": path, "kind": kind, "file_system": "proc" if "proc" in path else "ext4",
                     "mount": str(Path(path).parent)}
                    for n, (path, kind) in enumerate(zip(PATHS, KINDS, strict=True))
                ],
            )
        )  # fmt: skip
