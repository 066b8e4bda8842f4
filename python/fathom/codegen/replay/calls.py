"""Which calls of a run are made again: the program's own, on the highest layer that is allowed, on its files."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from os.path import commonpath, normpath
from pathlib import PurePosixPath
from typing import Any

from fathom.catalog.layers import silent
from fathom.errors import RunError
from fathom.run.limitations import every_call
from fathom.run.store import Run

#: By layer the layers of which calls are made again: what lies below one of them is made by it.
LAYERS = {
    "hdf5": ("hdf5", "mpiio", "posix"),
    "mpiio": ("mpiio", "posix"),
    "posix": ("posix",),
}
#: Layers that ask files for data past these.
ASIDE = ("stdio", "aio", "pnetcdf", "netcdf")
SYSTEM_WIDE = "on files of the system, pipes, sockets, devices, what was open before"
#: Regions, waits and statements of Fortran: what is done again lies in them.
AROUND = ("user", "threads", *silent())
#: Files below are the system's: libraries, devices, what the kernel tells.
SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr")
MOST = 5_000_000  # calls that are looked at


@dataclass
class Call:
    """One call; `rank` counts from 0 also where there was no MPI."""

    id: int
    rank: int
    layer: str
    op: str
    kind: str
    object: int | None
    start: int
    stop: int
    size: int | None
    offset: int | None
    bytes: int | None
    result: int | None
    error: int
    selection: int | None
    path: str = ""
    placed: int | None = (
        None  # its first byte as the system calls below it show, of the shared pointer alone
    )
    moved: int | None = (
        None  # when the first system call below it began that moves data; of the shared pointer alone
    )
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.error != 0


@dataclass(frozen=True)
class Object:
    """What a call was made on."""

    kind: str
    path: str
    inherited: bool
    row: dict[str, Any]


@dataclass
class Recorded:
    """The calls of each rank in order, and what was left out, by reason."""

    layer: str
    mpi: str
    calls: list[list[Call]]
    objects: dict[int, Object]
    left_out: Counter[str]
    root: str
    threads: int  # most threads of a rank that made them
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)  # by hash: who opened together

    @property
    def ranks(self) -> int:
        return len(self.calls)

    def every(self) -> Iterator[Call]:
        """All of them, rank after rank."""
        for call in self.calls:
            yield from call


def read(run: Run, layer: str, glob: str | None = None, root: str = "") -> Recorded:
    """RunError where calls of this layer are missing, or were cut off. `glob`: only on files like this; `root`: only
    those below it, instead of the directory that holds all files that were opened."""
    layers = LAYERS[layer]
    processes, mpi = _processes(run)
    _check_size(run, processes)
    _check_whole(run, layers, processes)
    rows = run.sql(
        "from replay_calls($processes, $layers)", processes=list(processes),
        layers=[*LAYERS["hdf5"], *ASIDE, *AROUND, "mpi", "fathom"],
    )  # fmt: skip
    objects = _objects(run)
    left_out: Counter[str] = Counter()
    chosen, streams = _chosen(rows.to_pylist(), layers, objects, left_out, glob)
    ranks = _ranks(processes, chosen, mpi)
    calls: list[list[Call]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for process, row in chosen:
        calls[ranks[process]].append(_call(row, ranks[process], objects))
    threads = max((len(stream) for stream in streams.values()), default=1)
    recorded = Recorded(layer, mpi, calls, objects, left_out, "", threads)
    _arguments(run, recorded)
    _place_shared(run, recorded)
    recorded.root = root or _root(recorded)
    _keep_below_root(recorded)
    _check_renamed(run, recorded)
    recorded.groups = _groups(recorded)
    return recorded


def _processes(run: Run) -> tuple[dict[int, int | None], str]:
    """Process -> rank: those of MPI where there are any, else all; and which MPI it was."""
    rows = run.sql("select process, rank, ranks, mpi from processes order by process").to_pylist()
    of_mpi = [row for row in rows if row["rank"] is not None]
    if not of_mpi:
        return {row["process"]: None for row in rows}, ""
    seen = {row["rank"] for row in of_mpi}
    expected = max(row["ranks"] or 1 for row in of_mpi)
    if seen != set(range(expected)) or len(of_mpi) > expected:
        raise RunError(
            f"{run.name}: of {expected} ranks {len(seen)} were recorded, by {len(of_mpi)} processes: a replay needs"
            " every rank once"
        )
    return {row["process"]: row["rank"] for row in of_mpi}, of_mpi[0]["mpi"] or ""


def _check_size(run: Run, processes: Iterable[int]) -> None:
    (row,) = run.sql(
        "select count(*) as calls from calls where process in (select unnest($processes))",
        processes=list(processes),
    ).to_pylist()
    if row["calls"] > MOST:
        raise RunError(
            f"{run.name}: {row['calls']:,} calls, more than the {MOST:,} that a replay is made of: record a part of"
            " the run (fathom run --select)"
        )


def _check_whole(run: Run, layers: tuple[str, ...], processes: Iterable[int]) -> None:
    """Every call of these layers that no other of them made must be a row."""
    rows = run.sql(
        "select layer, op, sum(calls - recorded) as missing from counters c left join files f using (file)"
        " where process in (select unnest($processes)) and layer in (select unnest($layers)) and calls > recorded"
        " and c.kind <> 'comm' and coalesce(enclosing_layer, '') not in (select unnest($layers))"
        " and coalesce(f.kind, 'regular') in ('regular', 'directory', 'unknown')"
        " group by all order by missing desc",
        processes=list(processes), layers=list(layers),
    ).to_pylist()  # fmt: skip
    if rows:
        counted = ", ".join(f"{row['missing']:,} x {row['op']}" for row in rows[:3])
        again = every_call(
            run.manifest, "record the run with --level call, or replay another of its layers"
        )
        raise RunError(
            f"{run.name}: calls of layer {rows[0]['layer']} were only counted ({counted}): {again}"
        )


def _objects(run: Run) -> dict[int, Object]:
    rows = run.sql(
        "select o.*, f.kind as file_kind from objects o left join files f using (file)"
    ).to_pylist()
    apart = _alike(rows)
    return {
        row["object"]: Object(
            row["file_kind"] or "",
            _name(row) + apart.get(row["file"], ""),
            bool(row["inherited"]),
            row,
        )
        for row in rows
    }


def _alike(rows: list[dict[str, Any]]) -> dict[int, str]:
    """What files get behind their names that the tables have as one: bytes that are no UTF-8 are all alike there."""
    files: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        if (
            row["file"] is not None
            and "\ufffd" in _name(row)
            and row["class"] in ("descriptor", "path")
        ):
            files[_name(row)].add(row["file"])
    return {
        file: f".{number}"
        for numbers in files.values()
        for number, file in enumerate(sorted(numbers))
        if number
    }


def _name(row: dict[str, Any]) -> str:
    name: str = row["name"] or ""
    in_hdf5 = row["class"].startswith("hdf5") and row["class"] != "hdf5_file"
    return name if in_hdf5 else _direct(name)


def _direct(path: str) -> str:
    """Without `.` and `..`: where files are made again there are no links, of which these could lead elsewhere."""
    return f"/{normpath(path).lstrip('/')}" if path.startswith("/") else path


def _chosen(
    rows: list[dict[str, Any]], layers: tuple[str, ...], objects: dict[int, Object],
    left_out: Counter[str], glob: str | None,
) -> tuple[list[tuple[int, dict[str, Any]]], dict[int, set[int]]]:  # fmt: skip
    """Rows that are made again, with their process; and by process the streams that they are of."""
    outside: dict[int, bool] = {}  # by call: what it contains is made by the program itself
    chosen = []
    streams: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        own = row["parent"] is None or outside.get(row["parent"], False)
        taken = own and row["layer"] in layers
        outside[row["id"]] = (
            own and not taken and row["kind"] != "comm" and row["layer"] != "fathom"
        )
        if not own or row["layer"] in (*AROUND, "mpi", "fathom") or row["kind"] == "comm":
            continue
        why = _left_out(row, objects) or _unlike(row, objects, glob)
        if not why and not taken:
            moved = " of data" if row["kind"] in MOVES else ""
            why = f"{row['op']} of layer {row['layer']}{moved}"
            if row["layer"] in ("pnetcdf", "netcdf"):
                continue  # what it made is a row too
        if why:
            left_out[why] += 1
            continue
        if row["state"] != "done":
            raise RunError(
                f"{row['op']} of process {row['process']} is {row['state']}: a run that was cut off cannot be replayed"
            )
        chosen.append((row["process"], row))
        streams[row["process"]].add(row["stream"])
    return chosen, streams


MOVES = ("read", "write", "post")
DIRECTORIES = ("mkdir", "mkdirat")
TWO_NAMES = ("rename", "renameat", "renameat2", "link", "linkat")


def _left_out(row: dict[str, Any], objects: dict[int, Object]) -> str:
    """Why a call on this is not made again; "": it is."""
    if row["kind"] == "wait" or (row["layer"] == "hdf5" and row["object"] is None):
        return ""
    one = objects.get(row["object"])
    if one is None:
        return f"{row['op']} on what is not known" if row["kind"] in MOVES else SYSTEM_WIDE
    if row["layer"] == "hdf5":
        return ""
    if one.inherited or one.kind in ("fifo", "socket", "character", "block"):
        return SYSTEM_WIDE
    if not one.path.startswith("/") or _of_the_system(one.path):
        return SYSTEM_WIDE
    return ""


def _unlike(row: dict[str, Any], objects: dict[int, Object], glob: str | None) -> str:
    """Why a call is on no file that was asked for; of what lies in a file of HDF5 that file counts."""
    one = objects.get(row["object"])
    if glob is None or one is None or row["kind"] == "wait":
        return ""
    while one.row["class"] != "hdf5_file" and one.row["parent"] in objects:
        one = objects[one.row["parent"]]
    like = fnmatchcase(one.path, glob) or fnmatchcase(PurePosixPath(one.path).name, glob)
    return "" if like else "on other files"


def _of_the_system(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return len(parts) > 1 and parts[1] in SYSTEM and parts[1:3] != ("dev", "shm")


def _ranks(
    processes: dict[int, int | None], chosen: list[tuple[int, dict[str, Any]]], mpi: str
) -> dict[int, int]:
    if mpi:
        return {process: rank for process, rank in processes.items() if rank is not None}
    return {process: at for at, process in enumerate(sorted({process for process, _ in chosen}))}


def _call(row: dict[str, Any], rank: int, objects: dict[int, Object]) -> Call:
    one = objects.get(row["object"])
    return Call(
        row["id"], rank, row["layer"], row["op"], row["kind"], row["object"], row["start"], row["stop"], row["size"],
        row["file_offset"], row["bytes"], row["result"], row["error"], row["selection"], one.path if one else "",
    )  # fmt: skip


def _root(recorded: Recorded) -> str:
    """The directory that holds all files; "": there are none."""
    paths = (
        {
            str(PurePosixPath(call.path).parent)
            for call in recorded.every()
            if call.kind in ("open", *MOVES) and not call.failed and call.layer != "hdf5"
        }
        | {
            str(PurePosixPath(path).parent)
            for call in recorded.every()
            if call.op in TWO_NAMES and not call.failed
            for path in _paths(call)
        }
        | {
            str(PurePosixPath(one.path).parent)
            for one in recorded.objects.values()
            if one.row["class"] == "hdf5_file" and recorded.layer == "hdf5"
        }
    )
    root = commonpath(paths) if paths else ""
    for call in recorded.every():
        if root and call.op in DIRECTORIES and not call.failed and _inside(root, call.path):
            root = str(PurePosixPath(call.path).parent)
    return root


def _keep_below_root(recorded: Recorded) -> None:
    """What only asks about names outside of the directory that holds all files is left out."""
    for rank, calls in enumerate(recorded.calls):
        below = []
        for call in calls:
            inside = bool(recorded.root) and all(
                _inside(path, recorded.root) for path in _paths(call)
            )
            if inside or call.layer == "hdf5":
                below.append(call)
            else:
                recorded.left_out["on names outside of the directory of the files"] += 1
        recorded.calls[rank] = below


def _paths(call: Call) -> list[str]:
    """What a call names."""
    return [path for path in (call.path, str(call.arguments.get("to") or "")) if path]


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _arguments(run: Run, recorded: Recorded) -> None:
    by_id = {call.id: call for call in recorded.every()}
    rows = run.sql(
        "select call, name, value, text from args where call in (select unnest($calls))",
        calls=list(by_id),
    )
    columns = [rows.column(name).to_pylist() for name in ("call", "name", "value", "text")]
    for call, name, value, text in zip(*columns, strict=True):
        by_id[call].arguments[name] = value if text is None else text
        if name == "to" and text is not None:
            by_id[call].arguments[name] = _direct(text)


def _place_shared(run: Run, recorded: Recorded) -> None:
    """By a pointer that ranks share: where a call's data went shows in the system calls below it alone."""
    shared = {
        call.id: call
        for call in recorded.every()
        if call.kind in MOVES and re.search("_(shared|ordered)", call.op)
    }
    if not shared:
        return
    for row in run.sql(
        "from replay_below($calls, $kinds)", calls=list(shared), kinds=list(MOVES)
    ).to_pylist():
        call = shared[row["call"]]
        call.moved = row["start"]
        if call.offset is None or call.offset < 0:
            call.placed = row["file_offset"]
    for overlapping in at_once([call for call in shared.values() if call.moved is not None]):
        by_places(overlapping)


def at_once(calls: Iterable[Call]) -> Iterator[list[Call]]:
    """Calls on one file that overlap, from the first's begin until the last's data move. No seek is among them, since
    all ranks meet in it."""
    group: list[Call] = []
    until = 0
    for call in sorted(calls, key=lambda call: (call.path, call.start)):
        if group and (call.path != group[0].path or call.start > until):
            yield group
            group, until = [], 0
        group.append(call)
        until = max(until, call.moved or 0)
    if group:
        yield group


def _place(call: Call) -> int:
    place = call.offset if call.placed is None else call.placed
    return place or 0


def by_places(overlapping: list[Call]) -> None:
    """Of two calls at once the one with the earlier bytes had the pointer first, whoever's data moved first."""
    until: int | None = None
    for call in sorted(overlapping, key=_place, reverse=True):
        assert call.moved is not None
        until = call.moved if until is None else min(call.moved, until - 1)
        call.moved = until


def _check_renamed(run: Run, recorded: Recorded) -> None:
    for call in recorded.every():
        if call.op in TWO_NAMES and "to" not in call.arguments:
            raise RunError(
                f"{run.name}: {call.op} of {call.path}: its other name was not recorded; replay other files (--files)"
            )


def _groups(recorded: Recorded) -> dict[int, tuple[int, ...]]:
    """World ranks of each group that opened files, in its own order."""
    groups: dict[int, dict[int, int]] = {}
    rank_of = {call.object: call.rank for call in recorded.every()}
    for number, one in recorded.objects.items():
        hash_, own = one.row["group_hash"], one.row["group_rank"]
        if hash_ is not None and own is not None and number in rank_of:
            groups.setdefault(hash_, {})[own] = rank_of[number]
    return {hash_: tuple(ranks[at] for at in sorted(ranks)) for hash_, ranks in groups.items()}
