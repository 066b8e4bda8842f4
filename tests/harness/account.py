"""A kernel's own account of its accesses (kernels/README.md, option -a) against the tables and the files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = 9

#: Libraries that know names: what was selected in which variable. An extent of 0 is an unlimited dimension.
BOXES = """
    select c.rank, c.layer, c.op, f.path, o.name, o.extents, a.value, s.exact, s.box_count, c.size
    from calls c join objects o using (object) join files f on f.file = o.file
        left join selections s using (selection)
        left join args a on a.call = c.id and a.name = 'start'
    where c.layer = ? and c.kind in ('read', 'write', 'post') and o.element_bytes is not null
        and o.class <> 'hdf5_attribute'"""

#: The others: first byte, bytes to the last, bytes moved. A file view is a selection of bytes, and repeats.
#: A process that is no rank is -1.
BYTES = """
    select coalesce(c.rank, -1), c.layer, c.kind, f.path,
        coalesce(s.displacement + s.box_start[1], c.file_offset),
        coalesce(s.box_count[1] + s.period * (c.size // s.total - 1), c.size)::bigint, c.bytes
    from calls c join files f using (file) left join selections s using (selection)
    where c.layer = ? and c.kind in ('read', 'write') and c.parent is null and f.path in (select unnest(?))"""

#: Data calls that reached a file, with the layers they were made from.
REACHED = """
    select c.id, c.op, c.parent, f.path, c.file_offset, c.bytes, c.kind
    from calls c join files f using (file)
    where c.layer = 'posix' and c.kind in ('read', 'write') and f.path in (select unnest(?))"""


@dataclass(frozen=True)
class Access:
    """One call on one variable, or on bytes of a file where the layer knows no variables."""

    rank: int
    layer: str
    kind: str
    file: str
    name: str
    extents: tuple[int, ...]
    start: tuple[int, ...]
    count: tuple[int, ...]
    bytes: int

    def __str__(self) -> str:
        box = f"{self.name}{list(self.start)} + {list(self.count)} of {list(self.extents)}"
        return f"rank {self.rank} {self.layer} {self.kind} {self.file} {box}: {self.bytes} bytes"


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split())


def parse(line: str) -> Access:
    fields = line.split("|")
    if len(fields) != FIELDS:
        raise ValueError(f"account: {line!r} has {len(fields)} fields, not {FIELDS}")
    rank, layer, kind, file, name, extents, start, count, size = fields
    return Access(
        int(rank),
        layer,
        kind,
        file,
        name,
        numbers(extents),
        numbers(start),
        numbers(count),
        int(size),
    )


def own_account(directory: Path) -> list[Access]:
    return [
        parse(line)
        for file in sorted(directory.glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def corner(index: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates of a row-major index; the slowest dimension has no limit."""
    out: list[int] = []
    for extent in reversed(extents[1:]):
        out.append(index % extent)
        index //= extent
    return (index, *reversed(out))


def box(row: tuple[Any, ...]) -> Access:
    rank, layer, op, path, name, extents, start, exact, count, size = row
    shape = tuple(extents)
    if count is None or exact is False:
        count = shape
    kind = "read" if "get" in op or "read" in op else "write"
    at = corner(start or 0, shape)
    return Access(rank, layer, kind, path, name, shape, at, tuple(count), size)


def seen(connection: Any, layer: str, files: list[str], by_name: bool) -> list[Access]:
    if by_name:
        return [
            box(row) for row in connection.execute(BOXES, [layer]).fetchall() if row[3] in files
        ]
    rows = connection.execute(BYTES, [layer, files]).fetchall()
    return [Access(*row[:4], "", (), (row[4],), (row[5],), row[6]) for row in rows]


def unlimited(access: Access, recorded: set[tuple[int, ...]]) -> Access:
    """As the tables have it: an unlimited dimension's extent is 0."""
    free = (0, *access.extents[1:])
    if access.extents in recorded or free not in recorded:
        return access
    return Access(**{**vars(access), "extents": free})


def other_accesses(connection: Any, account: list[Access]) -> list[str]:
    out = []
    for layer, by_name in sorted({(a.layer, bool(a.name)) for a in account}):
        mine = [a for a in account if a.layer == layer]
        tables = seen(connection, layer, sorted({a.file for a in mine}), by_name)
        shapes = {a.extents for a in tables}
        want, got = Counter(unlimited(a, shapes) for a in mine), Counter(tables)
        out += [f"told, not in the tables: {n} x {a}" for a, n in (want - got).items()]
        out += [f"in the tables, not told: {n} x {a}" for a, n in (got - want).items()]
    return out


def other_layers(connection: Any, account: list[Access], layers: list[str]) -> list[str]:
    """Data reach a file from the layer its account names, through all those below it. A library may read a
    file's signature by itself while it opens it."""
    above = {a.file: layers[layers.index(a.layer) :] for a in account}
    calls = connection.execute("select id, layer, parent, kind from calls").fetchall()
    rows = {number: (layer, parent, kind) for number, layer, parent, kind in calls}
    out = []
    for _, op, parent, file, *_, kind in connection.execute(REACHED, [sorted(above)]).fetchall():
        if kind == "read" and parent is not None and rows[parent][2] == "open":
            continue
        path = ["posix"]
        while parent is not None:
            layer, parent, _ = rows[parent]
            if layer != path[0]:
                path.insert(0, layer)
        if path != above[file]:
            out.append(f"{op} of {file} is made from {path}, not {above[file]}")
    return out


def other_bytes(connection: Any, account: list[Access]) -> list[str]:
    """What no write touched is a hole: zeros. What was written lies inside the file."""
    written: dict[str, list[tuple[int, int]]] = {}
    for _, _, _, file, offset, moved, kind in connection.execute(
        REACHED, [sorted({a.file for a in account if a.kind == "write"})]
    ).fetchall():
        if kind == "write":
            written.setdefault(file, []).append((offset, offset + moved))
    out = []
    for file in sorted({a.file for a in account if a.kind == "write"}):
        data, at = Path(file).read_bytes(), 0
        for begin, end in [*sorted(written.get(file, [])), (len(data), len(data))]:
            if data.count(0, at, begin) != max(begin - at, 0):
                out.append(f"{file} has data from byte {at} to {begin} that no call wrote")
            at = max(at, end)
        if at > len(data):
            out.append(f"{file} has {len(data)} bytes, and writes up to byte {at}")
    return out


def differences(connection: Any, directory: Path, layers: list[str]) -> list[str]:
    account = own_account(directory)
    if not account:
        return [f"{directory}: the program told no access (-a)"]
    return [
        *other_accesses(connection, account),
        *other_layers(connection, account, layers),
        *other_bytes(connection, account),
    ]
