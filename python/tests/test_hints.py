"""Hints from distributions: what they mean, for the run's ranks, are the very elements that each rank touched."""

import random
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import decompositions
import numpy as np
import pytest
from decompositions import Decomposition, Indices
from fathom.analysis.distribution.array import distribution
from fathom.analysis.distribution.boxes import Boxes
from fathom.codegen.generate.analysis.pieces import pieces_of
from fathom.codegen.generate.build import read
from fathom.codegen.hints.decomposition import Inexpressible, statements, unrolled
from fathom.codegen.hints.origin import Hints
from fathom.codegen.hints.run import Observed, title_of

RANKS = 16
#: Kinds of dimensions that hints can say whatever the others are.
EXPRESSIBLE = ("block", "gen_block", "balanced", "whole", "inner", "ghosts", "uneven_ghosts")


def runs(some: Indices) -> list[tuple[int, int]]:
    """Intervals of neighbours."""
    cuts = [0, *(i for i, (a, b) in enumerate(pairwise(some), 1) if b != a + 1), len(some)]
    return [(some[a], some[b - 1] + 1) for a, b in pairwise(cuts)]


def boxes(part: tuple[Indices, ...]) -> Boxes:
    if not all(part):
        return np.empty((0, len(part), 2), np.int64)
    return np.array(list(product(*map(runs, part))), np.int64)


def hints(lines: list[str], extents: list[int], ranks: int) -> str:
    """A file of hints that holds nothing but these accesses."""
    dims = "".join(f"d{at}: {extent};\n" for at, extent in enumerate(extents))
    names = ", ".join(f"d{at}" for at in range(len(extents)))
    return (
        f"#begin_options\nprocesses: {ranks};\n#end_options\n#begin_dimensions\n{dims}#end_dimensions\n"
        f"#begin_variables\nv: int8, {len(extents)}, {names};\n#end_variables\n"
        "#begin_read\n" + "\n".join(lines) + "\n#end_read\n"
    )


def meant(lines: list[str], extents: list[int], ranks: int) -> dict[int, set[tuple[int, ...]]]:
    """By rank, every element that the hints give it."""
    spec = read("hints.iog", hints(lines, extents, ranks))
    elements: dict[int, set[tuple[int, ...]]] = {}
    for piece in pieces_of(spec.points[0], ranks, spec.values(ranks)):
        sides = [range(a, a + n) for a, n in zip(piece.start, piece.count, strict=True)]
        elements.setdefault(piece.rank, set()).update(product(*sides))
    return {rank: some for rank, some in elements.items() if some}


def is_expressible(decomposition: Decomposition) -> bool:
    """Whether hints could say it; if so, they say just that."""
    held = {rank: boxes(part) for rank, part in decomposition.parts.items()}
    as_distribution = distribution(decomposition.extents, held, RANKS)
    try:
        of = unrolled(as_distribution)
        names = [f"d{at}" for at in range(len(of.axes))]
        lines = statements(of, names, "v", "b", RANKS, writing=False)
    except Inexpressible:
        return False
    elements = meant(lines, [axis.extent for axis in of.axes], RANKS)
    if len(of.axes) > len(
        as_distribution.axes
    ):  # rounds and what is dealt in each: the same elements in a row
        width = of.axes[1].extent
        elements = {r: {(a * width + b,) for a, b in some} for r, some in elements.items()}
    assert elements == decomposition.elements()
    return True


@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_all_kinds_are_said_exactly(seed: int) -> None:
    draw = random.Random(seed)
    drawn = [
        decompositions.decomposition(draw, f"a{i}", EXPRESSIBLE, (60, 12, 6, 4), room=RANKS)
        for i in range(60)
    ]
    expressible = sum(map(is_expressible, drawn))
    assert expressible > 50


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_said_that_was_not_so(seed: int) -> None:
    draw = random.Random(seed)
    for i in range(60):
        is_expressible(
            decompositions.decomposition(draw, f"a{i}", longest=(60, 12, 6, 4), room=RANKS)
        )


def test_pieces_in_turn_become_rows() -> None:
    parts = {rank: ([n for n in range(64) if n // 4 % 4 == rank],) for rank in range(4)}
    dealt = unrolled(distribution((64,), {r: boxes(p) for r, p in parts.items()}, 4))
    lines = statements(dealt, ["rows", "row"], "v", "b", 4, writing=True)
    assert lines == ["array: *, v, 0, rows, rank * (row / nprocs), row / nprocs, b;"]


def test_a_grid_scales_along_its_slowest_dimension() -> None:
    parts = {
        rank: (list(range(4 * (rank // 2), 4 * (rank // 2) + 4)), [rank % 2]) for rank in range(8)
    }
    grid = distribution((16, 2), {r: boxes(p) for r, p in parts.items()}, 8)
    lines = statements(grid, ["y", "x"], "v", "b", 8, writing=True)
    text = "array: *, v, div(rank, 2) * (y / (nprocs / 2)), y / (nprocs / 2), (rank % 2) * (x / 2), x / 2, b;"
    assert lines == [text]


def test_what_several_ranks_wrote_is_not_said() -> None:
    parts = {rank: (list(range(8)),) for rank in range(4)}
    copies = distribution((8,), {r: boxes(p) for r, p in parts.items()}, 4)
    with pytest.raises(Inexpressible, match="several ranks write the same elements"):
        statements(copies, ["x"], "v", "b", 4, writing=True)
    assert statements(copies, ["x"], "v", "b", 4, writing=False) == ["array: *, v, 0, x, b;"]


@pytest.mark.parametrize(
    ("files", "title"),
    [("/d/flash_chk_*.h5", "flash_chk"), ("/d/s*dck.nc", "sdck"), ("/d/vpic.0.h5", "vpic")],
)
def test_functions_are_called_by_what_files_have_in_common(files: str, title: str) -> None:
    assert title_of(files) == title


@pytest.mark.parametrize(
    ("writes", "words"),
    [(6.0, "6 raw writes of 1 file were"), (2.6, "3 raw writes of 1 file on average were")],
)
def test_calls_that_were_seen_are_whole(writes: float, words: str) -> None:
    """Files of the same use may have had other numbers of them."""
    sketch: Any = SimpleNamespace(left_out=[])
    spec: Any = SimpleNamespace(processes=[4], library="hdf5")
    plan: Any = SimpleNamespace(reading=False, point=SimpleNamespace(kind="write"), raw={4: 1})
    (line,) = Hints(sketch, Observed(1, 0.0, writes)).compared(spec, [plan])
    assert words in line
