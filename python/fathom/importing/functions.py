"""Functions that DFTracer names, as ops of Fathom's catalogue: which fields an event's arguments give."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom import places
from fathom.catalogue import Call, load
from fathom.importing.lines import COLLECTIVE, TRACKED, Op
from fathom.importing.positions import Positions, follow

# Who calls whom: the higher one.
HEIGHTS = {
    "posix": 1, "stdio": 2, "mpi": 3, "mpiio": 4, "hdf5": 5, "pnetcdf": 5, "netcdf": 6, "user": 7,
}  # fmt: skip
CATEGORIES = {"POSIX": "posix", "STDIO": "stdio", "MPI": "mpi", "MPIIO": "mpiio", "HDF5": "hdf5"}
# Layers of events, as DFTracer 2 numbers them: HDF5's have categories of their own; a program's any at all.
HDF5, PROGRAM = 5, (2, 6, 8, 9)
UNKNOWN_OFFSET = -(1 << 63)
# What nobody knows of errors: which one. -1 in the tables.
SOME_ERROR = 0xFFFFFFFF
# A field of the catalogue's op, and the argument that is it.
FIELDS = (
    ("result", "ret"), ("flags", "flags"), ("mode", "mode"), ("length", "length"), ("distance", "offset"),
    ("whence", "whence"), ("amode", "amode"),
)  # fmt: skip
MOST_FIELDS = 4


@dataclass(frozen=True)
class Function:
    """One that an event may be of."""

    layer: str
    call: Call | None  # None: a region of the program
    ops: dict[tuple[str, str, int], Op] = field(default_factory=dict, compare=False, repr=False)

    def op(self, name: str, fields: str = "", flags: int = 0) -> Op:
        """As the tables name it: the same object each time, since logs have millions of calls."""
        key = (name, fields, flags)
        if key not in self.ops:
            op, kind = (self.call.op, self.call.kind) if self.call else (name, "meta")
            flags |= COLLECTIVE if self.call and self.call.collective else 0
            self.ops[key] = Op(self.layer, op, kind, HEIGHTS[self.layer], fields, flags)
        return self.ops[key]

    @functools.cached_property
    def moves(self) -> bool:
        """Does it move data?"""
        call = self.call
        return bool(call and call.kind in ("read", "write") and call.size)

    @functools.cached_property
    def fields(self) -> list[tuple[str, str]]:
        """Those of the catalogue's op that an argument gives, and which."""
        names = {one.name for one in self.call.fields} if self.call else set()
        return [(to, of) for to, of in FIELDS if to in names]


def layer_of(category: str, kind: int | None) -> str | None:
    """Whose event it is; None: of none that Fathom has. `kind`: what DFTracer 2 says, None of version 1."""
    if kind == HDF5:
        return "hdf5"
    known = CATEGORIES.get(category)
    if known or kind in PROGRAM or kind is None:
        return known or "user"
    return None


def function(layer: str, name: str) -> Function | None:
    """None: one that the catalogue does not have."""
    if layer == "user":
        return Function(layer, None)
    call = _catalogue(layer).get(name)
    return Function(layer, call) if call else None


@functools.cache
def _catalogue(layer: str) -> dict[str, Call]:
    """By symbol."""
    rows = load([places.catalog() / "probes" / f"{layer}.toml"]).apis[0].calls
    return {symbol: call for call in rows if call.row for symbol in call.symbols()}


# The file, "" where none is known, and the thread.
Where = tuple[str, int]


def told(
    found: Function, name: str, where: Where, args: Mapping[str, int], positions: Positions
) -> tuple[Op, list[int], int]:
    """The op, its fields and its error."""
    result = args.get("ret", 0)
    failed = result != 0 if found.layer in ("mpi", "mpiio") else result < 0
    error = 0 if not failed else result if result > 0 else SOME_ERROR
    if found.call and found.moves:
        fields, flags = _data(found, found.call, where, args, positions)
    else:
        if found.call and found.layer == "posix" and where[0]:
            follow(positions, found.call.op, where, args)
        fields = {to: args[of] for to, of in found.fields if of in args}
        flags = 0
    if len(fields) > MOST_FIELDS:
        fields = dict(list(fields.items())[:MOST_FIELDS])
    return found.op(name, ",".join(fields), flags), list(fields.values()), error


def _data(
    found: Function, call: Call, where: Where, args: Mapping[str, int], positions: Positions
) -> tuple[dict[str, int], int]:
    """Of a read or write; the flags of its op. What moves no data that can be seen has neither size nor bytes."""
    if found.layer not in ("posix", "stdio") or not args:
        # MPI counts elements of a type that nobody knows, from a view that nobody knows.
        return {}, 0
    each = args.get("size", 1) if found.layer == "stdio" else 1
    moved = args.get("ret_len", args.get("ret", 0))
    if found.layer == "stdio":
        moved = max(0, moved) * each
    # fgets leaves room for the zero byte; of vectors only what moved is recorded.
    size = args["num"] - 1 if "num" in args else args.get("count", max(0, moved)) * each
    offset: int | None = args.get("offset")
    flags = 0
    if call.at_position:
        # C streams: much that moves their position, as fprintf, is not recorded.
        posix = found.layer == "posix" and where[0]
        offset = positions.moved(*where, moved) if posix else None
        flags = TRACKED
    fields = {"size": size, "offset": UNKNOWN_OFFSET if offset is None else offset, "bytes": moved}
    return fields, flags
