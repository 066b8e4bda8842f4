"""Who owns what of a variable: overlaps, gaps, and a picture of both."""

from dataclasses import dataclass

import numpy as np

from fathom.codegen.generate.analysis.pieces import Numbers, Piece

CELLS = 1 << 24  # of the grid of all borders; beyond, only the number of elements is compared
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
WIDE, HIGH = 48, 16  # of a picture, at most


@dataclass(frozen=True)
class Fault:
    """A box that no rank has (ranks empty), or that several have."""

    start: Numbers
    count: Numbers
    ranks: tuple[int, ...]
    place: Piece | None


class Cover:
    """The grid that the borders of all pieces make; each cell knows how many pieces hold it."""

    def __init__(self, shape: Numbers, pieces: list[Piece]) -> None:
        self.shape = shape
        self.pieces = [p for p in pieces if p.elements]
        ends = [self._ends(d) for d in range(len(shape))]
        self.edges = [np.unique([0, shape[d], *low, *high]) for d, (low, high) in enumerate(ends)]
        cells = 1
        for edge in self.edges:
            cells *= max(len(edge) - 1, 1)
        self.exact = cells <= CELLS
        self.grid = np.zeros(
            [len(edge) - 1 for edge in self.edges] if self.exact else [0], np.int32
        )
        if self.exact and self.pieces:
            sides = [self._slices(edge, *end) for edge, end in zip(self.edges, ends, strict=True)]
            for box in zip(*sides, strict=True):
                self.grid[box] += 1

    def _ends(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Along a dimension: where each piece begins, and where it ends."""
        low = np.array([p.start[d] for p in self.pieces], np.int64)
        return low, low + np.array([p.count[d] for p in self.pieces], np.int64)

    @staticmethod
    def _slices(edge: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[slice]:
        """Cells that each piece holds."""
        first, last = np.searchsorted(edge, low).tolist(), np.searchsorted(edge, high).tolist()
        return list(map(slice, first, last))

    def fault(self) -> Fault | None:
        """The first overlap, else the first gap."""
        if not self.exact:
            moved = sum(p.elements for p in self.pieces)
            whole = int(np.prod([float(n) for n in self.shape]))
            return Fault(self.shape, self.shape, (), None) if moved < whole else None
        for wrong in (self.grid > 1, self.grid == 0):
            if wrong.any():
                return self._describe(tuple(int(i) for i in np.argwhere(wrong)[0]))
        return None

    def _describe(self, cell: Numbers) -> Fault:
        start = tuple(int(e[i]) for e, i in zip(self.edges, cell, strict=True))
        count = tuple(int(e[i + 1] - e[i]) for e, i in zip(self.edges, cell, strict=True))
        owners = [p for p in self.pieces if _holds(p, start)]
        ranks = tuple(p.rank for p in owners)
        return Fault(start, count, ranks, owners[-1] if owners else None)

    def picture(self, at: Numbers) -> str:
        """The two dimensions along which the variable is cut most, through the element `at`."""
        order = sorted(range(len(self.shape)), key=lambda d: (-len(self.edges[d]), -self.shape[d]))
        down, across = (*sorted(order[:2]), *([0] if len(order) == 1 else []))[:2]
        one = len(self.shape) == 1
        rows = [0] if one else _samples(self.edges[down], HIGH)
        lines = []
        for row in rows:
            line = ""
            for column in _samples(self.edges[0 if one else across], WIDE):
                where = list(at)
                where[0 if one else across] = column
                if not one:
                    where[down] = row
                line += self._letter(tuple(where))
            lines.append(f"  |{line}|")
        return "\n".join([*lines, "  digits and letters: ranks; . no rank; # several"])

    def _letter(self, where: Numbers) -> str:
        owners = [p for p in self.pieces if _holds(p, where)]
        if len(owners) > 1:
            return "#"
        return LETTERS[owners[0].rank % len(LETTERS)] if owners else "."


def _holds(piece: Piece, where: Numbers) -> bool:
    return all(s <= w < s + c for s, c, w in zip(piece.start, piece.count, where, strict=True))


def _samples(edges: np.ndarray, most: int) -> list[int]:
    """Places along a dimension: every one of a short one, else evenly spread, borders seen where there is room."""
    length = int(edges[-1])
    if length <= most:
        return list(range(length))
    return [i * length // most for i in range(most)]
