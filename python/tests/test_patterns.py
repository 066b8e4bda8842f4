"""Access patterns, sizes, use of files and the system's samples, from rows made by hand; tables on narrow terminals."""

from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import accesses, summary
from fathom.pages.sections import PATTERNS, SIZES
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.fit import fit, folded
from schema import write_run


def histogram(**bins: int) -> list[int]:
    """bin_3=2: two accesses in bin 3."""
    return [bins.get(f"bin_{n}", 0) for n in range(17)]


def counter(
    file: int, op: str, kind: str, calls: int, sizes: list[int] | None, **more: Any
) -> dict[str, Any]:
    row = {"file": file, "layer": "posix", "op": op, "kind": kind, "calls": calls, "process": 0}
    return {**row, "thread_class": "main", "size_histogram": sizes, **more}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    ordered = {"sequential": 6, "consecutive": 5, "strided": 1, "unaligned_file": 4, "switches": 2}
    unordered = {
        "sequential": 0,
        "consecutive": 0,
        "strided": 0,
        "unaligned_file": 0,
        "switches": 1,
    }
    init = {"enclosing_layer": "mpiio", "enclosing": "MPI_Init", "runtime": True}
    counters = [
        counter(
            0, "pwrite", "write", 9, histogram(bin_3=6, bin_7=2), errors=1, bytes=800, **ordered
        ),
        counter(0, "pread", "read", 2, histogram(bin_16=2), process=1, bytes=20, **unordered),
        counter(1, "read", "read", 1, histogram(bin_0=1), bytes=7),
        counter(2, "open", "open", 1, None),
        # a socket, and what the kernel makes up; what MPI_Init reads is not the program's
        counter(3, "read", "read", 5, histogram(bin_1=5), bytes=70),
        counter(4, "read", "read", 5, histogram(bin_1=5), bytes=70),
        counter(1, "read", "read", 9, histogram(bin_1=9), bytes=9, **init),
    ]
    top = {"file": 0, "layer": "posix", "op": "pwrite", "kind": "write", "what": "size"}
    tops = [
        top | {"value": value, "calls": calls, "bound": bound, "process": process}
        for value, calls, bound, process in [(17, 5, 0, 0), (100, 2, 1, 0), (17, 1, 0, 1)]
    ]
    samples = [
        {"node": 0, "process": process, "time": time, "what": what, "device": device, "value": value, "unit": unit}
        for what, unit, process, device, values in [
            ("memory.resident", "bytes", 3, None, [(0, 1 << 20), (10**9, 3 << 20)]),
            ("net.rx_bytes", "bytes", None, "eth0", [(0, 5), (10**9, 5), (3 * 10**9, 5 + 6 * 10**6)]),
            ("cpu.idle", "ns", None, None, [(0, 0), (2 * 10**9, 10**9)]),
        ]
        for time, value in values
    ]  # fmt: skip
    return fathom.open(
        write_run(
            tmp_path / "r.fathom",
            runs=[{"duration": 10}],
            counters=counters,
            tops=tops,
            samples=samples,
            processes=[{"process": 0}, {"process": 1}],
            nodes=[{"node": 0, "host": "n1"}],
            ops=[{"layer": "mpiio", "op": "MPI_Init", "kind": "comm", "tracked": False, "collective": False}],
            files=[
                {"file": 0, "path": "/d/a", "kind": "regular"},
                {"file": 1, "path": "/d/b", "kind": "regular"},
                {"file": 2, "path": "/d/c", "kind": "regular"},
                {"file": 3, "path": "socket:[1]", "kind": "socket"},
                {"file": 4, "path": "/proc/cpuinfo", "kind": "regular", "file_system": "proc"},
            ],
        )
    )  # fmt: skip


def test_patterns_of_each_file(run: Any) -> None:
    rows = {row["path"]: row for row in accesses.patterns(run).to_pylist()}
    assert set(rows) == {"/d/a", "/d/b"}
    a = rows["/d/a"]
    assert (a["reads"], a["writes"], a["bytes"], a["processes"], a["switches"]) == (2, 8, 820, 2, 3)
    shares = [a[name] for name in ("sequential", "consecutive", "strided", "unaligned_file")]
    assert shares == pytest.approx([0.6, 0.5, 0.1, 0.4])
    assert (a["common_size"], a["common_calls"], a["common_bound"]) == (17, 6, 0)
    assert rows["/d/b"]["sequential"] is None
    assert [column.name for column in PATTERNS if column.name not in a] == []


def test_of_sizes_that_are_equally_frequent_the_smallest_is_named(tmp_path: Path) -> None:
    """Else two looks at one run differ."""
    files, sizes = range(20), range(1, 21)
    top = {"layer": "posix", "op": "pwrite", "kind": "write", "what": "size", "process": 0}
    run = fathom.open(
        write_run(
            tmp_path / "r.fathom",
            counters=[
                counter(file, "pwrite", "write", 60, histogram(bin_3=60), sequential=1)
                for file in files
            ],
            tops=[
                top | {"file": file, "value": (size + file) % 20 + 1, "calls": 3, "bound": size}
                for file in files
                for size in sizes
            ],
            files=[{"file": file, "path": f"/d/{file}", "kind": "regular"} for file in files],
        )
    )
    rows = accesses.patterns(run).to_pylist()
    assert [(row["common_size"], row["common_bound"]) for row in rows] == [
        (1, 20 - int(row["path"].rpartition("/")[2]) or 20) for row in rows
    ]


def test_sizes_of_reads_and_writes(run: Any) -> None:
    rows = {(row["layer"], row["operation"]): row for row in accesses.sizes(run).to_pylist()}
    assert rows["posix", "write"]["accesses"] == 8
    assert rows["posix", "write"]["bins"] == [[16, 64, 6], [4096, 16384, 2]]
    assert rows["posix", "write"]["common"] == [[17, 6, 0], [100, 2, 1]]
    assert rows["posix", "read"]["bins"] == [[0, 1, 1], [4**15, None, 2]]
    cells = {column.heading: column.write(rows["posix", "write"][column.name]) for column in SIZES}
    assert cells["sizes"] == "16 B-64 B 75 %, 4 KiB-16 KiB 25 %"
    assert cells["most often"] == "17 B (6), 100 B (at most 2)"


def test_how_files_were_used(run: Any) -> None:
    rows = {row["use"]: row for row in accesses.file_counts(run).to_pylist()}
    assert {
        use: (row["files"], row["by_one"], row["shared"], row["bytes"]) for use, row in rows.items()
    } == {
        "read and written": (1, 0, 1, 820),
        "read only": (1, 1, 0, 7),
        "no data": (1, 1, 0, 0),
    }


def test_samples_are_levels_and_rates(run: Any) -> None:
    rows = {row["what"]: row for row in summary.samples(run).to_pylist()}
    assert (rows["memory.resident"]["mean"], rows["memory.resident"]["most"]) == (2 << 20, 3 << 20)
    # nothing in the first second, 6 MB in two more
    assert (rows["net.rx_bytes"]["mean"], rows["net.rx_bytes"]["most"]) == pytest.approx((2e6, 3e6))
    assert rows["cpu.idle"]["mean"] == pytest.approx(5e8)
    cells = {
        what: numbers.sampled(row["most"], row["unit"], row["is_level"])
        for what, row in rows.items()
    }
    assert cells == {"memory.resident": "3 MiB", "net.rx_bytes": "3 MB/s", "cpu.idle": "50 %"}


COLUMNS = (
    Column("calls", "calls"),
    Column("mean", "mean", spare=2),
    Column("rate", "rate", spare=1),
    Column("file", "path", is_path=True),
)
CELLS = [["1,000,000", "12 ms", "3", "/a/very/long/path/to/a/file/of/some/program.rst"]]


@pytest.mark.parametrize(
    ("room", "headings"),
    [
        (80, ["calls", "mean", "rate", "file"]),
        (60, ["calls", "mean", "rate", "file"]),
        (50, ["calls", "rate", "file"]),
        (20, ["file"]),
    ],
)
def test_a_narrow_terminal_keeps_what_matters(room: int, headings: list[str]) -> None:
    columns, cells, gone = fit(COLUMNS, CELLS, room)
    assert [column.heading for column in columns] == headings
    assert {*headings, *gone} == {"calls", "mean", "rate", "file"}
    assert cells[0][-1].endswith("file/of/some/program.rst")
    assert len(cells[0][-1]) <= max(30, room)
    if room >= 41:
        assert sum(map(len, cells[0])) + 2 * (len(columns) - 1) <= room


def test_a_table_without_rows_fits() -> None:
    assert fit(COLUMNS, [], 20)[1] == []


#: Of the page of `show`: a name, a second one, figures of which one is asked for.
NAMED = (
    Column("function", "op", right=False),
    Column("called from", "caller", right=False),
    Column("errors", "errors"),
    Column("time", "seconds"),
)
ROW = ["MPI_File_write_at_all_begin", "H5Dwrite", "0", "1.25 s"]


def test_a_row_keeps_its_name_and_letters_stay_words() -> None:
    for room in range(30, 80):
        columns, cells, gone = fit(NAMED, [ROW], room)
        assert columns[0].heading == "function" and cells[0][0][:17] == ROW[0][:17]
        assert cells[0][1:] == [ROW[NAMED.index(column)] for column in columns[1:]]
        assert not gone or gone[-1] in ("errors", "called from")


def test_rows_that_differ_in_their_file_only_are_one() -> None:
    same = [["4", "12 ms", "3", f"/out/{number}"] for number in range(5)]
    other = [["5", "12 ms", "3", "/out/x"]]
    rows = folded(COLUMNS, same + other + same[:1])
    assert [row[-1] for row in rows] == ["/out/0 and 4 more alike", "/out/x", "/out/0"]
    assert folded(NAMED, [ROW, ROW]) == [ROW, ROW]
