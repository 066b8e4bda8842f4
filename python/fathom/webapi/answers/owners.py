"""Which part of each variable each rank moves at each I/O point, as numbers, whether or not that is right."""

from typing import Any

from fathom.codegen.generate.analysis.pieces import Piece, lengths, pieces_of
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.spec import Point, Spec

#: Boxes of one variable that a picture has.
MOST = 4096


def owners(spec: Spec, nprocs: int) -> list[dict[str, Any]]:
    """One row for each variable of each point: dimensions with lengths; boxes as rank, starts, counts."""
    values = spec.values(nprocs)
    try:
        by_point = [pieces_of(point, nprocs, values) for point in spec.points]
        length = lengths(spec, values, [piece for pieces in by_point for piece in pieces])
    except Mistake:
        return []
    return [
        row
        for point, pieces in zip(spec.points, by_point, strict=True)
        for row in _of_point(point, pieces, length)
    ]


def _of_point(point: Point, pieces: list[Piece], length: dict[str, int]) -> list[dict[str, Any]]:
    rows = []
    for variable in point.variables():
        owned = [p for p in pieces if p.access.variable is variable and p.elements]
        rows.append(
            {
                "point": " ".join(filter(None, (point.kind, point.name))),
                "variable": variable.name,
                "dimensions": [
                    {"name": d.name, "length": length[d.name]} for d in variable.dimensions
                ],
                "boxes": [[p.rank, *p.start, *p.count] for p in owned[:MOST]],
                "all": len(owned),
            }
        )
    return rows
