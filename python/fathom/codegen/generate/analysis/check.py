"""The checks, for each number of processes that the specification names."""

from math import prod

from fathom.codegen.generate.analysis.compounds import check_compounds
from fathom.codegen.generate.analysis.conditions import check_conditions
from fathom.codegen.generate.analysis.cover import Cover, Fault
from fathom.codegen.generate.analysis.formats import check_format
from fathom.codegen.generate.analysis.pieces import (
    Piece,
    Room,
    extents,
    lengths,
    pieces_of,
    rooms_of,
)
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.expression import Values
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.spec import Point, Spec, Variable

MOST = 2**31 - 1  # of what MPI counts by an int


def check(spec: Spec) -> None:
    """Mistake for the first thing that cannot be right."""
    check_conditions(spec)
    check_compounds(spec)
    _check_lengths(spec)
    for nprocs in spec.processes:
        _check_with(spec, nprocs)
        _check_attributes(spec, nprocs)


def _check_lengths(spec: Spec) -> None:
    named = spec.named()
    for dim in spec.dimensions.values():
        if dim.length is not None and ex.depends_on_rank(dim.length, named):
            raise Mistake(
                dim.length.place,
                f"the length of {dim.name} depends on the rank: ranks would define different files",
                "use total(…) for a sum over all ranks",
            )
        if dim.length is None and spec.library in ("mpiio", "posix"):
            raise Mistake(
                dim.place,
                f"{dim.name} is unlimited, and a plain file ({spec.library}) has no records",
                "give it a length, or choose pnetcdf, netcdf4 or hdf5",
            )


def _check_attributes(spec: Spec, nprocs: int) -> None:
    """What is worked out is one number for all ranks, and fits."""
    values, named = spec.values(nprocs), spec.named()
    for attribute in spec.attributes:
        for one in attribute.values:
            if not isinstance(one, ex.Expression) or spec.is_real(one):
                continue
            if ex.depends_on_rank(one, named):
                raise Mistake(
                    one.place,
                    f"the attribute {attribute.name} depends on the rank: a file has one",
                    "use total(…) for a sum over all ranks",
                )
            value, kind = values.of(one, 0), attribute.type
            if kind and kind.name.startswith("int") and abs(value) > kind.most:
                raise Mistake(
                    one.place,
                    f"{ex.key(one)} is {value} with {nprocs} processes: too large for {kind.name}",
                    "choose a larger type",
                )


def _check_with(spec: Spec, nprocs: int) -> None:
    values = spec.values(nprocs)
    written: list[Piece] = []
    pieces = {id(point): _checked_pieces(point, nprocs, values) for point in spec.points}
    for point in spec.points:
        if point.kind == "write":
            written += pieces[id(point)]
    length = lengths(spec, values, [p for all_ in pieces.values() for p in all_])
    for dim in spec.dimensions.values():
        if dim.length is not None and length[dim.name] < 1:
            raise Mistake(
                dim.length.place,
                f"{dim.name} has the length {length[dim.name]} with {nprocs} processes",
                "a dimension has at least one element",
            )
    for point in spec.points:
        rooms = rooms_of(point, nprocs, values)
        for piece in pieces[id(point)]:
            _check_bounds(piece, length, nprocs)
            _check_memory(piece, rooms[id(piece.access), piece.rank])
        _check_buffers(point, pieces[id(point)], rooms)
    check_format(spec, length, nprocs)
    if written:
        for variable in spec.variables.values():
            _check_cover(spec, variable, written, length, nprocs)


def _checked_pieces(point: Point, nprocs: int, values: Values) -> list[Piece]:
    for access in point.accesses:
        if access.process is not None and not 0 <= access.process < nprocs:
            raise Mistake(
                access.place,
                f"process {access.process} of {nprocs}",
                f"processes count from 0; say `processes: {access.process + 1};` in the options for more",
            )
        if access.processes is not None:
            grid_size = values.of(access.processes, 0)
            if grid_size != nprocs:
                raise Mistake(
                    access.processes.place,
                    f"the grid {ex.key(access.processes)} has {grid_size} processes, the program {nprocs}",
                    "make the product of the grid nprocs, or change `processes` in the options",
                )
    return pieces_of(point, nprocs, values)


def _check_bounds(piece: Piece, length: dict[str, int], nprocs: int) -> None:
    access, variable = piece.access, piece.access.variable
    box = access.boxes[piece.turn]
    for d, dim in enumerate(variable.dimensions):
        start, count, most = piece.start[d], piece.count[d], length[dim.name]
        who = f"rank {piece.rank} of {nprocs}: {variable.name}"
        if start < 0 or count < 0:
            bad = box.start[d] if start < 0 else box.count[d]
            raise Mistake(
                bad.place,
                f"{who} begins at {start} along {dim.name} and has {count} elements: less than none",
                "indices and counts are from 0",
            )
        if start + count > most and piece.elements:
            raise Mistake(
                box.count[d].place,
                f"{who} reaches {start + count} along {dim.name}, which has {most}: out of bounds",
                f"end at {most}: a smaller start or count, or a longer {dim.name}",
            )
        if max(count, most) > MOST and piece.elements:
            raise Mistake(
                box.count[d].place,
                f"{who} has more than {MOST} elements along {dim.name}, which MPI's types cannot count",
                "cut the dimension in two",
            )


def _check_memory(piece: Piece, room: Room) -> None:
    memory = piece.access.buffer.memory
    if memory is None:
        return
    count = piece.count + (1,) * (len(memory.extents) - len(piece.count))
    for place, extent, first, n in zip(
        memory.extents, room.extents, room.start, count, strict=True
    ):
        if first < 0 or first + n > extent:
            raise Mistake(
                place.place,
                f"rank {piece.rank}: {piece.access.buffer.name} has {extent} elements along"
                f" {ex.key(place)}, {first} to {first + n} are moved",
                "make the memory's extent as large as its first element and the count say",
            )


def _check_buffers(point: Point, pieces: list[Piece], rooms: dict[tuple[int, int], Room]) -> None:
    """A buffer that says its size holds all that is moved."""
    needs: dict[tuple[int, int], int] = {}
    for piece in pieces:
        at = (id(piece.access), piece.rank)
        if piece.access.buffer.memory is not None:
            needs[at] = prod(rooms[at].extents)
        else:
            needs[at] = needs.get(at, 0) + piece.elements
    accesses = {id(access): access for access in point.accesses}
    for (one, rank), elements in needs.items():
        room = rooms[one, rank].elements
        if room is not None and elements > room:
            buffer = accesses[one].buffer
            raise Mistake(
                buffer.place,
                f"rank {rank}: {buffer.name} has {room} elements, {elements} are moved",
                "make the buffer larger, or the counts smaller",
            )


def _check_cover(
    spec: Spec, variable: Variable, written: list[Piece], length: dict[str, int], nprocs: int
) -> None:
    of_variable = [p for p in written if p.access.variable is variable]
    cover = Cover(extents(variable, length), of_variable)
    fault = cover.fault()
    if fault is None or (not fault.ranks and spec.option("gaps", "refuse") == "fill"):
        return
    region = " x ".join(f"{s}..{s + c - 1}" for s, c in zip(fault.start, fault.count, strict=True))
    raise _fault(variable, fault, region, nprocs, cover.picture(fault.start) if cover.exact else "")


def _fault(variable: Variable, fault: Fault, region: str, nprocs: int, picture: str) -> Mistake:
    if fault.place is not None:
        who = " and ".join(map(str, sorted(set(fault.ranks))))
        ranks = (
            f"ranks {who} both write" if len(set(fault.ranks)) > 1 else f"rank {who} writes twice"
        )
        return Mistake(
            fault.place.access.place,
            f"with {nprocs} processes {ranks} {variable.name}[{region}]: they overlap",
            "cut the variable so that each element has one writer",
            picture,
        )
    return Mistake(
        variable.place,
        f"with {nprocs} processes no rank writes {variable.name}[{region}]: a gap",
        "write all of it, or say `gaps: fill;` in the options to have it filled",
        picture,
    )
