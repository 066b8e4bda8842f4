"""The tables that findings share, against what was put in: costs of a made-up store, and a count call by call."""

import math
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.account import prepare
from fathom.analysis.findings import Questions
from schema import counters_of, write_run

LATENCY, PER_BYTE = 300e-6, 2e-9
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
REGULAR = {"kind": "regular", "key": "disk"}


def calls_of(
    sizes: list[int], seed: int = 1, file: int = 0, kind: str = "write"
) -> list[dict[str, Any]]:
    """Calls on a store with a known cost, a fifth up and down, one in a hundred a stall 20 times as long."""
    chance = random.Random(seed)
    out: list[dict[str, Any]] = []
    start = offset = 0
    for size in sizes:
        took = (LATENCY + size * PER_BYTE) * chance.uniform(0.8, 1.2)
        took *= 20 if chance.random() < 0.01 else 1
        out.append(
            {"id": len(out) + file * 10**6, "layer": "posix", "op": kind, "kind": kind, "file": file}
            | {"start": start, "duration": round(took * 1e9), "bytes": size, "file_offset": offset}
            | {"state": "done", "stream": file}
        )  # fmt: skip
        start, offset = start + round(took * 1e9) + 1000, offset + size
    return out


def asked(tmp_path: Path, calls: list[dict[str, Any]], files: list[dict[str, Any]]) -> Questions:
    path = write_run(
        tmp_path / "made.fathom",
        runs=[{"name": "made", "duration": 10**12, "events": len(calls)}],
        processes=[{"process": 0, "ended": "clean"}],
        files=files,
        calls=calls,
        counters=counters_of(calls),
    )
    return Questions(fathom.open(path))


def table(source: Questions, name: str) -> list[dict[str, Any]]:
    prepare(source.run, f"{name}()")
    return list(source.run.sql(f"from {name}()").to_pylist())


def cost(tmp_path: Path, calls: list[dict[str, Any]], *directories: str) -> list[dict[str, Any]]:
    files = [{"file": n, "path": f"/{name}/f"} | REGULAR for n, name in enumerate(directories)]
    rows = table(asked(tmp_path, calls, files), "store_costs")
    return sorted(rows, key=lambda row: (row["file"], row["kind"]))


@pytest.mark.parametrize("seed", range(10))
def test_the_cost_of_an_access_is_found_through_noise_and_stalls(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice(SIZES) for _ in range(400)]
    (row,) = cost(tmp_path, calls_of(sizes, seed), "a")
    assert row["learnt"] == "sizes"
    assert row["latency"] == pytest.approx(LATENCY, rel=0.25)
    assert row["per_byte"] == pytest.approx(PER_BYTE, rel=0.25)
    assert row["half"] == pytest.approx(LATENCY / PER_BYTE, rel=0.4)


def test_one_size_only_borrows_from_the_other_direction_or_directory(tmp_path: Path) -> None:
    reads = calls_of([100_000] * 50, kind="read")
    writes = [row | {"id": row["id"] + 1000} for row in calls_of([1000, 1_000_000] * 50, 2)]
    elsewhere = calls_of([100_000] * 50, 3, file=1)
    rows = cost(tmp_path, reads + writes + elsewhere, "a", "b")
    assert [(row["file"], row["kind"], row["learnt"]) for row in rows] == [
        (0, "read", "direction"),
        (0, "write", "sizes"),
        (1, "write", "system"),
    ]
    for row in rows:
        assert row["latency"] == pytest.approx(LATENCY, rel=0.35)


def test_less_than_a_page_bounds_the_latency_and_a_large_size_alone_says_nothing(
    tmp_path: Path,
) -> None:
    (row,) = cost(tmp_path / "small", calls_of([1024] * 100), "a")
    assert row["learnt"] == "page"
    assert 0.6 * LATENCY < row["latency"] < LATENCY
    assert not cost(tmp_path / "large", calls_of([65536] * 100), "a")


def on_a_disk(tmp_path: Path, calls: list[dict[str, Any]], *paths: str) -> Questions:
    disk = REGULAR | {"file_system": "ext4", "mount": "/"}
    return asked(
        tmp_path, calls, [{"file": n, "path": path} | disk for n, path in enumerate(paths)]
    )


def test_of_one_size_what_no_rate_explains_is_latency(tmp_path: Path) -> None:
    """The store's slowest rate gives the bytes' part; quick files elsewhere on it do not say what is slow here."""
    slow = [
        row | {"duration": 10 * row["duration"]} for row in calls_of([16384] * 100, kind="read")
    ]
    quick = [
        row | {"duration": 1000 + row["bytes"] // 10}
        for row in calls_of([100, 10_000] * 50, 2, 1, "read")
    ]
    rows = table(on_a_disk(tmp_path, slow + quick, "/a/f", "/b/f"), "store_costs")
    here, elsewhere = sorted(rows, key=lambda row: row["file"])
    assert (here["learnt"], elsewhere["learnt"]) == ("rate", "sizes")
    assert 9 * LATENCY < here["latency"] < 12 * LATENCY
    assert elsewhere["latency"] < 0.1 * LATENCY


def test_a_file_is_shared_by_processes_that_have_it_at_the_same_time(tmp_path: Path) -> None:
    calls = calls_of([4096] * 10)
    last = calls[-1]["start"]
    behind = [row | {"process": 1, "start": row["start"] + 2 * last} for row in calls]
    beside = [row | {"process": 1, "file": 1} for row in calls]
    both = calls + behind + [row | {"file": 1} for row in calls] + beside
    assert table(on_a_disk(tmp_path, both, "/a/f", "/a/g"), "shared_files") == [{"file": 1}]


def test_accesses_of_one_file_can_be_joined_each_pass_over_it_by_itself(tmp_path: Path) -> None:
    twice = calls_of([1024] * 100) + calls_of([1024] * 100, 2)
    once = [calls_of([1024], n, n)[0] for n in range(1, 11)]
    names = [f"/a/f.{n}" for n in range(11)]
    rows = table(on_a_disk(tmp_path, twice + once, *names), "small_accesses")
    (both,) = (row for row in rows if row["file"] == 0)
    assert both["least"] == pytest.approx(2 * math.ceil(100 * 1024 / both["piece"]), rel=0.01)
    assert [row["least"] for row in rows if row["file"]] == [1] * 10


def test_accesses_as_large_as_the_pieces_advised_are_not_small(tmp_path: Path) -> None:
    """Each waits a second here: half of an access of 500 MB."""
    calls = calls_of([1 << 20, 64 << 20] * 20)
    slow = [row | {"duration": row["duration"] + 10**9} for row in calls]
    rows = table(on_a_disk(tmp_path, slow, "/a/f"), "small_accesses")
    assert [(row["bytes"], row["piece"]) for row in rows] == [(20 << 20, 16 << 20)]


def test_a_few_sizes_below_a_page_that_stalled_say_nothing_of_bytes(tmp_path: Path) -> None:
    calls = calls_of([64] * 500 + [40, 224, 544])
    for call in calls[-3:]:
        call["duration"] = 4 * 10**6
    (row,) = cost(tmp_path, calls, "a")
    assert row["learnt"] == "page"
    assert 0.8 * LATENCY < row["latency"] < 1.2 * LATENCY
    assert row["half"] > 64


def test_cost_from_counters_is_that_from_calls(tmp_path: Path) -> None:
    """At level `file` a row of counters is a point: each file has accesses of a size of its own."""
    calls = [
        row
        for n, size in enumerate(SIZES)
        for row in calls_of([size] * 100, n, file=n)
        if row["duration"] < 10 * (LATENCY + size * PER_BYTE) * 1e9
    ]
    files = [{"file": n, "path": f"/a/{'abcde'[n]}"} | REGULAR for n in range(len(SIZES))]
    sums: dict[int, dict[str, Any]] = {}
    for row in counters_of(calls):
        into = sums.setdefault(row["file"], row | {"calls": 0, "bytes": 0, "time": 0, "recorded": 0})  # fmt: skip
        for key in ("calls", "bytes", "time"):
            into[key] += row[key]
    path = write_run(
        tmp_path / "counted.fathom",
        runs=[{"name": "counted", "duration": 10**12}],
        files=files,
        counters=list(sums.values()),
    )
    rows = table(Questions(fathom.open(path)), "store_costs")
    assert len(rows) == len(SIZES)
    assert rows[0]["latency"] == pytest.approx(LATENCY, rel=0.15)
    assert rows[0]["per_byte"] == pytest.approx(PER_BYTE, rel=0.15)


def by_hand(calls: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Accesses, bytes, ns by thread, file, direction, size, alignment and place: one call after the other."""
    sums: dict[tuple[Any, ...], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    regions = {row["id"] for row in calls if row["layer"] == "user"}
    before: dict[int, tuple[int, int | None]] = {}
    for row in sorted(calls, key=lambda row: (row["stream"], row["start"])):
        if row["layer"] != "posix" or row["kind"] not in ("read", "write"):
            continue
        if row["error"] or not row["bytes"]:
            continue
        offset, end = row["file_offset"], None
        if offset is not None:
            end = offset + row["bytes"]
        file, ended = before.get(row["stream"], (-1, None))
        place = None
        if file == row["file"] and ended is not None and offset is not None:
            place = "on" if offset == ended else "ahead" if offset > ended else "back"
        before[row["stream"]] = (row["file"], end)
        aligned = None if end is None else offset % 4096 == 0 and end % 4096 == 0
        own = row["depth"] == 0 or row["parent"] in regions
        key = (
            row["stream"],
            row["file"],
            row["kind"],
            int(math.log2(row["bytes"])),
            aligned,
            place,
            own,
        )
        n, size, time = sums[key]
        sums[key] = (n + 1, size + row["bytes"], time + row["duration"])
    return dict(sums)


@pytest.mark.parametrize("seed", range(20))
def test_accesses_are_what_a_count_call_by_call_gives(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    calls: list[dict[str, Any]] = []
    for stream in range(3):
        start, offset = 0, 0
        for n in range(chance.randint(0, 60)):
            size = chance.choice((0, 1, 100, 4096, 8192, 5000))
            where = chance.choice((offset, offset, offset + 4096, 0, 4096, None))
            parent = chance.choice(calls)["id"] if calls and chance.random() < 0.4 else None
            calls.append(
                {
                    "id": stream * 1000 + n,
                    "stream": stream,
                    "layer": chance.choice(("posix", "posix", "posix", "user", "mpiio")),
                    "op": "x",
                    "kind": chance.choice(("read", "write", "write", "sync")),
                    "file": chance.choice((0, 0, 0, 1)),
                    "start": start,
                    "duration": chance.randint(1, 10**6),
                    "bytes": size,
                    "file_offset": where,
                    "error": int(chance.random() < 0.1),
                    "state": "done",
                    "parent": parent,
                    "depth": int(parent is not None),
                }
            )
            start += chance.randint(1, 10**6)
            offset = (where or 0) + size
    files = [{"file": n, "path": f"/a/{n}"} | REGULAR for n in range(2)]
    ordered = sorted(calls, key=lambda row: (row["stream"], row["start"]))
    rows = table(asked(tmp_path, ordered, files), "accesses")
    by_call = {
        tuple(row[key] for key in ("stream", "file", "kind", "bin", "aligned", "place", "own")): (
            row["n"],
            row["bytes"],
            row["time"],
        )
        for row in rows
    }
    assert len(by_call) == len(rows)
    assert by_call == by_hand(calls)


@pytest.mark.parametrize("regions", [False, True])
def test_turns_of_thousands_of_calls_are_those_of_neighbours(tmp_path: Path, regions: bool) -> None:
    """Reads of 100 us, two of three after something else; in some stretches most calls are inside of them."""
    calls: list[dict[str, Any]] = []
    start = turns = gap = 0
    for n in range(600):
        parent = len(calls) if regions and n % 7 == 0 else None
        if parent is not None:
            calls.append(
                {
                    "layer": "user",
                    "op": "step",
                    "kind": "region",
                    "start": start,
                    "duration": 100_000,
                }
            )
        own = len(calls)
        calls.append({"layer": "posix", "op": "read", "kind": "read", "file": 0, "start": start, "duration": 100_000}
            | {"parent": parent, "depth": int(parent is not None)})  # fmt: skip
        for _ in range(60 if n // 50 % 3 == 1 else n % 3):
            calls.append({"layer": "posix", "op": "lseek", "kind": "seek", "start": start, "duration": 10}
                | {"parent": own, "depth": calls[own]["depth"] + 1})  # fmt: skip
        turns += gap > 0
        gap = 0 if n % 3 == 1 else 100_000
        start += 100_000 + gap
    rows = [
        {"id": n, "stream": 0, "thread": 1, "bytes": 1, "state": "done", "parent": None, "depth": 0}
        | row
        for n, row in enumerate(calls)
    ]
    path = write_run(
        tmp_path / "made.fathom",
        runs=[{"name": "made", "duration": start, "events": len(rows)}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/a/f"} | REGULAR],
        calls=rows,
        counters=counters_of(rows),
    )
    (gaps,) = Questions(fathom.open(path)).rows(findings.read(*findings.rules(["idle-gaps"])))
    assert gaps["n"] == turns
    assert gaps["each"] == pytest.approx(1e-4)
    assert gaps["gap"] == pytest.approx(1e-4)
