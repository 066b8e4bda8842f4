"""Runs grown from a recorded one: as the packer makes them, each rank and repetition doing what a real one did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import grown, invariants, tables

RANKS, CALLS = 64, 40_000


def rows(run: Path, sql: str) -> Any:
    return tables.ask(tables.opened(run), sql)


def test_it_is_as_all_runs_are(grown_run: grown.Grown) -> None:
    assert grown_run.ranks == RANKS and grown_run.calls >= CALLS
    assert invariants.broken(tables.opened(grown_run.path), finished=True, whole=True) == []
    assert rows(
        grown_run.path, "select events, ranks_seen, (select count(*) from calls) from runs"
    ) == [[grown_run.calls, RANKS, grown_run.calls]]
    below = """select count(*) from calls c join (select parent, sum(duration) as below from calls group by parent) p
        on p.parent = c.id where below <> nested"""
    assert rows(grown_run.path, below) == [[0]]
    overlapping = """select count(*) from (
        select *, lead(start) over (partition by stream, depth order by start) as next from calls
    ) where next < start + duration"""
    assert rows(grown_run.path, overlapping) == [[0]]


def test_counters_are_the_sums_of_its_calls(grown_run: grown.Grown) -> None:
    differing = """with summed as (
        select c.process, c.file, c.layer, c.op, p.op as enclosing, c.runtime, count(*) as n,
            sum(coalesce(c.bytes, 0)) as bytes, sum(c.duration) as time, min(c.duration) as least,
            max(c.duration) as most, min(c.start) as first, max(c.start + c.duration) as last
        from calls c left join calls p on p.id = c.parent group by all
    )
    select count(*), count(*) filter (
        s.n = o.calls and s.bytes = o.bytes and s.time = o.time and least = shortest and most = longest
        and first = first_start and last = last_stop and s.runtime = o.runtime
    )
    from counters o full join summed s on s.process = o.process and s.file is not distinct from o.file
        and s.layer = o.layer and s.op = o.op and s.enclosing is not distinct from o.enclosing"""
    ((keys, alike),) = rows(grown_run.path, differing)
    assert keys == alike > RANKS


def test_files_of_the_run_time_stay_so(recorded_chombo: Path, grown_run: grown.Grown) -> None:
    theirs = (
        "select distinct path, runtime from files where path like '/etc/romio-hints%' order by path"
    )
    once, many = rows(recorded_chombo, theirs), rows(grown_run.path, theirs)
    assert all(runtime for _, runtime in once + many)
    assert bool(once) == bool(many)


def test_each_rank_does_what_a_recorded_one_did(
    recorded_chombo: Path, grown_run: grown.Grown
) -> None:
    with_trees = """select c.rank, list(c.op order by c.id) from calls c semi join (
            select distinct process, call from calls where file in (select file from files where path glob '{}')
        ) using (process, call) where c.rank is not null group by c.rank order by c.rank"""
    once = rows(recorded_chombo, with_trees.format(f"{recorded_chombo.parent}/data/*"))
    many = rows(grown_run.path, with_trees.format("*"))
    assert len(many) == RANKS
    for rank, ops in many:
        assert ops == once[rank % 4][1] * grown_run.repetitions


def test_what_calls_are_on_is_the_own_of_their_process(grown_run: grown.Grown) -> None:
    """Each number tells one object, or selection, from all others."""
    for name in ("object", "selection"):
        numbered = rows(
            grown_run.path, f"select count(*), count(distinct {name}), max({name}) + 1 from {name}s"
        )
        ((count, distinct, most),) = numbered
        assert count == distinct == most > 0
        of_others = f"select count(*) from calls join {name}s as o using ({name}) where calls.process <> o.process"
        assert rows(grown_run.path, of_others) == [[0]]


def test_ranks_write_to_places_of_their_own(recorded_chombo: Path, grown_run: grown.Grown) -> None:
    """Where those that were recorded did."""
    several = """select count(*) from (
        select file, file_offset, bytes from calls
        where layer = 'posix' and kind = 'write' and file in (select file from files where path glob '{}/data/*')
        group by all having count(distinct rank) > 1
    )"""
    assert rows(recorded_chombo, several.format(recorded_chombo.parent)) == [[0]]
    assert rows(grown_run.path, several.format(recorded_chombo.parent)) == [[0]]


def test_what_has_no_calls_to_copy_is_refused(recorded_chombo: Path, tmp_path: Path) -> None:
    with pytest.raises(grown.CannotGrow, match="no rank made a call on a file /nowhere"):
        grown.grow(recorded_chombo, tmp_path / "no", RANKS, CALLS, "/nowhere/*")
    assert not (tmp_path / "no").exists()
