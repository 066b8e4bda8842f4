"""Tiles against the calls themselves, by brute force: every zoom adds up, its longest is the longest, by id."""

import itertools
import json
import os
import random
import resource
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fathom.analysis import pictured
from fathom.errors import DamagedRun, UsageError
from fathom.run.store import open_run
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from fathom.webapi.tiles import build
from fathom.webapi.tiles.geometry import BINS, ROWS, Geometry, Zoom
from latency.forest import Forest
from schema import with_own_calls, write_run

Cell = tuple[int, int, str]  # row, bin, op and kind


def decode(
    body: bytes,
) -> tuple[dict[tuple[int, str], dict[str, float]], list[tuple[int, str, int, float]]]:
    """As web/src/source/tile.ts reads it."""
    assert body[:4] == b"FTL1"
    cells, length = struct.unpack_from("<II", body, 4)
    at, columns = 12, []
    for form in "HHIfff":
        columns.append(struct.unpack_from(f"<{cells}{form}", body, at))
        at += cells * struct.calcsize(form)
    ops = ["/".join(pair) for pair in json.loads(body[at : at + length])]
    marks = [
        (cell, ops[op], call, longest)
        for cell, op, call, longest in struct.iter_unpack("<HHQd", body[at + length :])
    ]
    cell, op, *rest = columns
    names = ("calls", "time", "bytes", "longest")
    return {
        (cell[n], ops[op[n]]): {name: column[n] for name, column in zip(names, rest, strict=True)}
        for n in range(cells)
    }, marks


def lanes_of(forest: Forest) -> dict[int, int]:
    order = sorted(
        range(8), key=lambda p: (p + 2 if forest.ranked and p < forest.clients else 99, p)
    )
    return {process: lane for lane, process in enumerate(order)}


def outermost(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those inside another of their layer."""
    return [call for call in with_own_calls(calls) if call["topmost"]]


def expected(
    calls: list[dict[str, Any]], zoom: Zoom, lanes: dict[int, int]
) -> dict[Cell, dict[str, float]]:
    """Bin by bin: how much of each call lies in each cell."""
    cells: dict[Cell, dict[str, float]] = defaultdict(
        lambda: {"calls": 0, "time": 0, "bytes": 0.0, "longest": 0}
    )
    for call in calls:
        start, duration = max(0, call["start"]), call["duration"]
        row = lanes[call["process"]] // zoom.lanes
        last = start + max(1, duration) - 1
        for bin_ in range(start // zoom.width, last // zoom.width + 1):
            inside = min(start + duration, (bin_ + 1) * zoom.width) - max(start, bin_ * zoom.width)
            cell = cells[row, bin_, f"{call['op']}/{call['kind']}"]
            cell["calls"] += bin_ == start // zoom.width
            cell["time"] += inside
            share = inside / duration if duration else 1
            cell["bytes"] += (call["bytes"] or 0) * share
            cell["longest"] = max(cell["longest"], duration)
    return cells


def asked(
    runs: Runs, layer: str, zoom: Zoom, **more: str
) -> tuple[dict[Cell, dict[str, float]], set[int]]:
    """All tiles of a zoom together."""
    cells, ids = {}, set()
    for y in range(-(-zoom.rows // ROWS)):
        for x in range(-(-zoom.bins // BINS)):
            place = {"z": str(zoom.z), "x": str(x), "y": str(y)}
            sums, marks = decode(
                screens.ask(runs, "tile", {"run": "r", "layer": layer, **place, **more})
            )
            for (cell, op), values in sums.items():
                cells[y * ROWS + cell // BINS, x * BINS + cell % BINS, op] = values
            ids |= {call for _, _, call, _ in marks}
    return cells, ids


def check(cells: dict[Cell, dict[str, float]], oracle: dict[Cell, dict[str, float]]) -> None:
    assert cells.keys() == oracle.keys()
    for key, values in cells.items():
        for name in ("calls", "time", "longest"):
            assert values[name] == oracle[key][name], (key, name)
        assert abs(values["bytes"] - oracle[key]["bytes"]) <= 2 * max(1, oracle[key]["calls"] + 3)


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(6))
def test_every_level_is_what_its_calls_are(tmp_path: Path, seed: int) -> None:
    forest = Forest(seed, traced=seed % 2 == 0)
    runs = Runs([forest.write(tmp_path).path])
    zooms = screens.ask(runs, "zooms", {"run": "r"})
    duration = max(call["start"] + call["duration"] for call in forest.calls)
    every = Geometry(duration, 8).zooms(len(zooms["zooms"]) - 1)
    assert zooms["zooms"][-1]["lanes_per_row"] == 1
    assert {one["ready"] for one in zooms["zooms"]} == {True, False}
    for zoom in every:
        for layer in {call["layer"] for call in forest.calls}:
            calls = [call for call in outermost(forest.calls) if call["layer"] == layer]
            cells, ids = asked(runs, layer, zoom)
            check(cells, expected(calls, zoom, lanes_of(forest)))
            assert sum(values["bytes"] for values in cells.values()) == sum(
                c["bytes"] or 0 for c in calls
            )
            longest = max(call["duration"] for call in calls)
            assert ids & {call["id"] for call in calls if call["duration"] == longest}


@pytest.mark.parametrize("seed", range(3))
def test_the_sql_behind_the_picture_gives_the_coarsest_level(tmp_path: Path, seed: int) -> None:
    forest = Forest(seed, traced=False)
    runs = Runs([forest.write(tmp_path).path])
    rows = runs.view("r").rows(screens.ask(runs, "zooms", {"run": "r"})["sql"])
    zoom = Geometry(max(c["start"] + c["duration"] for c in forest.calls), 8).zoom(0)
    cells = {
        (row["layer"], (row["row"], row["bin"], f"{row['op']}/{row['kind']}")): row for row in rows
    }
    shown = {
        (layer, cell): values
        for layer in {call["layer"] for call in forest.calls}
        for cell, values in asked(runs, layer, zoom)[0].items()
    }
    assert cells.keys() == shown.keys()
    for cell, values in shown.items():
        assert all(cells[cell][name] == values[name] for name in values)


@pytest.mark.parametrize(
    "more", [{"files": "0,1"}, {"kinds": "write"}, {"files": "2", "ops": "posix:pwrite"}]
)
def test_a_filter_leaves_what_it_selects(tmp_path: Path, more: dict[str, str]) -> None:
    forest = Forest(7, traced=False)
    runs = Runs([forest.write(tmp_path).path])
    zoom = Geometry(max(c["start"] + c["duration"] for c in forest.calls), 8).zoom(0)
    calls = [
        call
        for call in outermost(forest.calls)
        if call["layer"] == "posix"
        and ("files" not in more or str(call["file"]) in more["files"].split(","))
        and ("kinds" not in more or call["kind"] == "write")
        and ("ops" not in more or call["op"] == "pwrite")
    ]
    assert calls
    check(asked(runs, "posix", zoom, **more)[0], expected(calls, zoom, lanes_of(forest)))


#: Of each layer the calls that no other of it is around, and their time.
BY_LAYER = """
with recursive around as (
    select id, layer, id as inner_id, parent from stored
    union all
    select c.id, c.layer, a.inner_id, c.parent from around as a join stored as c on c.id = a.parent
)
select c.layer, count(*), sum(c.duration) from stored as c
where not exists (from around as a where a.inner_id = c.id and a.id <> c.id and a.layer = c.layer)
group by c.layer
"""


def test_what_is_inside_a_call_of_its_layer_counts_once(tmp_path: Path) -> None:
    made = [
        (1, None, "hdf5", "H5Dwrite", 0, 1000),
        (2, 1, "hdf5", "H5FD_write", 100, 300),
        (3, 2, "posix", "pwrite", 110, 200),
        (4, 1, "hdf5", "H5FD_write", 500, 400),
        (5, 4, "posix", "pwrite", 510, 300),
        (6, None, "hdf5", "H5Fclose", 2000, 500),
    ]
    names = ("id", "parent", "layer", "op", "start", "duration")
    calls = [
        dict(zip(names, row, strict=True)) | {"process": 0, "stream": 0, "kind": "write"}
        for row in made
    ]
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": 3000, "events": len(calls), "processes": 1}],
        processes=[{"process": 0}],
        calls=calls,
    )
    runs = Runs([path])
    stored = duckdb.read_parquet(str(path / "tables" / "calls" / "*.parquet"))
    wanted = stored.query("stored", BY_LAYER).fetchall()
    assert len(wanted) == 2
    for layer, count, time in wanted:
        cells, _ = asked(runs, layer, Geometry(3000, 1).zoom(0))
        assert sum(values["calls"] for values in cells.values()) == count
        assert sum(values["time"] for values in cells.values()) == time
        drawn = pictured.cells(open_run(path), layer).table
        assert (sum(drawn["calls"].to_pylist()), sum(drawn["time"].to_pylist())) == (count, time)
    chosen, _ = asked(runs, "hdf5", Geometry(3000, 1).zoom(0), ops="hdf5:H5FD_write")
    assert sum(values["time"] for values in chosen.values()) == 700


def many(tmp_path: Path, lanes: int, each: int, runtime: int = 0) -> Path:
    """Regular calls of many lanes, one of them long; the first `runtime` lanes are a run-time's."""
    calls = [
        {
            "id": lane * each + n, "process": lane, "stream": lane, "rank": lane, "layer": "posix", "op": "pwrite",
            "kind": "write", "start": n * 1000, "duration": 900 if (lane, n) == (lanes // 2, each // 3) else 10,
            "bytes": 7, "runtime": lane < runtime,
        }
        for lane in range(lanes)
        for n in range(each)
    ]  # fmt: skip
    return write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": each * 1000, "events": len(calls), "processes": lanes}],
        processes=[{"process": lane, "rank": lane} for lane in range(lanes)],
        calls=calls,
    )


def test_levels_add_up_where_rows_hold_many_lanes(tmp_path: Path) -> None:
    lanes, each = 150, 40
    runs = Runs([many(tmp_path, lanes, each)])
    zooms = screens.ask(runs, "zooms", {"run": "r"})
    assert [zoom["lanes_per_row"] for zoom in zooms["zooms"]] == [4, 2, *[1] * 9]
    assert [zoom["rows"] for zoom in zooms["zooms"]] == [38, 75, *[150] * 9]
    assert [zoom["z"] for zoom in zooms["zooms"] if zoom["ready"]] == [0, 1, 2]
    slow = lanes // 2 * each + each // 3
    assert zooms["outliers"][0]["call"] == str(slow)
    for zoom in Geometry(each * 1000, lanes).zooms(4):
        cells, ids = asked(runs, "posix", zoom)
        assert sum(values["calls"] for values in cells.values()) == lanes * each
        assert sum(values["bytes"] for values in cells.values()) == 7 * lanes * each
        assert sum(values["time"] for values in cells.values()) == lanes * each * 10 + 890
        assert slow in ids


@pytest.mark.parametrize("seed", range(2))
def test_rows_of_many_lanes_whose_calls_last_through_many_bins(tmp_path: Path, seed: int) -> None:
    lanes, duration = 150, 2**18
    chance = random.Random(seed)
    calls = [
        {
            "id": 2 * lane + n, "process": lane, "stream": lane, "rank": lane, "layer": "posix", "op": "pwrite",
            "kind": "write", "file": 0, "start": n * duration // 2 + chance.randrange(duration // 4),
            "duration": chance.randrange(duration // 4), "bytes": chance.choice([0, 5, 10**5]),
        }
        for lane in range(lanes)
        for n in range(2)
    ]  # fmt: skip
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": duration, "events": len(calls), "processes": lanes}],
        processes=[{"process": lane, "rank": lane} for lane in range(lanes)],
        calls=calls,
    )
    runs = Runs([path])
    for zoom in Geometry(duration, lanes).zooms(2):
        for more in ({}, {"files": "0"}):  # made before, and worked out when asked for
            cells, ids = asked(runs, "posix", zoom, **more)
            check(cells, expected(calls, zoom, {lane: lane for lane in range(lanes)}))
            assert ids & {max(calls, key=lambda call: call["duration"])["id"]}


def test_tiles_are_made_once_and_anew_of_other_calls(tmp_path: Path) -> None:
    path = many(tmp_path, 3, 5)
    tables = path / "tables"
    file, _ = build.ensure(tables)
    written_at = file.stat().st_mtime_ns
    assert build.ensure(tables)[0].stat().st_mtime_ns == written_at
    part = tables / "calls" / "0.parquet"
    os.utime(part, ns=(1, 1))
    assert not build.TILES.is_current(file, tables)
    assert build.ensure(tables)[0].stat().st_mtime_ns > written_at


def test_what_is_a_run_times_has_tiles_of_its_own(tmp_path: Path) -> None:
    lanes, each = 3, 40
    path = many(tmp_path, lanes, each, runtime=1)
    runs, every = Runs([path]), {"run": "r", "all": "1"}
    ready = [
        [zoom["ready"] for zoom in screens.ask(runs, "zooms", asked_of)["zooms"]]
        for asked_of in ({"run": "r"}, every)
    ]
    assert ready[0] == ready[1] and any(ready[1])
    coarsest = Geometry(each * 1000, lanes).zoom(0)
    for asked_of, calls in (({}, (lanes - 1) * each), ({"all": "1"}, lanes * each)):
        cells, _ = asked(runs, "posix", coarsest, **asked_of)
        assert sum(values["calls"] for values in cells.values()) == calls
    assert build.OF_ALL.is_current(path / "tables" / build.OF_ALL.name, path / "tables")
    assert all("of_all" not in name for name in runs.all["r"].run.tables)


def test_what_killed_makers_left_goes(tmp_path: Path) -> None:
    """But not while another is at work."""
    tables = many(tmp_path, 3, 5) / "tables"
    killed = tables / f"{build.FOLDER}1"
    killed.mkdir()
    (killed / "rows.parquet").touch()
    with build._folder(tables) as at_work:
        build.ensure(tables)
        assert killed.is_dir() and at_work.is_dir()
    build.ensure(tables)
    assert not list(tables.glob(f"{build.FOLDER}*"))


def test_tables_that_are_made_anew_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made of some of both is not taken for theirs: it is made again."""
    tables = many(tmp_path, 3, 5) / "tables"
    deepest, times = build._deepest, []

    def packed(*arguments: Any) -> int:
        times.append(len(times))
        if len(times) < 3:
            os.utime(tables / "calls" / "0.parquet", ns=(1, len(times)))
            assert not build.TILES.is_current(tables / build.TILES.name, tables)
        return deepest(*arguments)

    monkeypatch.setattr(build, "_deepest", packed)
    build.ensure(tables)
    assert len(times) == 3
    assert build.TILES.is_current(tables / build.TILES.name, tables)


def test_where_tables_are_replaced_without_end_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = many(tmp_path, 3, 5) / "tables"
    moments = itertools.count()

    def packed(*_: Any) -> int:
        os.utime(tables / "calls" / "0.parquet", ns=(1, next(moments)))
        return 0

    monkeypatch.setattr(build, "_deepest", packed)
    with pytest.raises(DamagedRun, match="made anew while tiles were made of them; try again"):
        build.ensure(tables)


def test_cells_that_are_more_than_the_memory_are_sorted_on_disk(tmp_path: Path) -> None:
    zooms = Geometry(10**9, 4096).zooms(3)
    with duckdb.connect(":memory:", config={"temp_directory": str(tmp_path)}) as con:
        con.execute("set memory_limit = '90 MiB'; set threads = 2")
        for zoom in zooms:
            con.execute(
                f"create temp table zoom_{zoom.z} as select 'posix' as layer, 'write' as op, 'write' as kind,"
                f" hash(i) % 4096 as row, hash(-i) % {512 << zoom.z} as bin, 1 as calls, i as time, i as bytes,"
                f" i as longest, i as call from range(1_000_000 >> {2 * (zooms[-1].z - zoom.z)}) as r(i)"
            )
        file = tmp_path / "tiles.parquet"
        build._write(con, zooms, "", file)
        place = "(z, layer, y, x, cell)"
        (totals,) = con.sql(
            f"select count(*), count(*) filter (where {place} < before) from"
            f" (select *, lag({place}) over () as before from '{file}')"
        ).fetchall()
    assert totals == (1_328_125, 0)


def test_a_run_that_cannot_be_written_to_has_tiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many(tmp_path, 3, 5)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the test may be root, whom no mode stops
    file, is_temporary = build.ensure(path / "tables")
    assert (
        is_temporary and path not in file.parents and build.TILES.is_current(file, path / "tables")
    )


def test_why_they_could_not_be_written(tmp_path: Path) -> None:
    tables = many(tmp_path, 3, 5) / "tables"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(DamagedRun, match=r"tiles\.parquet: the tiles .* made: File too large$"):
            build.ensure(tables)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [one for one in tables.iterdir() if one.name.startswith(".writing")]


def test_counted_runs_are_drawn_from_heat(tmp_path: Path) -> None:
    width = 10**8
    heat = [
        {"process": lane, "layer": "posix", "operation": op, "start": n * width, "stop": (n + 1) * width,
         "calls": n + 1, "bytes": 100 * lane + n, "time": 5 * n}
        for lane in range(70) for n in range(20) for op in ("read", "write")
    ]  # fmt: skip
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": 20 * width}],
        processes=[{"process": n, "rank": n} for n in range(70)],
        heat=heat,
    )
    runs = Runs([path])
    zooms = screens.ask(runs, "zooms", {"run": "r"})
    assert (zooms["source"], zooms["outliers"]) == ("heat", [])
    for zoom in Geometry(20 * width, 70).zooms(len(zooms["zooms"]) - 1):
        cells, ids = asked(runs, "posix", zoom)
        for name in ("calls", "bytes", "time"):
            assert sum(values[name] for values in cells.values()) == sum(row[name] for row in heat)
        assert not ids
    only = asked(runs, "posix", zoom, kinds="read")[0]
    assert {op for _, _, op in only} == {"read/read"}


@pytest.mark.parametrize(
    "place", [{"z": "99"}, {"x": "70000"}, {"y": "9"}, {"z": "-1"}, {"x": "x"}, {"layer": ""}]
)
def test_places_that_are_not_there(tmp_path: Path, place: dict[str, str]) -> None:
    runs = Runs([many(tmp_path, 3, 5)])
    with pytest.raises(UsageError):
        screens.ask(
            runs, "tile", {"run": "r", "layer": "posix", "z": "0", "x": "0", "y": "0"} | place
        )
