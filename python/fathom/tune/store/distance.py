"""How far two patterns are from each other: a distance of mixed features after Gower (Biometrics 27:857, 1971).

Each feature says 0 (alike) to 1; the distance is their mean by weight. docs/pattern-store.md has the weights and where
the threshold comes from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from fathom.tune.store.shape import Shape

#: Above it settings of a neighbour are not taken: bench/transfer.py, whose nearest that did not serve was at 0.108.
THRESHOLD = 0.1
#: What it costs to take one form of a dimension for another; anything else is 1.
FORMS = {
    frozenset(("BLOCK", "GEN_BLOCK")): 0.1,  # blocks all the same, of other sizes
    frozenset(("CYCLIC", "CYCLIC(k)")): 0.5,
    frozenset(("BLOCK", "CYCLIC(k)")): 0.5,  # long pieces in rank order
    frozenset(("GEN_BLOCK", "CYCLIC(k)")): 0.5,
}
#: How two-phase I/O sees the modes: what is posted and waited for together is collective in the end.
MODES = {frozenset(("collective", "nonblocking")): 0.5, frozenset(("collective", "mixed")): 0.5}


@dataclass(frozen=True)
class Feature:
    """One of them."""

    name: str
    weight: float
    apart: Callable[[Shape, Shape], float]


@dataclass(frozen=True)
class Distance:
    """Of two patterns; `parts` of it that are not 0, the largest first."""

    total: float
    parts: tuple[tuple[str, float], ...]

    def words(self) -> str:
        """What differs."""
        return ", ".join(f"{name} {part:.2f}" for name, part in self.parts) or "nothing differs"


def distance(shape: Shape, other: Shape) -> Distance:
    """From 0 to 1. Of an irregular pattern nothing is known, so it is far from everything."""
    if not (shape.parts.regular and other.parts.regular):
        return Distance(1.0, (("irregular", 1.0),))
    whole = sum(feature.weight for feature in FEATURES)
    parts = [(f.name, f.weight * f.apart(shape, other) / whole) for f in FEATURES]
    ordered = sorted((part for part in parts if part[1]), key=lambda part: (-part[1], part[0]))
    return Distance(sum(part for _, part in parts), tuple(ordered))


def _other(one: object, other: object) -> float:
    return float(one != other)


def _mode(shape: Shape, other: Shape) -> float:
    pair = frozenset((shape.parts.mode, other.parts.mode))
    return 0.0 if len(pair) == 1 else MODES.get(pair, 1.0)


def _octaves(one: float, other: float, most: int) -> float:
    """Powers of two between them, through `most`; of what is not known half."""
    if not one or not other:
        return 0.0 if one == other else 0.5
    return min(1.0, abs(log2(one / other)) / most)


def _form(one: str, other: str) -> float:
    return 0.0 if one == other else FORMS.get(frozenset((one, other)), 1.0)


def _laid_out(shape: Shape, other: Shape) -> float:
    """Edits that make one's dimensions the other's, through the longer's number."""
    ours, theirs = shape.parts.laid_out, other.parts.laid_out
    most = max(len(ours), len(theirs))
    return _edits(ours, theirs) / most if most else 0.0


def _edits(ours: Sequence[str], theirs: Sequence[str]) -> float:
    row = [float(place) for place in range(len(theirs) + 1)]
    for count, mine in enumerate(ours, 1):
        before, row[0] = row[0], float(count)
        for place, yours in enumerate(theirs, 1):
            change = before + _form(mine, yours)
            before = row[place]
            row[place] = min(change, before + 1, row[place - 1] + 1)
    return row[-1]


def _dimensions(shape: Shape, other: Shape) -> float:
    few, many = sorted((len(shape.parts.axes), len(other.parts.axes)))
    return 1 - few / many


#: Weights: what decides between two-phase I/O and plain writes weighs most, what settings are scaled by least.
FEATURES = (
    Feature("read or write", 4, lambda a, b: _other(a.parts.direction, b.parts.direction)),
    Feature("collective or not", 4, _mode),
    Feature("distribution", 4, _laid_out),
    Feature("bytes in a piece", 3, lambda a, b: _octaves(a.run_bytes, b.run_bytes, 20)),
    Feature("layer", 2, lambda a, b: _other(a.parts.layer, b.parts.layer)),
    Feature("bytes of a rank", 2, lambda a, b: _octaves(a.rank_bytes, b.rank_bytes, 20)),
    Feature("ghosts, holes, copies", 2, lambda a, b: _other(a.parts.remarks, b.parts.remarks)),
    Feature("datasets", 1, lambda a, b: _octaves(a.arrays, b.arrays, 10)),
    Feature("ranks", 1, lambda a, b: _octaves(a.ranks, b.ranks, 10)),
    Feature("bytes of an element", 1, lambda a, b: _octaves(a.parts.element_bytes, b.parts.element_bytes, 3)),
    Feature("dimensions", 1, _dimensions),
)  # fmt: skip
