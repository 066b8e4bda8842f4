"""Runs grown from a recorded one: as the packer makes them, each rank and repetition doing what a real one did."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import grown, invariants, needs, paths, tables

RANKS, CALLS = 64, 40_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chombo through HDF5 on 4 ranks."""
    needs.require(needs.of_mpi("mpich"))
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "data").mkdir()
    words = [
        "mpiexec.mpich", "-n", "4", paths.FATHOM, "run", "--no-show", "--layers", "+mpi", "-o", folder / "chombo", "--",
        paths.BUILD / "kernels" / "chombo_hdf5_mpich", "-l", "1", folder / "data",
    ]  # fmt: skip
    subprocess.run(words, capture_output=True, timeout=120, check=True)
    tables.pack(folder / "chombo.fathom")
    return folder / "chombo.fathom"


@pytest.fixture(scope="module")
def made(recorded: Path) -> grown.Grown:
    """64 ranks."""
    files = f"{recorded.parent}/data/*"
    return grown.grow(recorded, recorded.parent / "grown.fathom", RANKS, CALLS, files)


def rows(run: Path, sql: str) -> Any:
    return tables.ask(tables.opened(run), sql)


def test_it_is_as_all_runs_are(made: grown.Grown) -> None:
    assert made.ranks == RANKS and made.calls >= CALLS
    assert invariants.broken(tables.opened(made.path), finished=True, whole=True) == []
    assert rows(made.path, "select events, ranks_seen, (select count(*) from calls) from runs") == [
        [made.calls, RANKS, made.calls]
    ]
    below = """select count(*) from calls c join (select parent, sum(duration) as below from calls group by parent) p
        on p.parent = c.id where below <> nested"""
    assert rows(made.path, below) == [[0]]
    overlapping = """select count(*) from (
        select *, lead(start) over (partition by stream, depth order by start) as next from calls
    ) where next < start + duration"""
    assert rows(made.path, overlapping) == [[0]]


def test_counters_are_the_sums_of_its_calls(made: grown.Grown) -> None:
    differing = """with summed as (
        select c.process, c.file, c.layer, c.op, p.op as enclosing, count(*) as n, sum(coalesce(c.bytes, 0)) as bytes,
            sum(c.duration) as time, min(c.duration) as least, max(c.duration) as most, min(c.start) as first,
            max(c.start + c.duration) as last
        from calls c left join calls p on p.id = c.parent group by all
    )
    select count(*), count(*) filter (
        s.n = o.calls and s.bytes = o.bytes and s.time = o.time and least = shortest and most = longest
        and first = first_start and last = last_stop
    )
    from counters o full join summed s on s.process = o.process and s.file is not distinct from o.file
        and s.layer = o.layer and s.op = o.op and s.enclosing is not distinct from o.enclosing"""
    ((keys, alike),) = rows(made.path, differing)
    assert keys == alike > RANKS


def test_each_rank_does_what_a_recorded_one_did(recorded: Path, made: grown.Grown) -> None:
    with_trees = """select c.rank, list(c.op order by c.id) from calls c semi join (
            select distinct process, call from calls where file in (select file from files where path glob '{}')
        ) using (process, call) where c.rank is not null group by c.rank order by c.rank"""
    once = rows(recorded, with_trees.format(f"{recorded.parent}/data/*"))
    many = rows(made.path, with_trees.format("*"))
    assert len(many) == RANKS
    for rank, ops in many:
        assert ops == once[rank % 4][1] * made.repetitions


def test_ranks_write_to_places_of_their_own(recorded: Path, made: grown.Grown) -> None:
    """Where those that were recorded did."""
    several = """select count(*) from (
        select file, file_offset, bytes from calls
        where layer = 'posix' and kind = 'write' and file in (select file from files where path glob '{}/data/*')
        group by all having count(distinct rank) > 1
    )"""
    assert rows(recorded, several.format(recorded.parent)) == [[0]]
    assert rows(made.path, several.format(recorded.parent)) == [[0]]


def test_what_has_no_calls_to_copy_is_refused(recorded: Path, tmp_path: Path) -> None:
    with pytest.raises(grown.CannotGrow, match="no rank made a call on a file /nowhere"):
        grown.grow(recorded, tmp_path / "no", RANKS, CALLS, "/nowhere/*")
    assert not (tmp_path / "no").exists()
