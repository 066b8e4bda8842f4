"""Accesses as numbers: which box of which variable each rank moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from fathom.codegen.generate.language.expression import Expression, Values
from fathom.codegen.generate.language.over_ranks import numbers
from fathom.codegen.generate.spec import Access, Point, Spec, Variable

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """One box of one rank; `turn` counts the boxes of its access."""

    rank: int
    access: Access
    turn: int
    start: Numbers
    count: Numbers

    @property
    def elements(self) -> int:
        return prod(self.count)

    @property
    def bytes(self) -> int:
        return self.elements * self.access.variable.type.size


def pieces_of(point: Point, nprocs: int, values: Values) -> list[Piece]:
    """All boxes of all ranks, access by access."""
    pieces = []
    for access in point.accesses:
        ranks = ranks_of(access, nprocs)
        for turn, box in enumerate(access.boxes):
            starts, counts = (numbers(side, ranks, values) for side in (box.start, box.count))
            for rank, start, count in zip(ranks, starts, counts, strict=True):
                pieces.append(Piece(rank, access, turn, start, count))
    return pieces


@dataclass(frozen=True)
class Room:
    """What a buffer has on one rank: elements (None: as many as are moved); of the larger array of which a part is
    moved its extents and the first element that is moved, nothing where there is none."""

    elements: int | None
    extents: Numbers = ()
    start: Numbers = ()


def rooms_of(point: Point, nprocs: int, values: Values) -> dict[tuple[int, int], Room]:
    """Of each access (its id) on each of its ranks."""
    rooms = {}
    for access in point.accesses:
        ranks, buffer = ranks_of(access, nprocs), access.buffer
        sides: list[Sequence[Expression]] = [[buffer.elements] if buffer.elements else []]
        sides += [buffer.memory.extents, buffer.memory.start] if buffer.memory else []
        worth = zip(*(numbers(side, ranks, values) for side in sides), strict=True)
        for rank, (elements, *memory) in zip(ranks, worth, strict=True):
            rooms[id(access), rank] = Room(elements[0] if elements else None, *memory)
    return rooms


def ranks_of(access: Access, nprocs: int) -> Sequence[int]:
    """Those that take part in an access."""
    return range(nprocs) if access.process is None else [access.process]


def lengths(spec: Spec, values: Values, pieces: list[Piece]) -> dict[str, int]:
    """Of each dimension; an unlimited one is as long as what is moved makes it."""
    known = {
        d.name: values.of(d.length, 0) for d in spec.dimensions.values() if d.length is not None
    }
    for piece in pieces:
        first = piece.access.variable.dimensions[0]
        if first.length is None and piece.elements:
            end = piece.start[0] + piece.count[0]
            known[first.name] = max(known.get(first.name, 0), end)
    for dim in spec.dimensions.values():
        known.setdefault(dim.name, 0)
    return known


def extents(variable: Variable, length: dict[str, int]) -> Numbers:
    return tuple(length[d.name] for d in variable.dimensions)
