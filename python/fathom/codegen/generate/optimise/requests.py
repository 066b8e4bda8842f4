"""The bytes of a file that each rank's transfer asks for, and ROMIO's own question: do ranks interleave?"""

from dataclasses import dataclass
from itertools import chain, pairwise
from math import prod

from fathom.codegen.generate.analysis.pieces import (
    Numbers,
    Piece,
    extents,
    lengths,
    pieces_of,
    rooms_of,
)
from fathom.codegen.generate.spec import Point, Spec, Variable


@dataclass(frozen=True)
class Request:
    """Of one rank: bytes from first to end (exclusive), in how many contiguous runs in the file, and in memory."""

    rank: int
    first: int
    end: int
    runs: int
    bytes: int
    in_memory: int = 1


@dataclass(frozen=True)
class Calls:
    """What one point asks of the file with so many processes: requests of each transfer, in order."""

    nprocs: int
    transfers: list[list[Request]]

    def together(self) -> list[Request]:
        """All transfers as one request per rank, as posted requests are done."""
        of_rank: dict[int, list[Request]] = {}
        for request in chain.from_iterable(self.transfers):
            of_rank.setdefault(request.rank, []).append(request)
        requests = []
        for rank, requests_of_rank in sorted(of_rank.items()):
            first, end = (
                min(r.first for r in requests_of_rank),
                max(r.end for r in requests_of_rank),
            )
            runs, size = (
                sum(r.runs for r in requests_of_rank),
                sum(r.bytes for r in requests_of_rank),
            )
            in_memory = sum(r.in_memory for r in requests_of_rank)
            requests.append(Request(rank, first, end, runs, size, in_memory))
        return requests


def interleaved(requests: list[Request]) -> bool:
    """ROMIO's test: a rank begins before the one before it ends (and no rank is empty)."""
    return any(b.first < a.end for a, b in pairwise(requests))


def calls(spec: Spec, point: Point, nprocs: int) -> Calls:
    """The point's requests; variables lie one after another, as in a classic file or a plain one."""
    values = spec.values(nprocs)
    pieces = pieces_of(point, nprocs, values)
    length = lengths(spec, values, pieces)
    offsets, at = {}, 0
    for variable in spec.variables.values():
        offsets[variable.number] = at
        at += prod(extents(variable, length)) * variable.type.size
    transfers: dict[tuple[int, int], list[Request]] = {}
    rooms = rooms_of(point, nprocs, values)
    for piece in pieces:
        if piece.elements:
            variable = piece.access.variable
            room = rooms[id(piece.access), piece.rank].extents or piece.count
            shape = extents(variable, length)
            request = _request(piece, variable, shape, offsets[variable.number], room)
            transfers.setdefault(_transfer(piece), []).append(request)
    return Calls(nprocs, list(transfers.values()))


def fills(spec: Spec, point: Point, nprocs: int) -> Calls:
    """What PnetCDF writes where a new file is filled: every rank an even share of each variable that does not grow,
    all in one call."""
    values = spec.values(nprocs)
    length = lengths(spec, values, pieces_of(point, nprocs, values))
    shares: dict[int, list[tuple[int, int]]] = {rank: [] for rank in range(nprocs)}
    at = 0
    for variable in spec.variables.values():
        elements, size = prod(extents(variable, length)), variable.type.size
        for rank in shares if variable.dimensions[0].length is not None else ():
            begin, end = _share(elements, nprocs, rank), _share(elements, nprocs, rank + 1)
            if end > begin:
                shares[rank].append((at + begin * size, at + end * size))
        at += elements * size
    requests = []
    for rank, extents_of_rank in shares.items():
        if extents_of_rank:
            runs = 1 if nprocs == 1 else len(extents_of_rank)  # of one rank they lie side by side
            size = sum(end - begin for begin, end in extents_of_rank)
            requests.append(
                Request(rank, extents_of_rank[0][0], extents_of_rank[-1][1], runs, size)
            )
    return Calls(nprocs, [requests])


def _share(elements: int, nprocs: int, rank: int) -> int:
    """Where a rank's share begins: the first ranks have one more where they do not divide."""
    each, more = divmod(elements, nprocs)
    return rank * each + min(rank, more)


def _transfer(piece: Piece) -> tuple[int, int]:
    """Accesses of single processes to one variable and buffer are one transfer."""
    access = piece.access
    alone = access.process is None
    return (id(access) if alone else access.variable.number, piece.turn)


def _request(
    piece: Piece, variable: Variable, shape: Numbers, offset: int, room: Numbers
) -> Request:
    first = last = 0
    for extent, start, count in zip(shape, piece.start, piece.count, strict=True):
        first, last = first * extent + start, last * extent + start + count - 1
    size = variable.type.size
    begin, end = offset + first * size, offset + (last + 1) * size
    moved = piece.count + (1,) * (len(room) - len(shape))
    return Request(
        piece.rank, begin, end, _runs(piece.count, shape), piece.bytes, _runs(moved, room)
    )


def _runs(count: Numbers, shape: Numbers) -> int:
    """Contiguous runs of a part of an array."""
    whole = len(shape)  # dimensions from here on are moved whole
    while whole > 0 and count[whole - 1] == shape[whole - 1]:
        whole -= 1
    return prod(count[: max(whole - 1, 0)])
