"""fathom import darshan: what a log says besides sums, against PyDarshan's counters: sizes, order, functions, the
slowest rank, heat maps, targets of Lustre, functions of MPI."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.analysis import summary
from fathom.run.store import open_run
from harness import needs, tables, wild
from test_import_darshan import Theirs, fathom, imported, imported_once, sample

REAL = (
    "darshan-logs-e3sm-pnetcdf", "aiio-openpmd-independent", "aiio-openpmd-collective", "darshan-logs-imbalanced",
    "aiio-ior-read-strided-1k",
)  # fmt: skip
SAMPLES = ("example", "shane_macsio")
MODULES = {"POSIX": "posix", "MPI-IO": "mpiio", "H5D": "hdf5"}
LEAST = (0, 101, 1025, 10241, 102401, 1048577, 4194305, 10485761, 104857601, 1073741825)
MESSAGES = {
    "0_256": 0,
    "256_1K": 257,
    "1K_8K": 1025,
    "8K_256K": 8193,
    "256K_1M": 262145,
    "1M_PLUS": 1048577,
}
LABELS = (
    "0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


@pytest.fixture(params=[*REAL, *SAMPLES], scope="module")
def imported_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """PyDarshan on a log, and the tables of the run that it became."""
    name = request.param
    log = wild.log(name) if name in REAL else sample(name)
    return Theirs(log), tables.connect(imported(log, tmp_path_factory.mktemp("run")))


def each(theirs: Theirs, module: str) -> list[tuple[str, dict[str, Any]]]:
    """The file and the counters of each record, without the module's name before them."""
    named_records = []
    prefix = "MPIIO_" if module == "MPI-IO" else f"{module}_"
    for record in theirs.records(module):
        counters = {**record["counters"], **record["fcounters"]}
        short = {name.removeprefix(prefix): value for name, value in counters.items()}
        named_records.append((theirs.file(module, record), {"rank": record["rank"], **short}))
    return named_records


@pytest.mark.some(3)
def test_ranges_of_sizes_are_darshans(imported_run: Any) -> None:
    theirs, base = imported_run
    expected: Counter[tuple[str, str, str, int]] = Counter()
    for module, layer in MODULES.items():
        for file, counters in each(theirs, module):
            for kind in ("read", "write"):
                for least, label in zip(LEAST, LABELS, strict=True):
                    names = (f"SIZE_{kind.upper()}_{agg}{label}" for agg in ("", "AGG_"))
                    calls = max(counters.get(name, 0) for name in names)
                    expected[(layer, kind, file, least)] += max(0, calls)
    select = """
        select t.layer, t.kind, path, value, sum(calls)::bigint from tops t join files using (file)
        where what = 'size_range' and t.layer <> 'mpi' group by all"""
    by_range = {tuple(row[:4]): row[4] for row in base.sql(select).fetchall()}
    assert by_range == {key: calls for key, calls in expected.items() if calls}


@pytest.mark.some(3)
def test_order_of_accesses_is_darshans(imported_run: Any) -> None:
    theirs, base = imported_run
    expected: Counter[tuple[str, str]] = Counter()
    for file, counters in each(theirs, "POSIX"):
        for kind in ("READS", "WRITES"):
            if counters[kind] > 0:
                expected[(file, "sequential")] += max(0, counters[f"SEQ_{kind}"])
                expected[(file, "consecutive")] += max(0, counters[f"CONSEC_{kind}"])
    select = """
        select path, sum(sequential)::bigint, sum(consecutive)::bigint from counters c join files using (file)
        where c.layer = 'posix' and c.kind in ('read', 'write') group by all"""
    by_order = {}
    for path, sequential, consecutive in base.sql(select).fetchall():
        by_order |= {(path, "sequential"): sequential, (path, "consecutive"): consecutive}
    assert by_order == expected


@pytest.mark.parametrize(("what", "name"), [("size", "ACCESS"), ("stride", "STRIDE")])
def test_frequent_sizes_and_strides_are_darshans(imported_run: Any, what: str, name: str) -> None:
    """Darshan keeps four of each, of reads and writes together: all are known where there was one kind only, else
    those sizes that no call of the other kind has."""
    theirs, base = imported_run
    mixed: set[str] = set()
    expected: Counter[tuple[str, str, int]] = Counter()
    both: Counter[tuple[str, int]] = Counter()
    for file, counters in each(theirs, "POSIX"):
        kinds = [kind for kind in ("read", "write") if counters[f"{kind.upper()}S"] > 0]
        mixed |= {file} if len(kinds) > 1 else set()
        for at in range(1, 5):
            value, often = (counters[f"{name}{at}_{of}"] for of in (name, "COUNT"))
            if kinds and often > 0:
                expected[file, kinds[0], value] += often
                both[file, value] += often
    select = f"""
        select path, t.kind, value, sum(calls)::bigint from tops t join files using (file)
        where what = '{what}' and t.layer = 'posix' group by all"""
    by_value = {tuple(row[:3]): row[3] for row in base.sql(select).fetchall()}
    assert {key: often for key, often in by_value.items() if key[0] not in mixed} == {
        key: often for key, often in expected.items() if key[0] not in mixed
    }
    assert all(often <= both[file, value] for (file, _, value), often in by_value.items())


def test_a_run_lasts_to_the_last_stamp_of_its_log(imported_run: Any) -> None:
    _, base = imported_run
    (last,) = base.sql("select max(last_stop) from counters").fetchall()[0]
    (duration,) = base.sql("select duration from runs").fetchall()[0]
    assert last <= duration


def test_functions_of_mpiio_are_counted_one_by_one(imported_run: Any) -> None:
    theirs, base = imported_run
    names = {
        "COLL_WRITES": "MPI_File_write_all", "INDEP_WRITES": "MPI_File_write", "COLL_READS": "MPI_File_read_all",
        "INDEP_READS": "MPI_File_read", "NB_WRITES": "MPI_File_iwrite", "NB_READS": "MPI_File_iread",
        "SPLIT_WRITES": "MPI_File_write_all_begin", "SPLIT_READS": "MPI_File_read_all_begin",
    }  # fmt: skip
    expected: Counter[str] = Counter()
    for _, counters in each(theirs, "MPI-IO"):
        for name, function in names.items():
            expected[function] += max(0, counters[name])
    select = """
        with named as (select distinct op from tops where what = 'function' and layer = 'mpiio')
        select name, sum(calls)::bigint from (
            select op as name, calls from counters c anti join named n using (op)
            where layer = 'mpiio' and kind in ('read', 'write')
            union all
            select label, calls from tops where layer = 'mpiio' and what = 'function'
        ) group by name"""
    by_function = dict(base.sql(select).fetchall())
    assert by_function == {function: calls for function, calls in expected.items() if calls}


def test_the_slowest_rank_has_its_seconds(imported_run: Any) -> None:
    theirs, base = imported_run
    compared = 0
    for module, layer in (("POSIX", "posix"), ("MPI-IO", "mpiio")):
        records = each(theirs, module)
        alone = Counter(file for file, _ in records)
        for file, counters in records:
            time = counters["F_SLOWEST_RANK_TIME"]
            calls = counters.get("WRITES", 0) + sum(
                counters.get(name, 0) for name in ("COLL_WRITES", "INDEP_WRITES")
            )
            # Of few calls, or of several records, not every rank has a part of its own.
            if counters["rank"] != -1 or not time or alone[file] > 1 or calls < theirs.ranks:
                continue
            select = f"""
                select sum(c.time) / 1e9 from counters c join processes using (process) join files using (file)
                where layer = '{layer}' and path = $1 and rank = $2"""
            got = base.execute(select, [file, int(counters["SLOWEST_RANK"])]).fetchall()[0][0]
            assert got == pytest.approx(time, rel=1e-3), (module, file)
            compared += 1
    assert compared or not any(counters["rank"] == -1 for _, counters in each(theirs, "MPI-IO"))


def hints(base: Any, like: str) -> dict[tuple[str, str], str]:
    """Path and key -> value."""
    select = "select path, h.key, value from hints_in_force h join files using (file) where h.key like $1"
    return {(path, key): value for path, key, value in base.execute(select, [like]).fetchall()}


def test_ranks_of_a_shared_record_have_their_standard_deviation(imported_run: Any) -> None:
    theirs, base = imported_run
    expected = {}
    for module, layer in (*MODULES.items(), ("STDIO", "stdio")):
        for file, counters in each(theirs, module):
            squares = [counters.get(f"F_VARIANCE_RANK_{what}", 0) for what in ("TIME", "BYTES")]
            if counters["rank"] == -1 and any(squares):
                for what, square in zip(("seconds", "bytes"), squares, strict=True):
                    expected[(file, f"{layer}_rank_{what}_deviation")] = math.sqrt(square)
    deviations = {key: float(value) for key, value in hints(base, "%deviation").items()}
    assert deviations == pytest.approx(expected, rel=1e-5)
    if theirs.ranks > 1:
        assert deviations


def test_files_were_read_up_to_the_last_byte_that_darshan_has(imported_run: Any) -> None:
    theirs, base = imported_run
    ends: dict[tuple[str, str], int] = {}
    for module, layer in (("POSIX", "posix"), ("STDIO", "stdio")):
        for file, counters in each(theirs, module):
            if counters["MAX_BYTE_READ"] > 0:
                key = (file, f"{layer}_read_end")
                ends[key] = max(ends.get(key, 0), counters["MAX_BYTE_READ"] + 1)
    select = """
        select path, h.key, max(value::bigint) from hints_in_force as h join files using (file)
        where h.key like '%_read_end' group by all"""
    assert {tuple(row[:2]): row[2] for row in base.sql(select).fetchall()} == ends


@pytest.mark.parametrize(
    "name", ["darshan-logs-e3sm-pnetcdf", "aiio-tmatch-many-files", "shane_macsio"]
)
def test_files_are_on_the_file_systems_of_darshans_mount_table(tmp_path: Path, name: str) -> None:
    """But those that Darshan's module of Lustre has a layout of."""
    log = sample(name) if name in SAMPLES else wild.log(name)
    theirs, run = Theirs(log), open_run(imported(log, tmp_path))
    assert run.table("files") == run.sql("from files")
    types = dict(theirs.backend.log_get_mounts(theirs.log))
    striped = {theirs.file("LUSTRE", record) for record in theirs.records("LUSTRE")}
    compared = 0
    for path, kind, mount in (
        (row["path"], row["file_system"], row["mount"]) for row in run.table("files").to_pylist()
    ):
        above = [str(one) for one in (Path(path), *Path(path).parents) if str(one) in types]
        if path in striped:
            assert kind == "lustre"
            assert mount == (above[0] if types[above[0]] == "lustre" else None)
        elif path.startswith("/"):
            assert (kind, mount) == ((types[above[0]], above[0]) if above else (None, None))
        compared += path.startswith("/")
    assert compared


@pytest.mark.parametrize(("name", "selection"), [
    ("ior_hdf5_example", "32768, stride 32768: 262144 bytes, 8 times"),
    ("shane_macsio", "31x31x24, stride 1x1x1: 184512 bytes, 72 times"),
])  # fmt: skip
def test_hyperslabs_of_datasets_have_lengths_and_strides(
    tmp_path: Path, name: str, selection: str
) -> None:
    """As `darshan-parser` prints them: H5D_ACCESS1, dimension by dimension, the last one first."""
    run = imported(sample(name), tmp_path)
    selections = hints(tables.connect(run), "selection_1")
    assert set(selections.values()) == {selection}
    (shown,) = [
        line
        for line in fathom("show", run, "--by", "hint").stdout.splitlines()
        if selection in line
    ]
    assert shown.startswith("selection_1 ")


def heated(theirs: Theirs) -> Counter[tuple[str, str, int]]:
    """Bytes by layer, operation and rank."""
    moved_bytes: Counter[tuple[str, str, int]] = Counter()
    layers = {"heatmap:POSIX": "posix", "heatmap:MPIIO": "mpiio", "heatmap:STDIO": "stdio"}
    if "HEATMAP" not in theirs.modules:
        return moved_bytes
    while (
        record := theirs.backend._log_get_heatmap_record(theirs.log)  # the only way to one
    ) is not None:
        layer = layers[theirs.names[record["id"]]]
        for operation in ("read", "write"):
            moved = int(record[f"{operation}_bins"].sum())
            if moved:
                moved_bytes[(layer, operation, record["rank"])] += moved
    return moved_bytes


def test_heat_has_darshans_bytes(imported_run: Any) -> None:
    theirs, base = imported_run
    select = """
        select layer, operation, rank, sum(bytes)::bigint from heat join processes using (process) group by all"""
    by_rank = {tuple(row[:3]): row[3] for row in base.sql(select).fetchall()}
    assert by_rank == heated(theirs)


def test_functions_of_mpi_and_hosts_come_from_apmpi(tmp_path: Path) -> None:
    log = wild.log("aiio-ior-write-1k")
    theirs, base = Theirs(log), tables.connect(imported(log, tmp_path))
    read = theirs.backend.log_get_apmpi_record
    read(theirs.log, "APMPI", "HEADER")
    expected: Counter[str] = Counter()
    messages: Counter[tuple[str, int]] = Counter()
    hosts = set()
    while (record := read(theirs.log, "APMPI", "PERF")) is not None:
        hosts.add(record["node_name"])
        for name, calls in record["all_counters"].items():
            if name.endswith("_CALL_COUNT"):
                expected[name.removesuffix("_CALL_COUNT")] += int(calls)
            op, ranged, label = name.partition("_MSG_SIZE_AGG_")
            if ranged and calls:
                messages[(op, MESSAGES[label])] += int(calls)
    select = "select upper(op), sum(calls)::bigint from counters where layer = 'mpi' group by all"
    assert dict(base.sql(select).fetchall()) == {key: n for key, n in expected.items() if n}
    assert {host for (host,) in base.sql("select host from nodes").fetchall()} == hosts
    sizes = """
        select upper(op), value, sum(calls)::bigint from tops
        where layer = 'mpi' and what = 'size_range' group by all"""
    by_size = {(op, value): calls for op, value, calls in base.sql(sizes).fetchall()}
    assert by_size == messages != {}


def test_layouts_of_lustre_have_their_targets(tmp_path: Path) -> None:
    log = wild.log("e2e-optimized")
    base = tables.connect(imported(log, tmp_path))
    select = "select path, value from hints_in_force join files using (file) where hints_in_force.key = $1"
    targets = dict(base.execute(select, ["osts"]).fetchall())
    assert targets
    assert all(len(value.split(",")) == 12 for value in targets.values())
    sizes = {value for _, value in base.execute(select, ["striping_unit"]).fetchall()}
    assert sizes == {str(32 << 20)}
    marks = [row[0] for row in base.sql("select detail from marks").fetchall()]
    assert any(
        "module LUSTRE, version 1, cannot be read behind its first 3" in mark for mark in marks
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("darshan-logs-e3sm-pnetcdf", ("on average a rank was in I/O calls for 94.4 %", "99.8 % of MPI-IO's")),
        ("aiio-openpmd-independent", ("for 87.3 % of the run time", "469,786,624 MPI_File_write,")),
        ("aiio-openpmd-collective", ("for 99.8 % of the run time", "100 % of MPI-IO's read and write time")),
        ("aiio-ior-write-1k", ("for 95.6 % of the run time", "262,144 fsync")),
        ("darshan-logs-imbalanced", ("101,184 MPI_File_write_all, 351 MPI_File_write)", "one of 496 ranks, 0")),
        pytest.param(
            "darshan-logs-skew-app", ("hardly: on average a rank was in I/O calls for 2.01 %",),
            marks=pytest.mark.full,
        ),
        ("aiio-tmatch-many-files", ("hardly: ", "for 3.16 % of the run time")),
    ],
)  # fmt: skip
def test_first_sentences_say_what_is_true_of_the_job(name: str, words: tuple[str, ...]) -> None:
    shown = fathom("show", imported_once(wild.log(name)), "--all")
    assert shown.returncode == 0, shown.stderr
    (answer,) = [
        block for block in shown.stdout.split("\n\n") if block.startswith("I/O the problem?")
    ]
    text = " ".join(answer.split())
    for part in words:
        assert part in text
    hosts = "APMPI" in Theirs(wild.log(name)).modules
    assert (" on " in shown.stdout.splitlines()[1]) == hosts, (
        "no host is named without APMPI or DXT"
    )


def test_what_mostly_collective_calls_moved_is_no_uneven_work(tmp_path: Path) -> None:
    """Its ranks' bytes are those of collective calls, and 1600 s of a rank are of a run of 1479 s."""
    run = imported(wild.log("darshan-logs-imbalanced"), tmp_path)
    assert "Uneven I/O between ranks" not in fathom("show", run, "--findings").stdout


def test_time_of_libraries_below_one_without_seconds_is_nowhere_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PnetCDF's module has no seconds: those of MPI-IO, 94 % of the run, are the program's, on every page."""
    log = wild.log("darshan-logs-e3sm-pnetcdf")
    theirs, run = Theirs(log), imported(log, tmp_path)
    spent = sum(
        sum(counters[f"F_{kind}_TIME"] for kind in ("READ", "WRITE", "META"))
        for _, counters in each(theirs, "MPI-IO")
    )
    (ranks, duration) = (
        tables.connect(run).sql("select ranks, duration / 1e9 from runs").fetchall()[0]
    )
    assert main(["landscape", str(run), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["io_seconds"] == pytest.approx(spent / ranks, rel=0.02)
    assert row["io_share"] == pytest.approx(spent / ranks / duration, rel=0.02)
    assert row["io_share"] > 0.9
    files = summary.files(open_run(run)).to_pylist()
    assert sum(file["seconds"] for file in files) == pytest.approx(spent, rel=0.02)
