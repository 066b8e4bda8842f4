"""What the self-check reads: every variable, cut along its slowest dimension, whoever wrote what; what was written
where gaps are filled, since nobody gave these a value to compare with."""

from dataclasses import replace

from fathom.codegen.generate.analysis.pieces import lengths, pieces_of
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.spec import Access, Box, Buffer, Dimension, Point, Spec, Variable


def read_all(spec: Spec) -> Point:
    """An I/O point that reads all variables in even pieces, or what was written."""
    if spec.option("gaps", "refuse") == "fill":
        written = [access for p in spec.points if p.kind == "write" for access in p.accesses]
        accesses = [_again(number, access) for number, access in enumerate(written)]
    else:
        accesses = [_slab(spec, v) for v in spec.variables.values()]
    return Point("read", "pieces", tuple(accesses), spec.points[0].block)


def _again(number: int, access: Access) -> Access:
    """What an access wrote, into a buffer of its own."""
    return replace(access, buffer=Buffer(f"all_{number}", None, None, access.place))


def _slab(spec: Spec, variable: Variable) -> Access:
    place = variable.place
    first, *rest = variable.dimensions
    length = _length(spec, first)
    rank, nprocs = ex.Name(place, "rank"), ex.Name(place, "nprocs")

    def part(index: ex.Expression) -> ex.Expression:
        return ex.Call(place, "div", (ex.Binary(place, "*", length, index), nprocs))

    begin = part(rank)
    end = part(ex.Binary(place, "+", rank, ex.Number(place, 1)))
    zero = ex.Number(place, 0)
    start = (begin, *(zero for _ in rest))
    count = (ex.Binary(place, "-", end, begin), *(_length(spec, d) for d in rest))
    buffer = Buffer(f"all_{variable.name}", None, None, place)
    return Access(place, variable, None, (Box(start, count),), buffer)


def _length(spec: Spec, dim: Dimension) -> ex.Expression:
    """Of records: as many as the points make, with the first number of processes."""
    if dim.length is not None:
        return ex.Name(dim.place, dim.name)
    nprocs = spec.processes[0]
    values = spec.values(nprocs)
    pieces = [piece for p in spec.points for piece in pieces_of(p, nprocs, values)]
    return ex.Number(dim.place, lengths(spec, values, pieces)[dim.name])
