"""Tables that findings of the I/O stack stand on, against brute force over made-up calls."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import fathom
import pytest
from ask_finding import ask
from fathom.analysis import findings
from fathom.catalog.layers import catalog_path
from fathom.run.store import Run
from schema import counters_of, write_run

HEADER = """\
-- title:  All rows
-- layer:  mpiio
-- limit:  none
-- says:   a row
-- lost:   made up
-- sure:   1
-- fix:    nothing
-- seen:   here
"""
MS = 10**6
RANKS = 4
STRETCH = 1000  # bytes that a rank's view covers of every RANKS * STRETCH


@dataclass
class Part:
    """One rank's part of a collective write: what it asked for, and its system calls (first byte, bytes, ns)."""

    first: int
    size: int
    strided: bool
    moves: list[tuple[int, int, int]]

    @property
    def stop(self) -> int:
        """Byte behind the last one asked for."""
        tiles = self.size // STRETCH
        return (
            self.first + (tiles - 1) * RANKS * STRETCH + STRETCH
            if self.strided
            else self.first + self.size
        )


def drawn(random: Random, rank: int) -> Part:
    """Whole stretches of a view, or a piece anywhere near the rank's place, or nothing; moved by itself or not."""
    strided = random.random() < 0.3
    size = random.choice((0, 1, 2, 5)) * STRETCH
    first = rank * STRETCH if strided else random.choice((rank, rank, rank + 1, 0)) * 5 * STRETCH
    part = Part(first, size, strided and size > 0, [])
    if random.random() < 0.7:
        for _ in range(random.randint(0, 3)):
            part.moves.append(
                (random.randint(0, 9), random.randint(1, 10_000), random.randint(1, 99))
            )
    return part


def calls_of(parts: list[Part], collective: int, start: int) -> list[dict[str, Any]]:
    """Rows of `calls`: each rank's write_all and the system calls in it."""
    calls = []
    for rank, part in enumerate(parts):
        id_ = collective * 1000 + rank * 100
        calls.append(
            {"id": id_, "process": rank, "rank": rank, "layer": "mpiio", "op": "MPI_File_write_all"}
            | {"kind": "write", "file": 0, "start": start, "duration": 1000, "size": part.size}
            | {"bytes": part.size, "file_offset": part.first, "collective": collective}
            | {"state": "done", "selection": rank if part.strided else None}
        )
        for n, (first, size, duration) in enumerate(part.moves, 1):
            calls.append(
                {"id": id_ + n, "parent": id_, "process": rank, "rank": rank, "layer": "posix"}
                | {"op": "pwrite", "kind": "write", "file": 0, "start": start, "state": "done"}
                | {"duration": duration, "size": size, "bytes": size, "file_offset": first}
            )
    return calls


def expected(parts: list[Part]) -> dict[str, Any]:
    """The same by looking at every part."""
    before = -1
    interleaved = False
    for part in parts:
        interleaved |= (part.strided and part.stop - part.first > part.size) or part.first < before
        before = max(before, part.stop)
    moved = [sum(size for _, size, _ in part.moves) for part in parts]
    touched = [
        max(first + size for first, size, _ in p.moves) - min(first for first, _, _ in p.moves)
        if p.moves
        else 0
        for p in parts
    ]
    return {
        "ranks": len(parts),
        "asking": sum(part.size > 0 for part in parts),
        "movers": sum(bool(part.moves) for part in parts),
        "asked": sum(part.size for part in parts),
        "moves": sum(len(part.moves) for part in parts),
        "moved": sum(moved),
        "io": max(sum(time for _, _, time in part.moves) for part in parts),
        "interleaved": interleaved,
        "two_phase": any(
            (p.size > 0 and not p.moves)
            or (bytes_ > 0 and p.size == 0)
            or (bytes_ > 1.5 * p.size and p.stop - p.first == p.size)
            or (p.stop - p.first > p.size and bool(p.moves) and extent <= bytes_)
            for p, bytes_, extent in zip(parts, moved, touched, strict=True)
        ),
        "wall": 990,
        "wait": 10,
    }


@pytest.fixture(scope="module")
def many() -> list[list[Part]]:
    """Parts of 300 collective writes."""
    random = Random(5)
    return [[drawn(random, rank) for rank in range(RANKS)] for _ in range(300)]


def rows(run: Path, folder: Path, sql: str) -> list[dict[str, Any]]:
    rule = folder / "rows.sql"
    rule.write_text(HEADER + sql)
    concluded = findings.find(fathom.open(run), [rule])
    assert not concluded.broken
    return [one.values for one in concluded.conclusions]


def test_each_collective_is_what_its_parts_say(many: list[list[Part]], tmp_path: Path) -> None:
    calls = [call for n, parts in enumerate(many) for call in calls_of(parts, n, n * 2000)]
    view = {"form": "bytes", "exact": True, "rank": 1, "unit": 1, "period": RANKS * STRETCH}
    view |= {"total": STRETCH, "box_start": [0], "box_count": [STRETCH], "blocks": 1}
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 10**9, "events": len(calls), "processes": RANKS, "nodes": 1}],
        processes=[{"process": rank, "rank": rank, "pid": rank + 1, "ended": "clean"} for rank in range(RANKS)],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        selections=[
            view | {"selection": rank, "process": rank, "displacement": rank * STRETCH}
            | {"block_start": [0], "block_count": [STRETCH]}
            for rank in range(RANKS)
        ],
        collectives=[
            {"collective": n, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0, "agreed": True}
            | {"group_hash": 7, "ordinal": n, "ranks_expected": RANKS, "ranks_seen": RANKS}
            | {"first_enter": n * 2000, "last_enter": n * 2000 + 10}
            | {"first_leave": n * 2000 + 900, "last_leave": n * 2000 + 1000}
            for n in range(len(many))
        ],
        calls=calls,
        counters=counters_of(calls),
    )  # fmt: skip
    together = rows(run, tmp_path, "select *, null::double as lost from collective_transfers()")
    rows_of = {row["collective"]: row for row in together}
    assert len(rows_of) == len(many)
    for n, parts in enumerate(many):
        want = expected(parts)
        assert {key: rows_of[n][key] for key in want} == want, parts


@pytest.mark.parametrize(
    ("gap", "stall", "is_said"), [(0, 0, True), (5, 0, False), (5, 30, False), (0, 30, True)]
)
def test_a_stall_joins_no_collective_calls(
    tmp_path: Path, gap: int, stall: int, is_said: bool
) -> None:
    """Three writes of 1 ms each, a gap, three more; the last before the gap may stall. In ms."""
    piece = 5 * STRETCH
    parts = [Part(r * piece, piece, False, [(r * piece, piece, 10**5)]) for r in range(RANKS)]
    calls, collectives = [], []
    for n in range(6):
        start = n * 10**6 + (gap + stall) * 10**6 * (n > 2)
        duration = 10**6 + stall * 10**6 * (n == 2)
        for call in calls_of(parts, n, start):
            calls.append(call | ({"duration": duration} if call["layer"] == "mpiio" else {}))
        collectives.append(
            {"collective": n, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0, "agreed": True}
            | {"group_hash": 7, "ordinal": n, "ranks_expected": RANKS, "ranks_seen": RANKS}
            | {"first_enter": start, "last_enter": start}
            | {"first_leave": start + duration, "last_leave": start + duration}
        )  # fmt: skip
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 10**8, "nodes": 1}],
        processes=[{"process": rank, "rank": rank} for rank in range(RANKS)],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        ops=[{"layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": True}],
        collectives=collectives,
        calls=calls,
        counters=counters_of(calls),
    )
    rule = findings.read(catalog_path("findings", "collectives-in-a-row.sql"))
    assert bool(findings.Questions(fathom.open(run)).rows(rule)) == is_said


@pytest.mark.parametrize(
    ("transfers", "hdf5", "advice"),
    [
        (1, "1.14.3", "larger chunks"),
        (6, "1.14.3", "H5Dwrite_multi for datasets of the same moment"),
        (6, "1.10.8", "one dataset with one more dimension"),
    ],
)
def test_calls_that_hdf5_makes_for_each_chunk_are_not_the_programs(
    tmp_path: Path, transfers: int, hdf5: str, advice: str
) -> None:
    """Six collective writes one after another, below one H5Dwrite of each rank or below one each. What an HDF5 has not
    is not advised."""
    piece = 5 * STRETCH
    parts = [Part(r * piece, piece, False, [(r * piece, piece, 10**5)]) for r in range(RANKS)]
    calls: list[dict[str, Any]] = [
        {"id": 10**6 + 10 * rank + n, "process": rank, "layer": "hdf5", "op": "H5Dwrite"}
        | {"kind": "write", "file": 0, "start": 0, "bytes": 0, "duration": 6 * MS // transfers}
        for rank in range(RANKS)
        for n in range(transfers)
    ]
    collectives = []
    for n in range(6):
        for call in calls_of(parts, n, n * MS):
            if call["layer"] == "mpiio":
                own = 10**6 + 10 * call["rank"] + n * transfers // 6
                driver = call["id"] + 50
                more = {"layer": "hdf5", "op": "H5FD_write", "kind": "meta", "depth": 1, "own": own}
                calls.append(call | more | {"id": driver, "parent": own, "collective": None})
                call |= {"duration": MS, "parent": driver, "own": own, "depth": 2}
            calls.append(call)
        collectives.append(
            {"collective": n, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0}
            | {"group_hash": 7, "ordinal": n, "first_enter": n * MS, "last_enter": n * MS}
            | {"first_leave": (n + 1) * MS, "last_leave": (n + 1) * MS}
        )
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 100 * MS, "nodes": 1}],
        processes=[
            {"process": rank, "rank": rank, "libraries": f"HDF5 {hdf5}"} for rank in range(RANKS)
        ],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        ops=[{"layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": True}],
        collectives=collectives,
        calls=calls,
        counters=counters_of(calls),
    )
    asked = findings.Questions(fathom.open(run))
    rule = findings.read(catalog_path("findings", "collectives-in-a-row.sql"))
    (row,) = asked.rows(rule)
    assert asked.advised(rule, row)["fix"].startswith(advice)


@pytest.mark.parametrize(("name", "op"), [("read-modify-write", "write"), ("sieving", "read")])
@pytest.mark.parametrize(("piece", "is_said"), [(128 << 10, True), (400, False)])
def test_many_small_pieces_are_not_advised_where_no_request_was_measured(
    tmp_path: Path, name: str, op: str, piece: int, is_said: bool
) -> None:
    """32 MiB, every other piece of 64 MiB, moved in 128 stretches of one size: that shows no cost of a request."""
    stretch, number, size = 512 << 10, 128, 32 << 20
    common = {
        "process": 0,
        "rank": 0,
        "file": 0,
        "state": "done",
        "size": stretch,
        "bytes": stretch,
    }
    calls = [
        {"id": 0, "layer": "mpiio", "op": f"MPI_File_{op}", "kind": op, "selection": 0, "file_offset": 0}
        | {**common, "start": 0, "duration": 10**9, "size": size, "bytes": size}
    ]  # fmt: skip
    for kind in ("read", "write") if op == "write" else ("read",):
        calls += [
            {"id": len(calls) + n, "parent": 0, "layer": "posix", "op": f"p{kind}", "kind": kind, "depth": 1}
            | {**common, "start": n, "duration": 2 * 10**6, "file_offset": n * stretch}
            for n in range(number)
        ]  # fmt: skip
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 10**9, "nodes": 1}],
        processes=[{"process": 0, "rank": 0}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular", "file_system": "ext4"}],
        selections=[
            {"selection": 0, "form": "bytes", "exact": True, "rank": 1, "unit": 1, "period": 2 * piece}
            | {"total": piece, "box_start": [0], "box_count": [piece], "blocks": 1}
            | {"block_start": [0], "block_count": [piece]}
        ],
        ops=[{"layer": "mpiio", "op": f"MPI_File_{op}", "kind": op}],
        calls=calls,
        counters=counters_of(calls),
    )  # fmt: skip
    rule = findings.read(catalog_path("findings", f"{name}.sql"))
    assert bool(findings.Questions(fathom.open(run)).rows(rule)) == is_said


def test_raw_data_and_metadata_of_hdf5_are_told_apart(tmp_path: Path) -> None:
    """A write of a dataset that moves 3 stretches of raw data and one of metadata, and a close that moves metadata."""
    kinds = [(10, 3), (10, 3), (10, 3), (10, 6), (20, 1)]
    calls: list[dict[str, Any]] = [
        {"id": 10, "layer": "hdf5", "op": "H5Dwrite", "kind": "write", "size": 300, "object": 1},
        {"id": 20, "layer": "hdf5", "op": "H5Fclose", "kind": "close"},
    ]
    for n, (parent, _) in enumerate(kinds):
        calls.append(
            {"id": 100 + n, "parent": parent, "layer": "hdf5", "op": "H5FD_write", "kind": "meta"}
            | {"duration": 5}
        )
        calls.append(
            {"id": 200 + n, "parent": 100 + n, "layer": "posix", "op": "pwrite", "kind": "write"}
            | {"file": 0, "bytes": 100, "duration": 4}
        )
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 10**9, "events": len(calls), "processes": 1, "nodes": 1}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        objects=[{"object": 1, "class": "hdf5_dataset", "name": "/x", "file": 0}],
        args=[{"call": 100 + n, "name": "mem_type", "value": type_} for n, (_, type_) in enumerate(kinds)],
        calls=[{"state": "done", **call} for call in calls],
    )  # fmt: skip
    got = {
        (row["op"], row["raw"]): (row["n"], row["moves"], row["bytes"], row["time"])
        for row in rows(run, tmp_path, "select *, null::double as lost from driver_transfers()")
    }
    assert got == {
        ("H5Dwrite", True): (3, 3, 300, 15),
        ("H5Dwrite", False): (1, 1, 100, 5),
        ("H5Fclose", False): (1, 1, 100, 5),
    }


def test_raw_data_in_large_pieces_are_not_priced_as_smaller_ones(tmp_path: Path) -> None:
    """100 accesses of metadata, a ms each, of which ten are usual, beside raw data in pieces of 16 MiB."""
    pieces = [(3, 16 << 20)] * 4 + [(1, 100)] * 100
    calls: list[dict[str, Any]] = [
        {"id": 10, "layer": "hdf5", "op": "H5Fopen", "kind": "open", "file": 0, "start": 0, "duration": MS},
        {"id": 11, "layer": "hdf5", "op": "H5Dwrite", "kind": "write", "file": 0, "start": MS, "duration": 999 * MS},
    ]  # fmt: skip
    for n, (_, size) in enumerate(pieces):
        one = {"file": 0, "start": 2 * MS + n, "duration": MS + size, "bytes": size, "size": size}
        driver = {"layer": "hdf5", "op": "H5FD_write", "kind": "meta", "parent": 11, "own": 11}
        system = {"layer": "posix", "op": "pwrite", "kind": "write", "parent": 1000 + n, "own": 11}
        calls.append(one | driver | {"id": 1000 + n, "depth": 1})
        calls.append(one | system | {"id": 2000 + n, "depth": 2, "file_offset": n << 24})
    calls = [{"process": 0, "stream": 0, "state": "done", **call} for call in calls]
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 1000 * MS, "events": len(calls), "nodes": 1}],
        processes=[{"process": 0}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        args=[
            {"call": 1000 + n, "name": "mem_type", "value": type_}
            for n, (type_, _) in enumerate(pieces)
        ],
        calls=calls,
        counters=counters_of(calls),
    )
    (row,) = ask(findings.Questions(fathom.open(run)), "metadata-time")
    assert row["lost"] == pytest.approx(0.09 - 0.001, abs=0.002)


@pytest.mark.parametrize(("io", "is_said"), [(2, True), (5, False)])
def test_ranks_that_write_their_own_need_no_collective_calls(
    tmp_path: Path, io: int, is_said: bool
) -> None:
    """10 collective writes of 10 ms each, in which both ranks write a stretch of their own."""
    calls: list[dict[str, Any]] = []
    for n, rank in ((n, rank) for n in range(10) for rank in range(2)):
        one = {"process": rank, "file": 0, "kind": "write", "start": n * 10 * MS, "state": "done"}
        place = {"file_offset": (rank * 10 + n) << 20, "size": 1 << 20, "bytes": 1 << 20}
        above = {"layer": "mpiio", "op": "MPI_File_write_at_all", "duration": 10 * MS}
        calls.append({**one, **place, **above, "id": len(calls) + 1, "collective": n})
        below = {"layer": "posix", "op": "pwrite", "duration": io * MS, "parent": len(calls)}
        calls.append({**one, **place, **below, "id": len(calls) + 1, "depth": 1})
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 100 * MS, "processes": 2, "nodes": 1}],
        processes=[{"process": rank, "rank": rank, "stop": 100 * MS} for rank in range(2)],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        collectives=[
            {"collective": n, "layer": "mpiio", "op": "MPI_File_write_at_all", "file": 0}
            | {"first_enter": n * 10 * MS, "last_enter": n * 10 * MS}
            | {"first_leave": (n + 1) * 10 * MS, "last_leave": (n + 1) * 10 * MS}
            for n in range(10)
        ],
        ops=[
            {"layer": "mpiio", "op": "MPI_File_write_at_all", "kind": "write", "collective": True}
        ],
        calls=calls,
        counters=counters_of(calls),
    )
    found = ask(findings.Questions(fathom.open(run)), "collective-forced")
    assert [round(row["lost"], 6) for row in found] == ([0.08] if is_said else [])


def two_phase(folder: Path, movers: int, blocks: list[int], exchange: Callable[[int], int]) -> Run:
    """Writes of strided views on 4 ranks, of so many blocks of 1 MiB: on each of the first `movers` ranks `exchange` ns
    for the bytes that it receives, then 1 ms and 1 ns a byte at the storage."""
    calls: list[dict[str, Any]] = []
    collectives: list[dict[str, Any]] = []
    block, start = 1 << 20, 0
    for n, each in enumerate(blocks):
        size, share = each * block, RANKS * each * block // movers
        io = MS + share
        duration = exchange(share) + io
        for rank in range(RANKS):
            one = {"process": rank, "rank": rank, "file": 0, "kind": "write", "state": "done"}
            above = {
                "layer": "mpiio", "op": "MPI_File_write_all", "start": start, "duration": duration,
                "size": size, "bytes": size, "collective": n, "selection": rank, "file_offset": rank * block,
            }  # fmt: skip
            calls.append({**one, **above, "id": len(calls) + 1})
            if rank < movers:
                below = {
                    "layer": "posix", "op": "pwrite", "start": start + duration - io, "duration": io, "depth": 1,
                    "size": share, "bytes": share, "file_offset": rank * share, "parent": len(calls),
                }  # fmt: skip
                calls.append({**one, **below, "id": len(calls) + 1})
        end = start + duration
        collectives.append(
            {"collective": n, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0, "ordinal": n}
            | {"ranks_expected": RANKS, "ranks_seen": RANKS, "first_enter": start}
            | {"last_enter": start, "first_leave": end, "last_leave": end}
        )
        start = end + 10 * MS
    view = {"form": "bytes", "exact": True, "rank": 1, "unit": 1, "period": RANKS * block}
    view |= {"total": block, "box_start": [0], "box_count": [block], "blocks": 1}
    run = write_run(
        folder / "some.fathom",
        runs=[{"name": "some", "duration": start, "processes": RANKS, "nodes": 1}],
        processes=[{"process": rank, "rank": rank, "stop": start} for rank in range(RANKS)],
        files=[{"file": 0, "path": "/data/f", "kind": "regular", "file_system": "lustre"}],
        selections=[
            view | {"selection": rank, "process": rank, "displacement": rank * block}
            | {"block_start": [0], "block_count": [block]}
            for rank in range(RANKS)
        ],
        collectives=collectives,
        ops=[{"layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": True}],
        calls=calls,
        counters=counters_of(calls),
    )  # fmt: skip
    return fathom.open(run)


SIZES = [22, 6, 2, 2] * 2


@pytest.mark.parametrize(
    ("blocks", "exchange", "within"),
    [
        pytest.param(SIZES, lambda size: 10 * size, 1.1, id="for its bytes"),
        pytest.param(SIZES, lambda size: 5 * MS + 10 * size, 1.1, id="for both"),
        pytest.param(SIZES, lambda _: 100 * MS, 2.5, id="for each call"),
        pytest.param([2] * 8, lambda size: 5 * size, 4, id="not told apart"),
        pytest.param([2] * 8, lambda _: 200 * MS, 2.1, id="not told apart, for each call"),
    ],
)
def test_more_aggregators_win_what_goes_with_bytes(
    tmp_path: Path, blocks: list[int], exchange: Callable[[int], int], within: float
) -> None:
    """Against the same calls on an aggregator for each rank, where such a store serves four at once."""
    walls = "select sum(wall) / 1e9 as wall from collective_transfers()"
    before = two_phase(tmp_path / "one", 1, blocks, exchange)
    after = two_phase(tmp_path / "four", 4, blocks, exchange)
    won = before.sql(walls)["wall"][0].as_py() - after.sql(walls)["wall"][0].as_py()
    (row,) = ask(findings.Questions(before), "few-aggregators")
    assert won / within <= row["lost"] <= won * within
    assert row["low"] <= won <= 1.05 * row["high"]
    assert not ask(findings.Questions(after), "few-aggregators")


@pytest.mark.parametrize("name", ["few-aggregators", "collectives-in-a-row"])
@pytest.mark.parametrize("seed", range(5))
def test_no_more_is_won_than_was_spent(tmp_path: Path, name: str, seed: int) -> None:
    """Whatever single calls took: a median may be above the mean."""
    chance = Random(seed)
    blocks = [chance.choice((2, 2, 16)) for _ in range(chance.choice((5, 11)))]
    run = two_phase(tmp_path, 1, blocks, lambda _: round(10 ** chance.uniform(0, 9)))
    for row in ask(findings.Questions(run), name):
        assert row["lost"] <= row.get("seconds", row.get("io", 0) + (row.get("exchange") or 0))


def test_hints_that_files_have_in_common_are_lost_once(tmp_path: Path) -> None:
    """Three files with one hint, of which MPI-IO's calls took 5 ms each; another with another."""
    key = ["foo", "foo", "foo", "bar"]
    run = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 100 * MS}],
        files=[{"file": n, "path": f"/data/{n}", "kind": "regular"} for n in range(4)],
        objects=[{"object": n, "file": n, "class": "mpi_file"} for n in range(4)],
        hints_in_force=[
            {"object": n, "file": n, "source": "asked", "key": key[n], "value": "1"}
            for n in range(4)
        ],
        counters=[
            {"layer": "mpiio", "op": "MPI_File_open", "kind": "open", "file": n, "calls": 1}
            | {"time": 5 * MS, "thread_class": "main"}
            for n in range(4)
        ],
    )
    rows = ask(findings.Questions(fathom.open(run)), "hints-lost")
    assert {(row["path"], row["what"], row["seconds"]) for row in rows} == {
        ("3 files, as /data/0", "foo=1 is not known to the MPI library", 0.015),
        ("/data/3", "bar=1 is not known to the MPI library", 0.005),
    }
