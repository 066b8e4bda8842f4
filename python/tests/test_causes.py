"""The account of hand-made runs: to which cause each second belongs, what is won, and who shares processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis.account import Account, bar
from fathom.analysis.causes import Bar, Share
from fathom.analysis.findings import Questions, catalog, read
from fathom.pages.account import paint
from fathom.run.store import Run
from schema import write_run

MS = 10**6
FILES = [
    {"file": 0, "path": "/data/f", "kind": "regular", "file_system": "ext4", "mount": "/data"},
    {"file": 1, "path": "/data/g", "kind": "regular", "file_system": "ext4", "mount": "/data"},
]
OPS = [
    {"layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": True},
    {"layer": "mpiio", "op": "MPI_File_write", "kind": "write"},
    {"layer": "hdf5", "op": "H5Dread", "kind": "read"},
    {"layer": "hdf5", "op": "H5Fclose", "kind": "close"},
    {"layer": "posix", "op": "pwrite", "kind": "write"},
    {"layer": "posix", "op": "pread", "kind": "read"},
    {"layer": "mpi", "op": "MPI_Alltoall", "kind": "comm"},
]


def row(layer: str, op: str, kind: str, ms: float, **more: Any) -> dict[str, Any]:
    """Of `counters`: one process's calls of a function."""
    enclosing = more.pop("inside", None)
    inside = {"enclosing_layer": enclosing[0], "enclosing": enclosing[1]} if enclosing else {}
    basis = {"process": 0, "thread_class": "main", "file": 0, "calls": 1, "bytes": 0}
    return basis | {"layer": layer, "op": op, "kind": kind, "time": int(ms * MS)} | inside | more


def made(tmp_path: Path, counters: list[dict[str, Any]], ranks: int = 1, **tables: Any) -> Run:
    processes = [
        {"process": n, "rank": n, "pid": n + 1, "stop": 1000 * MS} | each
        for n, each in enumerate(tables.pop("processes", [{}] * ranks))
    ]
    path = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": 1000 * MS, "processes": len(processes), "nodes": 1}],
        nodes=[{"node": 0, "host": "here"}],
        processes=processes,
        files=tables.pop("files", FILES),
        ops=tables.pop("ops", OPS),
        counters=counters,
        **tables,
    )
    return fathom.open(path)


def causes(run: Run, process: int = 0) -> dict[str, float]:
    """Cause -> ms of one process."""
    rows = run.sql(
        "select cause, sum(time) / 1e6 as ms from account() where process = $process group by cause",
        process=process,
    )
    return {each["cause"]: round(each["ms"], 3) for each in rows.to_pylist() if each["ms"] > 0.0005}


def test_exclusive_times_are_the_causes(tmp_path: Path) -> None:
    """A library's own time, what it asked of MPI, and names."""
    write = ("mpiio", "MPI_File_write_all")
    run = made(
        tmp_path,
        [
            row(*write, "write", 100, bytes=8 << 20),
            row("mpi", "MPI_Alltoall", "comm", 60, inside=write, file=None),
            row("posix", "open", "open", 5),
            row("posix", "fsync", "sync", 7),
        ],
    )
    assert causes(run) == {"exchange": 60, "library": 40, "names": 5, "sync": 7}


def test_what_nobody_asked_for_is_needless(tmp_path: Path) -> None:
    """1 MiB asked for, 64 MiB read: of what is not requests 63 of 64 parts."""
    read = ("hdf5", "H5Dread")
    run = made(
        tmp_path,
        [
            row(*read, "read", 70, bytes=1 << 20),
            row("posix", "pread", "read", 64, inside=read, bytes=64 << 20, calls=64),
        ],
    )
    found = causes(run)
    assert sum(found.values()) == pytest.approx(70)
    assert found["library"] == pytest.approx(6)
    assert found["needless"] > 10 * found["transfer"] > 0


@pytest.mark.parametrize("way", ["read", "write"])
def test_what_a_wait_completes_was_asked_for(tmp_path: Path, way: str) -> None:
    """Posts move nothing; the wait has their bytes, and does not say which way they went."""
    wait = ("pnetcdf", "ncmpi_wait_all")
    run = made(
        tmp_path,
        [
            row("pnetcdf", "ncmpi_iput_vara", "post", 1),
            row(*wait, "wait", 70, bytes=64 << 20),
            row("posix", f"p{way}", way, 64, inside=wait, bytes=64 << 20),
            row("pnetcdf", f"ncmpi_{way}", way, 1, bytes=2 << 20),
        ],
    )
    found = causes(run)
    assert "needless" not in found
    assert found["transfer"] > 0
    rule = next(path for path in catalog() if path.stem == "bytes-unasked")
    assert run.sql(read(rule).sql).num_rows == 0


def test_what_sets_how_a_file_is_looked_at_is_no_name(tmp_path: Path) -> None:
    """Ranks tell each other of their views; only opens, closes and removals are about names."""
    ops = [
        {"layer": "mpiio", "op": "MPI_File_set_view", "kind": "meta", "collective": True},
        {"layer": "mpiio", "op": "MPI_File_get_size", "kind": "meta"},
    ]
    run = made(
        tmp_path,
        [
            row("mpiio", "MPI_File_set_view", "meta", 30),
            row("mpiio", "MPI_File_get_size", "meta", 3),
            row("mpiio", "MPI_File_delete", "meta", 5),
        ],
        ops=OPS + ops,
    )
    assert causes(run) == {"exchange": 30, "library": 3, "names": 5}


def test_others_wait_for_the_storage_of_the_slowest(tmp_path: Path) -> None:
    """In a collective call a rank that moves nothing waits for the one that does, then is exchange left."""
    write = ("mpiio", "MPI_File_write_all")
    run = made(
        tmp_path,
        [
            row(*write, "write", 100, bytes=4 << 20, process=0),
            row("posix", "pwrite", "write", 80, inside=write, bytes=8 << 20, process=0),
            row(*write, "write", 100, bytes=4 << 20, process=1),
        ],
        ranks=2,
    )
    here, there = causes(run, 0), causes(run, 1)
    assert here == there
    assert here["exchange"] == pytest.approx(20)


def test_a_log_whose_parts_are_more_than_the_whole_still_adds_up(tmp_path: Path) -> None:
    write = ("mpiio", "MPI_File_write")
    run = made(
        tmp_path,
        [
            row(*write, "write", 10, bytes=1 << 20),
            row("posix", "pwrite", "write", 25, inside=write, bytes=1 << 20),
            row("posix", "open", "open", 30, file=1),
        ],
    )
    assert sum(causes(run).values()) == pytest.approx(40)


def test_syncs_without_seconds_have_those_of_writes(tmp_path: Path) -> None:
    """As in a log of Darshan: a sync after each write, all of the time in the writes."""
    each = {"calls": 100, "bytes": 100 << 10}
    run = made(
        tmp_path,
        [row("posix", "pwrite", "write", 900, **each), row("posix", "fsync", "sync", 0, calls=100)],
    )
    assert causes(run)["sync"] > 500


def test_what_is_won_is_of_the_slowest_process_then(tmp_path: Path) -> None:
    """100 ms of opens of rank 0 are worth 40: then rank 1 is the slowest. What was taken is not won again."""
    run = made(
        tmp_path,
        [
            row("posix", "open", "open", 100, process=0),
            row("posix", "fsync", "sync", 60, process=1),
        ],
        ranks=2,
    )
    account = Account(run)
    names = frozenset(["names"])
    assert account.most == pytest.approx(0.1)
    assert account.won(names, {}, [0.1]) == [pytest.approx(0.04)]
    assert account.won(names, {}, [0.02]) == [pytest.approx(0.02)]
    assert account.won(names, {"cell_files": [1]}, [0.1]) == [0]
    account.take(names, {}, 0.1)
    assert account.won(names, {}, [0.1]) == [0]
    shown = bar(run)
    assert shown.slowest and shown.median
    assert (shown.slowest.rank, shown.slowest.causes) == (0, {"names": pytest.approx(0.1)})
    assert (shown.median.rank, shown.median.seconds) == (1, pytest.approx(0.06))


@pytest.mark.parametrize(
    ("processes", "median"),
    [([{}, {}, {}], 1), ([{"rank": None}] * 3, 1), ([{}, {}, {"rank": None}], 1)],
)
def test_the_median_is_of_the_slowest_ones_like(
    tmp_path: Path, processes: list[dict[str, Any]], median: int
) -> None:
    """Of ranks a rank; of others none that hardly did any I/O."""
    seconds = [100, 60, 0.5]
    rows = [row("posix", "open", "open", time, process=n) for n, time in enumerate(seconds)]
    shown = bar(made(tmp_path, rows, processes=processes))
    assert shown.median and shown.median.process == median
    alone = bar(made(tmp_path / "alone", rows[::2], processes=[{"rank": None}] * 3))
    assert alone.slowest and alone.median is None


def test_what_ran_one_after_another_is_won_of_each(tmp_path: Path) -> None:
    """Two that follow each other, 100 and 50 ms, beside one of 120: what one of them loses the other loses as well."""
    rows = [row("posix", "open", "open", time, process=n) for n, time in enumerate([100, 50, 120])]
    spans = [(0, 400_000_000), (500_000_000, 900_000_000), (0, 1_000_000_000)]
    processes = [{"rank": None, "start": start, "stop": stop} for start, stop in spans]
    run = made(tmp_path, rows, processes=processes)
    account = Account(run)
    names = frozenset(["names"])
    assert account.most == account.at_most(names) == pytest.approx(0.15)
    assert account.in_turn(names, {}) == pytest.approx(1.25)  # of 120 ms
    # A third of each: 50 ms of the chain, and then the other one is the slowest no longer.
    assert account.won(names, {}, [0.05]) == [pytest.approx(0.05)]
    account.take(names, {}, 0.05)
    assert account.won(names, {}, [0.15]) == [pytest.approx(0.1)]
    slowest = bar(run).slowest
    assert slowest and (slowest.process, slowest.in_turn) == (0, 2)
    assert slowest.seconds == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("path", "won"), [("/data/f", 0.1), ("/data/g", 0), ("/data", 0.1), ("all that there is", 0.1)]
)
def test_what_names_a_path_wins_of_its_files(tmp_path: Path, path: str, won: float) -> None:
    run = made(tmp_path, [row("posix", "open", "open", 100)])
    assert Account(run).won(frozenset(["names"]), {"path": path}, [0.1]) == [pytest.approx(won)]


def test_threads_side_by_side_win_no_more_than_the_run(tmp_path: Path) -> None:
    """Four threads of one process spent 3 s in a run of 1 s."""
    run = made(tmp_path, [row("posix", "open", "open", 3000, calls=400)])
    account = Account(run)
    assert account.most == pytest.approx(1.0)
    assert account.won(frozenset(["names"]), {}, [account.most]) == [pytest.approx(1.0)]


def test_an_open_that_waits_is_no_cost_of_names(tmp_path: Path) -> None:
    """Two opens of 400 s (a named pipe in a log that knows no kinds of files); 1,000 ranks' opens of 20 s."""
    pipe = made(tmp_path / "pipe", [row("posix", "open", "open", 800_000, calls=2)])
    assert set(causes(pipe)) == {"unexplained"}
    opens = [row("posix", "open", "open", 20_000, process=n) for n in range(1000)]
    storm = made(tmp_path / "storm", opens, ranks=1000)
    assert set(causes(storm)) == {"names"}


def test_rules_that_can_find_nothing_are_not_asked(tmp_path: Path) -> None:
    """No library, one process, and nearly all of the time in names."""
    run = made(
        tmp_path,
        [row("posix", "open", "open", 500), row("posix", "pwrite", "write", 5, bytes=4096)],
    )
    asked = Questions(run)
    about = {rule.name for rule in map(read, catalog()) if asked.is_about(rule)}
    assert {"many-files", "open-close-churn", "failed-calls"} <= about
    assert not about & {
        "sync-churn",
        "small-accesses",
        "independent-small",
        "slow-rank",
        "small-posts",
    }


@pytest.mark.parametrize(
    ("allowed", "processors", "shared"),
    [
        (["0-1"] * 4, [2] * 4, {0: (4, 2), 1: (4, 2), 2: (4, 2), 3: (4, 2)}),
        (["0", "1", "2", "3"], [1] * 4, {}),
        (["0-7,9"] * 4, [9] * 4, {}),
        (["0-7"] * 4, [1] * 4, dict.fromkeys(range(4), (4, 1))),  # a container's quota
        (["0", "0", "1-7", "1-7"], [1, 1, 7, 7], {0: (2, 1), 1: (2, 1)}),
        ([None] * 4, [None] * 4, {}),
    ],
)
def test_ranks_that_share_processors(
    tmp_path: Path, allowed: list[str], processors: list[int], shared: dict[int, tuple[int, int]]
) -> None:
    ranks = [
        {
            "allowed": a,
            "allowed_processors": n,
            "processor_time": 10 * MS,
            "processor_wait": 30 * MS,
        }
        for a, n in zip(allowed, processors, strict=True)
    ]
    run = made(tmp_path, [], processes=ranks)
    rows = run.sql("from account_crowded()").to_pylist()
    assert {each["process"]: (each["ranks"], each["processors"]) for each in rows} == shared


def test_ranks_that_follow_each_other_share_nothing(tmp_path: Path) -> None:
    one = {"allowed": "0", "allowed_processors": 1, "processor_time": MS, "processor_wait": MS}
    ranks = [one | {"start": 0, "stop": 10 * MS}, one | {"start": 20 * MS, "stop": 30 * MS}]
    assert made(tmp_path, [], processes=ranks).sql("from account_crowded()").num_rows == 0


@pytest.mark.parametrize(
    ("waited", "threads", "inside"),
    [
        (80, [100], 40),  # 40 ms were outside of I/O calls: the other 40 were inside
        (80, [100, 2], 40),  # another thread that sleeps
        (80, [100, 100], 0),  # whose waiting that was is not known
        (40, [100], 0),  # it may have been outside
        (None, [100], 0),
    ],
)
def test_io_that_waits_for_a_processor(
    tmp_path: Path, waited: int | None, threads: list[int], inside: int
) -> None:
    """A process of 100 ms, of which 60 ms are I/O: 45 ms in syncs, 15 ms in opens."""
    process = {"start": 0, "stop": 100 * MS, "processor_time": 10 * MS}
    process["processor_wait"] = None if waited is None else waited * MS
    counters = [row("posix", "fsync", "sync", 45), row("posix", "open", "open", 15)]
    streams = [{"process": 0, "stream": n, "events": events} for n, events in enumerate(threads)]
    run = made(tmp_path, counters, processes=[process], streams=streams)
    cells = {cause: ms for cause, ms in causes(run).items() if ms}
    left = 1 - inside / 60
    wanted = {"processor": inside, "sync": 45 * left, "names": 15 * left}
    assert cells == pytest.approx({cause: ms for cause, ms in wanted.items() if ms})


def test_what_other_threads_wait_for_a_processor_is_not_the_io_s(tmp_path: Path) -> None:
    """A helper of the MPI library waits for the whole run, behind ranks that spin."""
    process = {"start": 0, "stop": 100 * MS, "processor_time": 95 * MS, "processor_wait": 97 * MS}
    streams = [
        {"process": 0, "stream": 0, "events": 1000, "processor_wait": 2 * MS},
        {"process": 0, "stream": 1, "events": 5, "processor_wait": 95 * MS},
    ]
    counters = [row("posix", "fsync", "sync", 60)]
    assert causes(made(tmp_path, counters, processes=[process], streams=streams)) == {"sync": 60}


def test_the_kernel_splits_what_it_told_of(tmp_path: Path) -> None:
    """Two reads of three have rows: one cold, one warm. A writer was paused. The sums stay what they were."""
    call: dict[str, Any] = {
        "process": 0,
        "thread": 1,
        "layer": "posix",
        "file": 0,
        "bytes": 1 << 20,
    }
    read, write = ({"op": f"p{kind}", "kind": kind} for kind in ("read", "write"))
    calls = [
        call | read | {"id": 1, "start": 0, "duration": 10 * MS, "file_offset": 0},
        call | read | {"id": 2, "start": 10 * MS, "duration": 2 * MS, "file_offset": 0},
        call | write | {"id": 3, "start": 20 * MS, "duration": 20 * MS, "file_offset": 0},
    ]
    event: dict[str, Any] = {"process": 0, "pid": 1, "tid": 1, "device": "8:1"}
    events = [
        event | {"event": "pages", "inode": 7, "at": 0, "bytes": 1 << 20},
        event | {"event": "read", "start": MS, "stop": 8 * MS, "bytes": 1 << 20, "queued": 0},
        event | {"event": "throttled", "start": 22 * MS, "stop": 37 * MS},
    ]
    counters = [
        row("posix", "pread", "read", 17, calls=3, bytes=3 << 20),
        row("posix", "pwrite", "write", 20, bytes=1 << 20),
    ]
    without = made(tmp_path / "without", counters, calls=calls)
    run = made(tmp_path / "with", counters, calls=calls, kernel_events=events)
    sql = "select op, kernel, sum(time) / 1e6 as ms from account() group by op, kernel"
    parts = {(one["op"], one["kernel"]): one["ms"] for one in run.sql(sql).to_pylist()}
    assert parts == pytest.approx(
        {
            ("pread", "device"): 7,
            ("pread", "cache"): 5,
            ("pread", None): 5,
            ("pwrite", "write-back"): 15,
            ("pwrite", "cache"): 5,
        }
    )
    assert causes(run) == causes(without)
    assert {one["kernel"] for one in without.sql(sql).to_pylist()} == {None}
    kernel = bar(run).slowest
    assert kernel and kernel.kernel == pytest.approx(
        {"cache": 0.01, "device": 0.007, "write-back": 0.015}
    )
    assert any("kernel: write-back 15 ms, cache 10 ms" in line for line in paint(bar(run), 80))


@pytest.mark.parametrize(
    ("file_system", "kernel"), [("ext4", "cache"), ("nfs4", "device"), ("fuse.sshfs", "device")]
)
def test_a_server_s_client_is_its_device(tmp_path: Path, file_system: str, kernel: str) -> None:
    """Half of a read came into the page cache, and no block device took part: a hole, or a server."""
    read = {"process": 0, "thread": 1, "layer": "posix", "op": "pread", "kind": "read", "file": 0}
    calls = [read | {"id": 1, "duration": 10 * MS, "bytes": 2 << 20, "file_offset": 0}]
    pages = {"event": "pages", "inode": 7, "at": 0, "bytes": 1 << 20, "device": "0:40"}
    run = made(
        tmp_path,
        [row("posix", "pread", "read", 10, bytes=2 << 20)],
        calls=calls,
        kernel_events=[pages | {"process": 0, "pid": 1, "tid": 1}],
        files=[FILES[0] | {"file_system": file_system}],
    )
    sql = "select kernel, sum(time) / 1e6 as ms from account() group by kernel"
    parts = {one["kernel"]: one["ms"] for one in run.sql(sql).to_pylist()}
    wanted = {"cache": 10} if kernel == "cache" else {"device": 5, None: 5}
    assert parts == pytest.approx(wanted)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_bar_is_as_long_as_its_seconds(width: int) -> None:
    causes = {"sync": 0.5, "names": 0.25, "locks": 0.001}
    shares = [Share(0, 3, 0.751, causes), Share(1, None, 0.25, {"names": 0.25})]
    lines = paint(Bar(1.0, *shares, []), width)
    assert all(len(line) <= width for line in lines)
    bars = [line.split("|")[1] for line in lines if "|" in line]
    cells = len(bars[0])
    assert [len(one) for one in bars] == [cells] * 2
    assert bars[0].count("█") == pytest.approx(cells / 2, abs=1)
    assert bars[1].count("▓") == pytest.approx(cells / 4, abs=1) and "█" not in bars[1]
    assert "slowest, rank 3" in lines[0] and any("process 1" in line for line in lines)
    assert any("sync 500 ms (50 %)" in line for line in lines)
    assert paint(Bar(1.0, None, None, []), width) == []
    hardly = Share(0, 0, 0.004, {"names": 0.004})
    assert paint(Bar(1.0, hardly, None, []), width) == []
