"""Counters: the same program at levels job, file and call has the same totals, key by key; what its accesses are
like equals what the definitions say of each row; nothing is lost when tables are full or the budget is spent."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables
from harness.runner import LAUNCH, STACK_ENV

KILLED = paths.PROGRAMS / "programs" / "killed"
PATTERNS = paths.PROGRAMS / "programs" / "patterns"
ORDERED = ("sequential", "consecutive", "strided", "unaligned_file", "unaligned_memory", "switches")
SHAPES = ("contiguous", "holes_memory", "holes_file", "holes_both")
HISTOGRAMS = ("size_histogram", "extent_histogram")
KEY = "thread_class, layer, op, kind, enclosing_layer, enclosing"


def record(
    directory: Path,
    level: str,
    *command: object,
    options: tuple[str, ...] = (),
    printed: list[str] | None = None,
) -> Any:
    """The tables of a run of the program, in a directory of its own."""
    data = directory / "data"
    data.mkdir(parents=True)
    run = directory / "run.fathom"
    words = [paths.FATHOM, "run", "--no-show", "--level", level, *options, "-o", run, "--"]
    done = subprocess.run(
        [str(word).format(data=data) for word in (*words, *command)],
        env={**os.environ, **STACK_ENV},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if printed is not None:
        printed += done.stdout.splitlines()
    return tables.connect(run)


def totals(connection: Any) -> dict[tuple[Any, ...], list[Any]]:
    """What every level tells: without files."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for *key, calls, errors, moved, sizes in tables.ask(
        connection,
        f"select {KEY}, calls, errors, bytes, size_histogram from counters where layer <> 'fathom'",
    ):
        bins = sizes or [0] * 17
        old = sums.get(tuple(key), [0] * 20)
        sums[tuple(key)] = [a + b for a, b in zip(old, [calls, errors, moved, *bins], strict=True)]
    return sums


def selected(connection: Any, table: str, columns: str) -> list[list[Any]]:
    """Rows by the names of their files."""
    return tables.ask(
        connection,
        f"""select {KEY}, process, parse_filename(path) as name, {columns}
        from {table} left join (select file, path from files) using (file)
        where layer <> 'fathom' and coalesce(name, '') not similar to 'control|pipe:.*' order by all""",
    )


def by_file(connection: Any) -> list[list[Any]]:
    """All that levels file and call tell of a key."""
    return selected(
        connection, "counters", ", ".join(("calls, errors, bytes", *ORDERED, *SHAPES, *HISTOGRAMS))
    )


def tops(connection: Any) -> list[list[Any]]:
    return selected(connection, "tops", "what, value, calls, bound")


def heat(connection: Any) -> list[list[Any]]:
    return tables.ask(
        connection,
        """select process, layer, operation, sum(calls)::bigint, sum(bytes)::bigint from heat
        where layer <> 'fathom' group by all order by all""",
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("what", [("mix",), ("files", 300)], ids=lambda what: what[0])
def test_levels_tell_the_same(tmp_path: Path, what: tuple[object, ...]) -> None:
    command = (PATTERNS, what[0], "{data}", *what[1:])
    call, file, job = (
        record(tmp_path / level, level, *command) for level in ("call", "file", "job")
    )
    assert sum(row[8] for row in by_file(call)) > 1000
    assert by_file(file) == by_file(call)
    assert tops(file) == tops(call)
    assert totals(file) == totals(job) == totals(call)
    assert heat(file) == heat(job) == heat(call)
    assert tables.ask(job, "select count(*) from counters where file is not null") == [[0]]


def brute_force(rows: list[list[Any]]) -> tuple[list[int], Counter[int]]:
    """Sequential, consecutive, strided, unaligned in the file, and strides of (offset, end), in order."""
    counts, strides = [0, 0, 0, 0], Counter[int]()
    for i, (offset, _) in enumerate(rows):
        counts[3] += offset % 4096 != 0
        if i == 0:
            continue
        end, distance = rows[i - 1][1], offset - rows[i - 1][0]
        counts[0] += offset >= end
        counts[1] += offset == end
        if offset == end or distance == 0:
            continue
        strides[distance] += 1
        counts[2] += i > 1 and rows[i - 1][0] - rows[i - 2][0] == distance
    return counts, strides


def test_patterns_are_what_the_definitions_say_of_the_rows(tmp_path: Path) -> None:
    connection = record(tmp_path, "call", PATTERNS, "mix", "{data}")
    sums: dict[tuple[str, int, str], list[int]] = {}
    strides: dict[tuple[str, int, str], Counter[int]] = {}
    lanes: dict[tuple[Any, ...], list[list[Any]]] = {}
    for thread, file, op, place, *row in tables.ask(
        connection,
        """select if(thread = pid, 'main', 'other'), file, op, (thread, object), file_offset, file_offset + bytes
        from calls join processes using (process) where kind in ('read', 'write') and error = 0
            and file_offset is not null and layer = 'posix' order by stream, calls.start""",
    ):
        lanes.setdefault((thread, file, op, str(place)), []).append(row)
    for (*key, _), rows in lanes.items():
        counts, strides_seen = brute_force(rows)
        so_far = sums.setdefault(tuple(key), [0, 0, 0, 0])
        sums[tuple(key)] = [a + b for a, b in zip(so_far, counts, strict=True)]
        strides.setdefault(tuple(key), Counter()).update(strides_seen)
    counted = {
        (row[0], row[1], row[2]): row[3:]
        for row in tables.ask(
            connection,
            """select thread_class, file, op, sequential, consecutive, strided, unaligned_file
            from counters where layer = 'posix' and sequential is not null and calls > errors
                and file is not null""",
        )
    }
    assert len(sums) > 20
    for key, counts in sums.items():
        assert counted[key] == counts, key
    for thread, file, op, value, calls in tables.ask(
        connection, "select thread_class, file, op, value, calls from tops where what = 'stride'"
    ):
        assert strides[thread, file, op][value] == calls


def test_buffers_that_are_not_aligned_are_told_at_every_level(tmp_path: Path) -> None:
    for level in ("file", "call"):
        connection = record(tmp_path / level, level, PATTERNS, "mix", "{data}")
        [[odd, vectors]] = tables.ask(
            connection,
            """select sum(unaligned_memory)::bigint, (sum(holes_memory) filter (op = 'pwritev') =
                sum(calls) filter (op = 'pwritev')) from counters""",
        )
        assert 600 < odd < 12000
        assert vectors


@pytest.mark.parametrize("level", ["file", "call"])
def test_one_size_among_many_is_found(tmp_path: Path, level: str) -> None:
    connection = record(tmp_path, level, PATTERNS, "sizes", "{data}")
    rows = tables.ask(
        connection, "select value, calls, bound from tops where what = 'size' and op = 'pwrite'"
    )
    assert rows[0] == [4096, 10000, 0]
    assert all(calls == 1 and bound == 0 for _, calls, bound in rows[1:])


def test_after_the_budget_tops_carry_a_bound(tmp_path: Path) -> None:
    for level in ("file", "call"):
        connection = record(
            tmp_path / level, level, PATTERNS, "sizes", "{data}", options=("--budget", "4KiB")
        )
        [[value, calls, bound]] = tables.ask(
            connection,
            "select value, calls, bound from tops where what = 'size' order by calls desc limit 1",
        )
        assert value == 4096
        assert calls - bound <= 10000 <= calls
        assert bound < 200
        assert bound > 0 or level == "call"  # most sizes were in rows when the budget ended
        assert tables.ask(
            connection,
            "select calls::bigint, bytes, list_sum(size_histogram)::bigint from counters where op = 'pwrite'",
        ) == [[20000, sum(range(5001, 15001)) + 10000 * 4096, 20000]]


def test_a_budget_that_is_spent_in_mid_run_changes_no_total(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole", "call", PATTERNS, "mix", "{data}")
    cut = record(tmp_path / "cut", "call", PATTERNS, "mix", "{data}", options=("--budget", "70KiB"))
    assert tables.ask(cut, "select coverage between 0.01 and 0.9 from runs") == [[True]]
    assert by_file(cut) == by_file(whole)
    assert heat(cut) == heat(whole)


def test_a_level_that_changes_in_mid_call_changes_no_total(tmp_path: Path) -> None:
    still = record(tmp_path / "still", "call", PATTERNS, "phases", "{data}", 0)
    changed = record(tmp_path / "changed", "call", PATTERNS, "phases", "{data}", 1)
    assert tables.ask(changed, "select coverage between 0.1 and 0.9 from runs") == [[True]]
    assert by_file(changed) == by_file(still)
    assert tops(changed) == tops(still)


@pytest.mark.parametrize("level", ["job", "file"])
def test_counters_outlive_a_kill(tmp_path: Path, level: str) -> None:
    printed: list[str] = []
    connection = record(tmp_path, level, KILLED, "{data}", 20, 5, printed=printed)
    finished = {int(pid): int(calls) for pid, calls in map(str.split, printed)}
    seen = {
        pid: row
        for pid, *row in tables.ask(
            connection,
            """select pid, sum(calls)::bigint, sum(bytes)::bigint, sum(consecutive)::bigint,
                sum(list_sum(size_histogram))::bigint
            from counters join processes using (process) where op = 'pwrite' group by pid""",
        )
    }
    assert len(finished) == 20
    for pid, calls in finished.items():
        counted, moved, consecutive, sizes = seen.get(
            pid, (0, 0, None if level == "job" else -1, 0)
        )
        assert calls <= counted <= calls + 1
        # The last may be half counted, whichever part came first.
        assert abs(moved / 8 - counted) <= 1 and abs(sizes - counted) <= 1
        assert consecutive is None if level == "job" else counted - 2 <= consecutive <= counted


KERNELS = {
    "mpich": ("synthetic_mpiio_mpich", "mpiexec.mpich"),
    "ompio": ("synthetic_mpiio_openmpi", LAUNCH["ompio"]),
    "romio321": ("synthetic_mpiio_openmpi", LAUNCH["romio321"]),
    "hdf5": ("synthetic_hdf5_mpich", "mpiexec.mpich"),
}


def of_program(rows: list[list[Any]]) -> list[list[Any]]:
    """Without what an MPI library does for itself: sockets, locks, and how it tells its ranks of it."""
    mine = ("mpiio", "hdf5")
    return [
        row
        for row in rows
        if row[1] in mine or (row[3] in ("read", "write") and str(row[7]).endswith((".bin", ".h5")))
    ]


def of_libraries(rows: dict[tuple[Any, ...], list[Any]]) -> dict[tuple[Any, ...], list[Any]]:
    return {key: sums for key, sums in rows.items() if key[1] in ("mpiio", "hdf5")}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", KERNELS)
def test_levels_tell_the_same_of_parallel_programs(tmp_path: Path, name: str) -> None:
    program, launcher = KERNELS[name]
    needs.require([launcher.split()[0]])
    words = (*launcher.split(), "-n", 4, paths.BUILD / "kernels" / program, "-r")
    seen = [
        record(tmp_path / level, level, *words, "column", 33, 37, "{data}")
        for level in ("call", "file", "job")
    ]
    call, file, job = seen
    for table in (by_file, tops):
        assert of_program(table(file)) == of_program(table(call))
    for run in (file, job):
        assert of_libraries(totals(run)) == of_libraries(totals(call))
    [[holes]] = tables.ask(call, "select sum(holes_file)::bigint from counters")
    assert holes > 0


@pytest.mark.some(2)
@pytest.mark.parametrize("level", ["file", "call"])
@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_holes_in_memory_and_datatypes_are_told(tmp_path: Path, mpi: str, level: str) -> None:
    launcher = LAUNCH[mpi]
    needs.require([launcher.split()[0]])
    program = paths.PROGRAMS / "programs" / f"mpi_memory_{needs.MPI[mpi]}"
    connection = record(tmp_path, level, *launcher.split(), "-n", 2, program, "{data}/f")
    assert tables.ask(
        connection,
        """select process, calls::bigint, contiguous::bigint, holes_memory::bigint, holes_file::bigint,
            holes_both::bigint from counters where op = 'MPI_File_write_at' order by process""",
    ) == [[rank, 40, 10, 10, 10, 10] for rank in (0, 1)]
    assert tables.ask(
        connection,
        """select process, label, calls::bigint, bound::bigint from tops where what = 'datatype'
        order by process, label""",
    ) == [
        [rank, label, 20, 0]
        for rank in (0, 1)
        for label in ("predefined of 8 bytes", "vector of 32 bytes, extent 56, true extent 56")
    ]


@pytest.mark.some(3)
@pytest.mark.parametrize("level", ["file", "call"])
@pytest.mark.parametrize(
    ("program", "mpi", "op"),
    [
        ("hdf5_holes", "mpich", "H5Dwrite"),
        ("hdf5_holes", "ompio", "H5Dwrite"),
        ("netcdf_holes", "ompio", "nc_put_varm"),
        ("pnetcdf_holes", "romio321", "ncmpi_put_varm_all"),
    ],
)
def test_holes_in_memory_of_the_libraries(
    tmp_path: Path, program: str, mpi: str, op: str, level: str
) -> None:
    launcher = LAUNCH[mpi]
    needs.require([launcher.split()[0]])
    file = paths.PROGRAMS / "programs" / f"{program}_{needs.MPI[mpi]}"
    if not file.exists():
        pytest.skip(f"{file.name} is not built: its library is not installed")
    connection = record(tmp_path, level, *launcher.split(), "-n", 1, file, "{data}/f")
    counted = """select calls::bigint, contiguous::bigint, holes_memory::bigint, holes_file::bigint,
        holes_both::bigint from counters where op = ?"""
    assert tables.ask(connection, counted.replace("?", f"'{op}'")) == [[40, 10, 10, 10, 10]]
    if program == "pnetcdf_holes":
        by_datatype = tables.ask(connection, counted.replace("?", "'ncmpi_put_vara_all'"))
        assert by_datatype == [[10, 0, 10, 0, 0]]


@pytest.mark.full
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    connection = record(tmp_path, "file", PATTERNS, "files", "{data}", 100_000)
    assert tables.ask(
        connection,
        """select count(distinct file), sum(calls)::bigint, sum(bytes)::bigint from counters
        where op = 'pwrite'""",
    ) == [[100_000, 203_000, 3_224_000]]
