"""The tables of `fathom show` against numbers worked out by hand, and by brute force."""

import json
import random
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.__main__ import main
from fathom.analysis import collectives, summary
from schema import counters_of, write_run

NS = 1e-9


def rows_by(table: Any, *keys: str) -> dict[Any, dict[str, Any]]:
    return {tuple(row[key] for key in keys): row for row in table.to_pylist()}


def test_layers_add_up(run_directory: Path) -> None:
    layers = rows_by(summary.layers(fathom.open(run_directory)), "layer")
    assert set(layers) == {("hdf5",), ("mpiio",), ("posix",)}
    mpiio, posix, hdf5 = layers["mpiio",], layers["posix",], layers["hdf5",]
    assert hdf5["exclusive_seconds"] == pytest.approx(200 * NS)
    assert mpiio["inclusive_seconds"] == pytest.approx(3800 * NS)
    # 3800 less pwrite 500, seal 50, pwrite 2500: the seal is Fathom's, not MPI-IO's.
    assert mpiio["exclusive_seconds"] == pytest.approx(750 * NS)
    assert posix["exclusive_seconds"] == pytest.approx(3500 * NS)
    assert (posix["calls"], posix["errors"], posix["bytes"]) == (3, 1, 164)
    # MPI-IO: [100, 900) and [500, 3500); POSIX: [200, 700), [600, 3100), [1500, 2000).
    assert mpiio["busy_seconds"] == pytest.approx(3400 * NS)
    assert mpiio["share"] == pytest.approx(3400 / 4000)
    assert posix["busy_seconds"] == pytest.approx(2900 * NS)
    assert posix["mb_per_s"] == pytest.approx(164 / 2900 * 1e3)


def test_functions_keep_posix_from_mpiio_apart(run_directory: Path) -> None:
    functions = rows_by(summary.functions(fathom.open(run_directory)), "op", "caller")
    assert functions["pwrite", "mpiio"]["calls"] == 2
    assert functions["pwrite", "mpiio"]["longest_seconds"] == pytest.approx(2500 * NS)
    assert functions["pread", "program"]["bytes"] == 100
    assert ("seal", "mpiio") not in functions


def test_percentiles_are_of_calls_that_ended(tmp_path: Path) -> None:
    calls = [
        {"id": n, "layer": "posix", "op": "pread", "kind": "read", "start": n, "duration": n}
        | {"state": "done" if n <= 100 else "unfinished"}
        for n in range(1, 111)
    ]
    run = fathom.open(write_run(tmp_path / "r.fathom", runs=[{}], calls=calls))
    (row,) = summary.percentiles(run).to_pylist()
    assert (row["op"], row["calls"], row["seconds"]) == ("pread", 100, pytest.approx(5050 * NS))
    said = [row[f"{name}_seconds"] / NS for name in ("p50", "p90", "p99", "longest")]
    assert said == pytest.approx([50, 90, 99, 100])


def test_ranks_and_who_is_slowest(run_directory: Path) -> None:
    run = fathom.open(run_directory)
    ranks = summary.ranks(run)
    assert [row["rank"] for row in ranks.to_pylist()] == [0, 1]
    assert ranks["seconds"].to_pylist() == pytest.approx([1500 * NS, 3000 * NS])
    spread = rows_by(summary.spread(run), "quantity")
    assert spread["seconds",]["slowest"] == 1
    assert spread["seconds",]["median"] == pytest.approx(2250 * NS)
    assert spread["bytes",]["slowest"] == 0


def test_one_transfer_in_three_layers_is_one(run_directory: Path) -> None:
    files = rows_by(summary.files(fathom.open(run_directory)), "path")
    assert files["/data/in",]["bytes_read"] == 100
    assert files["/data/out\x1b[2J.h5",]["bytes_written"] == 64


def test_a_run_without_calls(tmp_path: Path) -> None:
    run = fathom.open(write_run(tmp_path / "none.fathom", runs=[{"duration": 0}]))
    assert summary.layers(run).num_rows == 0
    assert summary.spread(run).num_rows == 0


def union(intervals: list[tuple[int, int]]) -> int:
    return len({tick for start, stop in intervals for tick in range(start, stop)})


@pytest.mark.parametrize("seed", range(20))
def test_union_of_intervals_equals_counting_every_tick(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    calls = [
        {
            "id": number,
            "layer": dice.choice(["posix", "mpiio"]),
            "op": "x",
            "depth": 0,
            "process": (process := dice.randrange(3)),
            "stream": process * 4 + dice.randrange(4),
            "start": dice.randrange(-50, 400),
            "duration": dice.choice([0, 1, 5, 30, 200]),
        }
        for number in range(dice.randrange(1, 60))
    ]
    # One thread's outermost calls never overlap.
    free: dict[int, int] = {}
    for call in sorted(calls, key=lambda c: c["start"]):
        call["start"] = max(call["start"], free.get(call["stream"], -1000))
        free[call["stream"]] = call["start"] + call["duration"]
    run = fathom.open(
        write_run(tmp_path / "r.fathom", runs=[{}], calls=calls, counters=counters_of(calls))
    )
    spans: dict[str, dict[Any, list[tuple[int, int]]]] = {"layer": {}, "process": {}}
    for call in calls:
        for key, merged in spans.items():
            interval = (call["start"], call["start"] + call["duration"])
            merged.setdefault(call[key], []).append(interval)
    for layer, intervals in spans["layer"].items():
        got = run.sql("from busy_layer($layer)", layer=layer)["busy"].to_pylist()
        assert got == [union(intervals)]
    rows = run.sql("from busy_processes(false, false)").to_pylist()
    expected = {who: union(intervals) for who, intervals in spans["process"].items()}
    assert {row["process"]: row["busy"] for row in rows} == expected


@pytest.mark.parametrize("seed", range(10))
def test_union_of_calls_that_cannot_overlap_is_their_sum(tmp_path: Path, seed: int) -> None:
    """One thread's calls, of which some hold others; then the same beside those of another thread, or process."""
    dice = random.Random(seed)
    calls: list[dict[str, Any]] = []
    at = 0
    for number in range(1, 60, 2):
        at += dice.randrange(30)
        took = dice.randrange(4, 40)
        layer = dice.choice(["posix", "mpiio"])
        inner = dice.choice(["posix", "mpiio"])
        common = {"op": "x", "kind": "write", "process": 0, "stream": 0}
        calls.append(
            common | {"id": number, "layer": layer, "start": at, "duration": took, "depth": 0}
        )
        calls.append(
            common
            | {
                "id": number + 1,
                "parent": number,
                "layer": inner,
                "start": at + 1,
                "duration": 2,
                "depth": 1,
            }
        )
        at += took
    other = {
        "id": 100,
        "layer": "posix",
        "op": "x",
        "kind": "write",
        "depth": 0,
        "start": 5,
        "duration": 300,
    }
    beside = [other | {"process": 0, "stream": 1}, other | {"process": 1, "stream": 2}]
    for number, more in enumerate([[], beside[:1], beside[1:]]):
        every = [*calls, *more]
        rows = counters_of(every)
        for row in rows[len(calls) :]:
            row["thread_class"] = "other" if row["process"] == 0 else "main"
        run = fathom.open(
            write_run(tmp_path / f"{number}.fathom", runs=[{}], calls=every, counters=rows)
        )
        for row in summary.layers(run).to_pylist():
            of_layer = [
                (c["start"], c["start"] + c["duration"])
                for c in every
                if c["layer"] == row["layer"]
            ]
            assert round(row["busy_seconds"] / NS) == union(of_layer)


def test_union_over_many_row_groups(tmp_path: Path) -> None:
    # 400,000 calls of 7 ns, one each 10 ns, written out of order; every tenth is 25 ns long.
    places = [n * 7919 % 400_000 for n in range(400_000)]
    one = {"id": 1, "parent": None, "layer": "posix", "op": "x", "kind": "write"}
    one |= {"start": 0, "duration": 7}
    directory = write_run(tmp_path / "r.fathom", runs=[{}], calls=[one])
    path = next((directory / "tables" / "calls").iterdir())
    row = pq.read_table(path)
    columns = {name: pa.repeat(row[name][0], len(places)) for name in row.column_names}
    columns["start"] = pa.array([10 * place for place in places])
    columns["duration"] = pa.array([25 if place % 10 == 0 else 7 for place in places])
    pq.write_table(pa.table(columns), path, row_group_size=10_000)
    got = fathom.open(directory).sql("from busy_layer('posix')")["busy"].to_pylist()
    # A long one fills its own 10 ns and the next, and of the third nothing that the third does not.
    assert got == [40_000 * (10 + 10 + 7 + 7 * 7)]


def test_system_calls_are_found_below_the_variables_they_serve(tmp_path: Path) -> None:
    def call(id: int, parent: int | None, layer: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": id, "parent": parent, "layer": layer, "op": "x", "kind": kind, **more}

    objects = [
        {"object": 1, "file": 7, "class": "netcdf_variable", "name": "/t", "extents": [4, 2]},
        {"object": 2, "file": 7, "class": "hdf5_dataset", "name": "/t", "element_bytes": 8},
        {"object": 3, "file": 7, "class": "hdf5_file", "name": "/f"},
    ]
    calls = [
        call(1, None, "netcdf", "write", object=1, bytes=64, duration=90, collective=0),
        call(2, 1, "hdf5", "write", object=2, bytes=64, duration=80),
        call(3, 2, "mpiio", "write", bytes=64),
        call(4, 3, "posix", "read", bytes=512),
        call(5, 3, "posix", "write", bytes=512),
        call(6, 2, "posix", "write", bytes=10),
        call(7, 2, "posix", "meta"),
        # The dataset directly, in another process, and a write of no variable.
        call(8, None, "hdf5", "read", object=2, bytes=16, duration=5, process=1),
        call(9, 8, "posix", "read", bytes=20),
        call(10, None, "hdf5", "meta", object=3),
        call(11, 10, "posix", "write", bytes=1000),
        call(12, None, "posix", "write", bytes=3),
    ]
    run = fathom.open(write_run(tmp_path / "r.fathom", runs=[{}], objects=objects, calls=calls))
    by_variable = rows_by(summary.variables(run), "layer", "variable")
    assert set(by_variable) == {("netcdf", "/t"), ("hdf5", "/t")}
    netcdf, hdf5 = by_variable["netcdf", "/t"], by_variable["hdf5", "/t"]
    assert (netcdf["writes"], netcdf["bytes_written"], netcdf["collective"]) == (1, 64, 1)
    below = ("system_calls", "system_read", "system_written")
    assert [netcdf[key] for key in below] == [3, 512, 522]
    assert (hdf5["reads"], hdf5["writes"], hdf5["processes"]) == (1, 1, 2)
    assert [hdf5[key] for key in below] == [4, 532, 522]
    assert hdf5["seconds"] == pytest.approx(85 * NS)


def test_files_come_before_what_libraries_talk_by(tmp_path: Path) -> None:
    names = ["socket:[7]", "/f", "anon_inode:[eventpoll]"]
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{}],
            files=[
                {"file": n, "path": path, "kind": "socket" if "socket" in path else None}
                for n, path in enumerate(names)
            ],
            counters=[
                {"file": n, "layer": "posix", "op": "read", "kind": "read", "calls": 1}
                | {"time": 100 - n, "thread_class": "main"}
                for n in range(len(names))
            ],
        )
    )
    assert summary.files(run)["path"].to_pylist() == ["/f", "socket:[7]", "anon_inode:[eventpoll]"]


def test_the_cost_has_the_time_around_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program of 10 ms, for which `fathom run` took 50."""
    run = write_run(
        tmp_path / "r.fathom",
        runs=[{"name": "r", "started": 10**9, "duration": 10**7}],
        processes=[{"process": 0, "stop": 10**7}],
    )
    said = json.loads((run / "run.json").read_text())
    said |= {"start_ns": 10**9 - 3 * 10**7, "end_ns": 10**9 + 2 * 10**7}
    (run / "run.json").write_text(json.dumps(said))
    assert main(["show", str(run), "--all"]) == 0
    assert "; 40 ms at most before the program and after it" in capsys.readouterr().out


def test_what_was_posted_of_a_variable_moved_when_it_was_waited_for(tmp_path: Path) -> None:
    """Two posts, of which one was cancelled; the wait is of no variable."""
    post = {"layer": "pnetcdf", "op": "ncmpi_iput_vara", "kind": "post", "object": 1, "size": 64}
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{}],
            files=[{"file": 7, "path": "/f.nc"}],
            objects=[{"object": 1, "file": 7, "class": "pnetcdf_variable", "name": "t"}],
            calls=[
                {"id": 1, **post},
                {"id": 2, **post},
                {"id": 3, "layer": "pnetcdf", "op": "ncmpi_wait_all", "kind": "wait", "bytes": 64},
            ],
            links=[
                {"from_call": 3, "to_call": 1, "kind": "completes", "bytes": 64},
                {"from_call": 3, "to_call": 2, "kind": "completes", "bytes": 0},
            ],
        )
    )
    (row,) = summary.variables(run).to_pylist()
    assert (row["writes"], row["bytes_written"], row["reads"], row["bytes_read"]) == (2, 64, 0, 0)


def test_raw_data_is_told_from_metadata_by_the_call_of_the_file_driver(tmp_path: Path) -> None:
    def call(id: int, parent: int | None, layer: str, op: str, **more: Any) -> dict[str, Any]:
        kind = "write" if op in ("pwrite", "MPI_File_write_at") else "meta"
        return {
            "id": id,
            "parent": parent,
            "layer": layer,
            "op": op,
            "kind": kind,
            "file": 7,
            **more,
        }

    calls = [
        call(1, None, "hdf5", "H5Dwrite"),
        call(2, 1, "hdf5", "H5FD_write"),
        call(3, 2, "mpiio", "MPI_File_write_at", bytes=64),
        call(4, 3, "posix", "pwrite", bytes=64, duration=5),
        call(5, 3, "posix", "pwrite", bytes=36, duration=4),
        # metadata below the same call of the program; a driver that stands on another; an external file
        call(6, 1, "hdf5", "H5FD_write"),
        call(7, 6, "hdf5", "H5FD_write"),
        call(8, 7, "posix", "pwrite", bytes=8, duration=1),
        call(9, 1, "posix", "pwrite", bytes=1000),
    ]
    args = [
        {"call": 2, "name": "mem_type", "value": 3},
        {"call": 6, "name": "mem_type", "value": 3},
        {"call": 7, "name": "mem_type", "value": 6},
    ]
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{}],
            calls=calls,
            args=args,
            files=[{"file": 7, "path": "/f.h5"}],
            ops=[{"layer": "hdf5", "op": "H5FD_write", "tracked": False, "collective": False}],
        )
    )
    rows = rows_by(summary.memory(run), "memory")
    assert {key: (row["writes"], row["bytes_written"]) for key, row in rows.items()} == {
        ("raw data",): (2, 100),
        ("metadata",): (1, 8),
    }


def test_regions_are_no_io_but_hold_it(tmp_path: Path) -> None:
    def call(
        id: int, parent: int | None, layer: str, op: str, start: int, took: int, **more: Any
    ) -> dict[str, Any]:
        depth = more.pop("depth", 0)
        row = {"id": id, "parent": parent, "layer": layer, "op": op, "start": start}
        return {**row, "duration": took, "kind": "meta", "depth": depth, "stream": 0, **more}

    calls = [
        call(1, None, "user", "step", 0, 1000),
        call(2, 1, "user", "put", 100, 500, depth=1),
        call(3, 2, "hdf5", "H5Dwrite", 200, 300, depth=2),
        call(4, 3, "posix", "pwrite", 250, 100, depth=3, bytes=10),
        call(5, 1, "posix", "fsync", 700, 50, depth=1),
        call(6, None, "posix", "close", 2000, 7),
        call(7, None, "user", "here", 3000, 0),
    ]
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{"duration": 4000}],
            calls=calls,
            counters=counters_of(calls),
            processes=[{"process": 0, "rank": 0}],
        )
    )
    assert set(rows_by(summary.layers(run), "layer")) == {("hdf5",), ("posix",)}
    functions = rows_by(summary.functions(run), "op", "caller")
    assert set(functions) == {
        ("H5Dwrite", "program"),
        ("pwrite", "hdf5"),
        ("fsync", "program"),
        ("close", "program"),
    }
    regions = rows_by(summary.regions(run), "region")
    own = {name: row["own_seconds"] / NS for (name,), row in regions.items()}
    assert own == pytest.approx({"step": 50, "put": 300, "here": 0})
    assert regions["here",]["own_share"] is None
    assert regions["put",]["own_share"] == pytest.approx(0.6)
    (rank,) = summary.ranks(run).to_pylist()
    assert rank["seconds"] / NS == pytest.approx(357)
    assert rank["busy_seconds"] / NS == pytest.approx(357)
    assert rank["calls"] == 3


def counter(
    process: int, enclosing: str | None, layer: str, op: str, time: int, **more: Any
) -> Any:
    """A row of `counters`: below an MPI-IO function, or called by the program."""
    around = {"enclosing_layer": "mpiio", "enclosing": enclosing} if enclosing else {}
    row = {"process": process, "thread_class": "main", "layer": layer, "op": op, "calls": 1}
    return {**row, **around, "kind": "comm", "time": time, "longest": time, **more}


def mpi_run(folder: Path, counters: list[Any]) -> Any:
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": 9000}],
            counters=counters,
            processes=[{"process": 0, "rank": 0}, {"process": 1, "rank": 1}],
            files=[{"file": 0, "kind": "regular"}, {"file": 1, "kind": "socket"}],
            ops=[
                {"layer": "mpiio", "op": op, "kind": kind, "collective": True, "tracked": False}
                for op, kind in (("MPI_File_open", "open"), ("MPI_File_write_all", "write"))
            ],
        )
    )


def opened(process: int, copies: int) -> list[Any]:
    """An open; ROMIO copies the communicator in it."""
    return [
        counter(process, None, "mpiio", "MPI_File_open", 100, kind="open"),
        *(counter(process, "MPI_File_open", "mpi", "MPI_Comm_dup", 60) for _ in range(copies)),
    ]


def test_a_collective_is_exchange_posix_and_the_rest(tmp_path: Path) -> None:
    wrote = [
        counter(0, None, "mpiio", "MPI_File_write_all", 1000, kind="write"),
        counter(0, "MPI_File_write_all", "mpi", "MPI_Waitall", 500),
        counter(0, "MPI_File_write_all", "mpi", "MPI_Alltoall", 200),
        counter(0, "MPI_File_write_all", "posix", "pwrite", 90, file=0, kind="write"),
        counter(0, "MPI_File_write_all", "posix", "read", 70, file=1, kind="read"),
        counter(1, None, "mpiio", "MPI_File_write_all", 1000, kind="write"),
    ]
    run = mpi_run(tmp_path, [*opened(0, 1), *opened(1, 1), *wrote])
    rows = rows_by(collectives.exchange(run), "op")
    row = {key: value / NS for key, value in rows["MPI_File_write_all",].items() if key[-1] == "s"}
    assert row["exchange_seconds"] == pytest.approx(700)
    assert row["posix_seconds"] == pytest.approx(90)  # MPI's own socket is no I/O
    assert row["rest_seconds"] == pytest.approx(1210)
    assert rows["MPI_File_open",]["exchange_seconds"] == pytest.approx(120 * NS)


def test_the_page_says_of_which_calls_a_figure_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that reads and writes alone, and opens together: the exchange is that of opening."""
    wrote = counter(0, None, "mpiio", "MPI_File_write", 1000, kind="write", bytes=8)
    run = mpi_run(tmp_path, [*opened(0, 1), *opened(1, 1), wrote])
    assert main(["show", str(run.path), "--all"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "0 % of MPI-IO's read and write time is collective" in page
    assert "60 % of the time in collective MPI-IO, most of it in MPI_File_open, is exchange" in page
    assert "bytes asked 0 B / 4 B / 8 B" in page


def test_exchange_that_was_not_heard_is_unknown_not_nothing(tmp_path: Path) -> None:
    wrote = counter(1, None, "mpiio", "MPI_File_write_all", 1000, kind="write")
    part = counter(1, "MPI_File_write_all", "mpi", "ompi_fcoll_base_coll_allgather_array", 10)
    run = mpi_run(tmp_path, [*opened(0, 1), *opened(1, 0), wrote, part])
    rows = rows_by(collectives.exchange(run), "op")
    assert rows["MPI_File_write_all",]["exchange_seconds"] is None
    assert rows["MPI_File_write_all",]["rest_seconds"] is None
    assert rows["MPI_File_write_all",]["seen_seconds"] == pytest.approx(10 * NS)
    assert rows["MPI_File_open",]["exchange_seconds"] is None  # of one process it is not known


def test_communication_is_the_programs_own(tmp_path: Path) -> None:
    counters = [
        *opened(0, 1),
        counter(0, None, "mpi", "MPI_Send", 30, bytes=8, calls=2),
        counter(1, None, "mpi", "MPI_Send", 50, bytes=4, errors=1),
    ]
    (row,) = summary.communication(mpi_run(tmp_path, counters)).to_pylist()
    assert (row["op"], row["calls"], row["errors"], row["bytes"]) == ("MPI_Send", 3, 1, 12)
    assert row["seconds"] == pytest.approx(80 * NS)
    assert (row["least_seconds"], row["most_seconds"]) == pytest.approx((30 * NS, 50 * NS))
    assert row["slowest"] == 1


def test_waits_for_threads_are_no_io(tmp_path: Path) -> None:
    wrote = counter(1, "pthread_mutex_lock", "posix", "write", 10, kind="write", bytes=8)
    counters = [
        *opened(0, 1),
        *opened(1, 0),
        counter(0, None, "threads", "pthread_mutex_lock", 500, kind="wait", calls=4),
        counter(1, None, "threads", "pthread_mutex_lock", 300, kind="wait", errors=1),
        wrote | {"enclosing_layer": "threads"},
    ]
    run = mpi_run(tmp_path, counters)
    (row,) = summary.waits(run).to_pylist()
    assert (row["op"], row["calls"], row["errors"], row["processes"]) == (
        "pthread_mutex_lock", 5, 1, 2,
    )  # fmt: skip
    assert row["seconds"] == pytest.approx(800 * NS)
    assert "threads" not in summary.layers(run)["layer"].to_pylist()
    # a signal handler's write, while its thread waited, is the program's I/O
    assert rows_by(summary.functions(run), "op")["write",]["caller"] == "program"
    assert sum(summary.ranks(run)["bytes"].to_pylist()) == 8


def test_columns_and_tables_that_came_later_are_empty_in_older_runs(run_directory: Path) -> None:
    path = run_directory / "tables" / "counters.parquet"
    stored = pq.read_table(path)
    later = {"sequential", "size_histogram"} & set(stored.column_names)
    pq.write_table(stored.drop_columns(sorted(later)), path)
    for name in ("tops", "heat", "samples"):
        (run_directory / "tables" / f"{name}.parquet").unlink(missing_ok=True)
    run = fathom.open(run_directory)
    (row,) = run.sql(
        "select count(sequential) as n, count(size_histogram) as m from counters"
    ).to_pylist()
    assert row == {"n": 0, "m": 0}
    for name in ("tops", "heat", "samples"):
        assert run.sql(f"select count(*) as n from {name}")["n"].to_pylist() == [0]
