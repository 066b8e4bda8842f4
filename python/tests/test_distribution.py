"""What `fathom patterns` recognises, made again element by element from its directives, is what was touched."""

import random
from pathlib import Path
from typing import Any

import decompositions
import fathom
import pytest
from decompositions import RANKS, Decomposition, Tables
from expansion import expand, is_regular, to_bytes
from fathom.analysis.distribution.patterns import patterns
from fathom.analysis.distribution.shapes import _shape, fitting, nests_of
from fathom.errors import DamagedRun
from fathom.pages import patterns as view
from schema import counters_of, write_run


def seeds(count: int) -> list[Any]:
    """Two at each change, the others with the long tests: each seed is decompositions of its own."""
    return [pytest.param(n, marks=[pytest.mark.full] if n > 1 else []) for n in range(count)]


def recognised(directory: Path, tables: Tables) -> dict[str, list[dict[str, Any]]]:
    rows = tables.rows
    run = write_run(
        directory,
        runs=[{"ranks": RANKS, "duration": 1_000_000}],
        processes=[{"process": r, "rank": r, "ranks": RANKS} for r in range(RANKS)],
        streams=[{"stream": r, "process": r, "events": tables.seq[r] + 1} for r in range(RANKS)],
        counters=counters_of(rows["calls"]),
        **rows,
    )
    content = view.as_json(patterns(fathom.open(run)), "r", None)
    by_stem: dict[str, list[dict[str, Any]]] = {}
    for one in content["patterns"]:
        by_stem.setdefault(Path(one["path"]).stem, []).append(one)
    return by_stem


@pytest.mark.parametrize("seed", seeds(8))
def test_hyperslabs(tmp_path: Path, seed: int) -> None:
    """40 decompositions each, by selections: all are recognised, and exactly."""
    draw = random.Random(seed)
    tables = Tables()
    arrays = [decompositions.decomposition(draw, f"a{i}") for i in range(40)]
    for one in arrays:
        decompositions.hdf5(tables, one, draw)
    patterns_of = recognised(tmp_path / "r.fathom", tables)
    for one in arrays:
        (pattern,) = patterns_of[one.name]
        assert is_regular(pattern), (one, pattern)
        assert expand(pattern) == one.elements(), (one.kinds, one.extents, pattern["hpf"])


@pytest.mark.parametrize("seed", seeds(5))
def test_particles_are_irregular(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    tables = Tables()
    arrays = [decompositions.particles(draw, f"a{i}") for i in range(12)]
    for one in arrays:
        decompositions.hdf5(tables, one, draw)
    for name, (pattern,) in recognised(tmp_path / "r.fathom", tables).items():
        kinds = [dimension["kind"] for dimension in pattern["distribution"]["dimensions"]]
        assert kinds == ["IRREGULAR"], name
        assert "IRREGULAR" in pattern["key"]


def bytes_of(one: Decomposition, shift: int = 0) -> dict[int, set[int]]:
    return {
        rank: {
            shift + first + i
            for first, count in decompositions.byte_runs(one, rank)
            for i in range(count)
        }
        for rank in one.parts
    }


@pytest.mark.parametrize("seed", seeds(4))
def test_offsets(tmp_path: Path, seed: int) -> None:
    """By offsets alone: what is recognised is exact; blocks and whole dimensions always are."""
    draw = random.Random(seed)
    tables = Tables()
    small = {"longest": (100, 20, 6, 3), "elements": (1, 1, 4)}
    arrays = [decompositions.decomposition(draw, f"a{i}", **small) for i in range(20)]
    arrays += [
        decompositions.decomposition(draw, f"b{i}", ("block", "whole"), **small) for i in range(20)
    ]
    for one in arrays:
        decompositions.posix(tables, one, draw)
    patterns_of = recognised(tmp_path / "r.fathom", tables)
    for one in arrays:
        regular = [pattern for pattern in patterns_of[one.name] if is_regular(pattern)]
        assert regular or one.name.startswith("a"), (
            one.kinds,
            one.extents,
            patterns_of[one.name][0]["hpf"],
        )
        if regular:
            together: dict[int, set[int]] = {rank: set() for rank in one.parts}
            for pattern in patterns_of[one.name]:
                for rank, some in to_bytes(pattern).items():
                    together[rank] |= some
            assert together == bytes_of(one), (one.kinds, one.extents, regular[0]["hpf"])


@pytest.mark.parametrize("seed", seeds(4))
def test_views(tmp_path: Path, seed: int) -> None:
    """Through views that are subarrays, those of more than 64 blocks known by their hash only: all, and exactly."""
    draw = random.Random(seed)
    tables = Tables()
    arrays = [
        decompositions.decomposition(
            draw, f"a{i}", decompositions.LINES, (50, 200, 24, 8), (1, 1, 4)
        )
        for i in range(20)
    ]
    for one in arrays:
        decompositions.view(tables, one, draw)
    assert sum(not row["exact"] for row in tables.rows["selections"]) > 5
    patterns_of = recognised(tmp_path / "r.fathom", tables)
    for one in arrays:
        (pattern,) = patterns_of[one.name]
        assert is_regular(pattern), (one.kinds, one.extents, pattern)
        shift = min(
            row["displacement"]
            for row in tables.rows["selections"]
            if row["selection"] in _used(tables, one)
        )
        assert to_bytes(pattern) == bytes_of(one, shift), (one.kinds, one.extents, pattern["hpf"])


def _used(tables: Tables, one: Decomposition) -> set[int]:
    file = next(row["file"] for row in tables.rows["files"] if Path(row["path"]).stem == one.name)
    return {row["selection"] for row in tables.rows["calls"] if row["file"] == file}


@pytest.mark.parametrize(
    "wrong",
    [{"part_levels": [1, 1]}, {"part_count": [2, 2]}, {"part_bytes": None}, {"exact": True}],
    ids=str,
)
def test_lists_that_do_not_fit_together_are_damage(wrong: dict[str, Any]) -> None:
    row = {
        "selection": 7, "total": 64, "form": "bytes", "exact": False, "hash": 1, "box_count": [640],
        "block_start": [0, 8], "block_count": [8], "displacement": 0, "period": 640,
        "part_start": [0], "part_bytes": [8], "part_levels": [1], "part_count": [8], "part_stride": [80],
    }  # fmt: skip
    (known,) = nests_of(row)
    assert known.run == 8
    with pytest.raises(DamagedRun, match="row 7: its lists do not fit together"):
        fitting(_shape, row | wrong)
