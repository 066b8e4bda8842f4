"""fathom import darshan: modules that no sample log has, in logs that Darshan's own library writes: DFS, DAOS, APXC,
the rest of APMPI, and those that are left out. The judge is PyDarshan, where it reads them."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fathom.run.store import open_run
from harness import darshan, needs, tables
from harness.darshan import Module, record
from test_import_darshan import Theirs, fathom, imported

POOL, CONTAINER = UUID(int=1 << 100), UUID(int=2 << 90)
PLACE = POOL.bytes + CONTAINER.bytes
ROOT = f"daos://{POOL}/{CONTAINER}"
OBJECT = struct.pack("<QQ", 0xAB, 0xCD)
MIB = 1 << 20
DFS = {
    "OPENS": 4, "LOOKUPS": 2, "READS": 10, "READXS": 2, "NB_READS": 3, "WRITES": 8, "BYTES_READ": 12 * MIB,
    "BYTES_WRITTEN": 8 * MIB, "SIZE_READ_100K_1M": 12, "SIZE_WRITE_100K_1M": 8, "ACCESS1_ACCESS": MIB,
    "ACCESS1_COUNT": 12, "CHUNK_SIZE": MIB, "SLOWEST_RANK": 2, "SLOWEST_RANK_BYTES": 6 * MIB, "F_READ_TIME": 2.0,
    "F_WRITE_TIME": 1.0, "F_META_TIME": 0.5, "F_READ_START_TIMESTAMP": 1.0, "F_READ_END_TIMESTAMP": 5.0,
    "F_SLOWEST_RANK_TIME": 1.5,
}  # fmt: skip
DAOS = {
    "ARRAY_OPENS": 1, "ARRAY_READS": 12, "KV_GETS": 3, "ARRAY_WRITES": 8, "BYTES_READ": 12 * MIB + 30,
    "BYTES_WRITTEN": 8 * MIB, "F_READ_TIME": 1.5, "F_WRITE_TIME": 0.75, "F_META_TIME": 0.1, "ARRAY_CELL_SIZE": 1,
    "ARRAY_CHUNK_SIZE": 4096, "OBJ_OTYPE": 11, "NB_OPS": 5,
}  # fmt: skip
NAMES = {1: "/out/f", 3: "heatmap:DFS"}


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


def imported_run(
    place: Path, modules: Mapping[str, Module], names: Mapping[int, str] = NAMES
) -> tuple[Path, Any]:
    """The run, and PyDarshan on its log."""
    log = darshan.write(place / "made.darshan", modules, names, ranks=4)
    return imported(log, place), Theirs(log)


def marks(run: Path) -> list[str]:
    return [row[0] for row in tables.connect(run).sql("select detail from marks").fetchall()]


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, Any]:
    """A file of DFS, and the object of DAOS that its calls are on."""
    modules = {
        "DFS": Module(1, [record("DFS", 1, -1, DFS, rest=PLACE)]),
        "DAOS": Module(1, [record("DAOS", 2, 0, DAOS, rest=PLACE + OBJECT)]),
    }
    return imported_run(tmp_path, modules)


def test_calls_of_dfs_and_daos_are_pydarshans(stored: tuple[Path, Any]) -> None:
    run, theirs = stored
    expected: Counter[tuple[str, str]] = Counter()
    for module in ("DFS", "DAOS"):
        (counters,) = [one["counters"] for one in theirs.records(module)]
        for what, moved in (("read", "BYTES_READ"), ("write", "BYTES_WRITTEN")):
            expected[(module.lower(), what)] = int(counters[f"{module}_{moved}"])
    select = """
        select layer, kind, sum(calls)::bigint, sum(bytes)::bigint, sum(time)::bigint from counters
        where kind in ('read', 'write') group by all order by all"""
    rows = tables.connect(run).sql(select).fetchall()
    assert {row[:2]: row[3] for row in rows} == expected
    assert [(row[2], row[4]) for row in rows] == [
        (15, 1_500_000_000), (8, 750_000_000), (12, 2_000_000_000), (8, 1_000_000_000),
    ]  # fmt: skip


def test_calls_on_a_container_lie_in_those_of_dfs_on_it(stored: tuple[Path, Any]) -> None:
    run, _ = stored
    base = tables.connect(run)
    inside = "select distinct enclosing_layer from counters where layer = 'daos' and kind in ('read', 'write')"
    assert base.sql(inside).fetchall() == [("dfs",)]
    files = (
        open_run(run).sql("select path, file_system, mount from files order by path").to_pylist()
    )
    assert [tuple(row.values()) for row in files] == [
        (f"{ROOT}/ab.cd", "daos", ROOT), (f"{ROOT}/out/f", "daos", ROOT),
    ]  # fmt: skip
    # What a rank moved is what it asked DFS for, and no more of what that asked DAOS for.
    shown = fathom("show", run, "--by", "rank", "--csv").stdout.splitlines()
    assert (
        sum(int(line.split(",")[shown[0].split(",").index("bytes")]) for line in shown[1:])
        == 20 * MIB
    )
    page = " ".join(fathom("show", run, "--all").stdout.split())
    assert "Which library? DFS (100 % of the I/O time), on DAOS" in page
    assert "(10 dfs_read, 2 dfs_readx)" in page


def test_what_dfs_and_daos_say_of_files_is_shown(stored: tuple[Path, Any]) -> None:
    run, _ = stored
    lines = fathom("show", run, "--by", "hint", "--csv").stdout.splitlines()
    facts = {tuple(line.split(",")[:2]) for line in lines[1:]}
    assert facts >= {
        ("cell_size", "1"), ("chunk_size", "4096"), ("chunk_size", str(MIB)), ("nonblocking", "5"),
        ("nonblocking_reads", "3"), ("object_type", "11"),
    }  # fmt: skip
    (mounted,) = fathom("show", run, "--by", "mount", "--csv").stdout.splitlines()[1:]
    assert mounted.startswith(f"daos,{ROOT},2,")
    assert any(f"{ROOT}/out/f, dfs: rank 2 was slowest, 1.500000 s" in mark for mark in marks(run))


def test_hyperslabs_and_chunks_are_in_the_programs_order(tmp_path: Path) -> None:
    """Darshan has the last dimension first, in HDF5's hyperslabs behind dimensions that are none."""
    every = {
        "WRITES": 3,
        "BYTES_WRITTEN": 4800,
        "F_WRITE_TIME": 0.2,
        "ACCESS1_ACCESS": 1600,
        "ACCESS1_COUNT": 3,
    }
    dataset = every | {
        "ACCESS1_LENGTH_D4": 10, "ACCESS1_LENGTH_D5": 20, "ACCESS1_STRIDE_D4": 1, "ACCESS1_STRIDE_D5": 2,
        "REGULAR_HYPERSLAB_SELECTS": 3, "POINT_SELECTS": 1, "CHUNK_SIZE_D1": 5, "CHUNK_SIZE_D2": 6,
    }  # fmt: skip
    variable = {key: value for key, value in every.items() if key != "WRITES"} | {
        "COLL_WRITES": 3, "ACCESS1_LENGTH_D1": 10, "ACCESS1_LENGTH_D2": 20, "ACCESS1_STRIDE_D1": 3,
        "ACCESS1_STRIDE_D2": 4,
    }  # fmt: skip
    modules = {
        "H5D": Module(2, [record("H5D", 2, 0, dataset, file=1)]),
        "PNETCDF_VAR": Module(1, [record("PNETCDF_VAR", 4, 0, variable, file=3)]),
    }
    names = {1: "/s/a.h5", 2: "/s/a.h5:/d", 3: "/s/b.nc", 4: "/s/b.nc:v"}
    run, _ = imported_run(tmp_path, modules, names)
    select = "select o.name, h.key, h.value from hints_in_force h join objects o using (object) order by all"
    assert tables.connect(run).sql(select).fetchall() == [
        ("/d", "chunk", "6x5"),
        ("/d", "selection_1", "20x10, stride 2x1: 1600 bytes, 3 times"),
        ("/d", "selections", "3 regular, 0 irregular, 1 of points"),
        ("v", "selection_1", "20x10, stride 4x3: 1600 bytes, 3 times"),
    ]


def test_heat_of_dfs_is_its_own(tmp_path: Path) -> None:
    bins = struct.pack("<Qqdqqq4q", 3, 0, 0.5, 2, 0, 0, 0, 7, 5, 0)  # writes, then reads
    modules = {
        "HEATMAP": Module(1, [bins]),
        "DFS": Module(1, [record("DFS", 1, 0, DFS, rest=PLACE)]),
    }
    run, _ = imported_run(tmp_path, modules)
    select = "select layer, operation, sum(bytes)::bigint from heat group by all order by all"
    assert tables.connect(run).sql(select).fetchall() == [("dfs", "read", 5), ("dfs", "write", 7)]


def router(rank: int, group: int, stalls: int) -> bytes:
    return struct.pack("<Qqqqqq", 9, rank, group, 1, 2, 3) + struct.pack(
        "<392Q", *[1] * 391, stalls
    )


def test_routers_of_a_cray_are_summed(tmp_path: Path) -> None:
    head = struct.pack("<QqqqqqqqQ", 9, 0, 4707761685111591494, 2, 2, 2, 1, 1, 77)
    run, theirs = imported_run(
        tmp_path, {"APXC": Module(1, [head, router(0, 1, 5), router(2, 2, 50)])}
    )
    read = theirs.backend.log_get_apxc_record
    read(theirs.log, "APXC", "HEADER")
    sums: Counter[str] = Counter()
    while (one := read(theirs.log, "APXC", "PERF")) is not None:
        for name, count in one["counters"].items():
            sums["FLIT" if "FLIT" in name else "STALL"] += int(count)
    (note,) = [mark for mark in marks(run) if "APXC" in mark]
    assert f"2 routers took {sums['FLIT']} flits and stalled {sums['STALL']} times" in note
    assert "most at group 2, chassis 1, blade 2, node 3, of rank 2" in note


def communicated(rank: int, waited: float) -> bytes:
    """Of APMPI: two barriers."""
    known = darshan.names("apmpi_counter_names")
    calls = [2 * (name == "MPI_BARRIER_CALL_COUNT") for name in known]
    head = struct.pack("<Qq", 7, rank)
    numbers = struct.pack(f"<{len(calls)}q", *calls)
    totals = bytes(8 * len(darshan.names("apmpi_f_mpiop_totaltime_counter_names")))
    synced = bytes(8 * len(darshan.names("apmpi_f_mpiop_synctime_counter_names")))
    return head + numbers + totals + synced + struct.pack("<dd128s", waited, waited, b"node1")


def test_waiting_before_collective_calls_is_told(tmp_path: Path) -> None:
    head = struct.pack("<QqqIxxxxdd", 7, 0, 280520118345, 1, 0.0, 0.0)
    records = [head, *(communicated(rank, 1.25) for rank in range(4))]
    run, _ = imported_run(tmp_path, {"APMPI": Module(1, records)})
    assert "ranks waited 5.000000 s for the last one before collective calls of MPI" in marks(run)


def test_a_module_that_is_left_out_says_how_much_it_is(tmp_path: Path) -> None:
    some = struct.pack("<Qq", 5, 0) + bytes(8 * 11 + 8)
    run, theirs = imported_run(tmp_path, {"BG/Q": Module(2, [some])})
    size = theirs.modules["BG/Q"]["len"]
    assert f"module BG/Q, version 2, is left out; records: 1, bytes in the log: {size}" in marks(
        run
    )


@pytest.mark.parametrize("module", ["DFS", "DAOS", "APXC"])
def test_a_newer_version_is_named(tmp_path: Path, module: str) -> None:
    run, _ = imported_run(tmp_path, {module: Module(99, [bytes(4096)])})
    assert any(f"module {module}, version 99, cannot be read" in mark for mark in marks(run))


def test_a_rank_that_only_synced_has_the_seconds_of_writes(tmp_path: Path) -> None:
    counters = {"OPENS": 1, "FSYNCS": 12, "F_WRITE_TIME": 0.48}
    run, _ = imported_run(tmp_path, {"POSIX": Module(4, [record("POSIX", 1, 2, counters)])})
    select = "select op, calls::int, time::bigint, longest::bigint from counters where kind in ('write', 'sync')"
    assert tables.connect(run).sql(select).fetchall() == [("fsync", 12, 480_000_000, 40_000_000)]
