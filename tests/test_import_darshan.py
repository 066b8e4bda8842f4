"""fathom import darshan: the sample logs that Darshan's package carries, against what that package reads of them."""

from __future__ import annotations

import atexit
import importlib.util
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables, wild

SMALL = "ior_hdf5_example"  # with DXT: POSIX, MPI-IO, HDF5, Lustre, STDIO
QUICK = (SMALL, "sample-dxt-simple", "noposixopens", "shane_macsio")
MIXED = "shane_macsio"  # independent and collective writes of one file
LAYERS = {
    "POSIX": "posix", "STDIO": "stdio", "MPI-IO": "mpiio", "H5F": "hdf5", "H5D": "hdf5", "PNETCDF_FILE": "pnetcdf",
    "PNETCDF_VAR": "pnetcdf",
}  # fmt: skip
# Of each module: kind of call -> counters of calls, of bytes, of seconds.
OPENS = ("OPENS", "FDOPENS", "INDEP_OPENS", "COLL_OPENS", "CREATES")
READS = ("READS", "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS")
WRITES = ("WRITES", "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES")
KINDS = {
    "open": (OPENS, (), ()),
    "read": (READS, ("BYTES_READ",), ("F_READ_TIME",)),
    "write": (WRITES, ("BYTES_WRITTEN",), ("F_WRITE_TIME",)),
    "metadata": (("F_META_TIME",), (), ("F_META_TIME",)),
}
TOTALS = """
    select c.layer, if(c.op = 'metadata', c.op, c.kind), coalesce(p.rank, 0), coalesce(f.path, ''),
        sum(c.calls)::bigint, sum(c.bytes)::bigint, sum(c.time)::bigint
    from counters c join processes p using (process) left join files f using (file) group by all"""


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


def samples() -> list[Path]:
    package = importlib.util.find_spec("darshan")
    if package is None or package.origin is None:
        return []
    logs = {path.name: path for path in sorted(Path(package.origin).parent.rglob("*.darshan"))}
    return list(logs.values())


def sample(name: str) -> Path:
    return next(path for path in samples() if path.name.startswith(name))


def fathom(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, **more)


def imported(log: Path, place: Path) -> Path:
    run = place / f"{log.stem}.fathom"
    done = fathom("import", "darshan", log, "-o", run)
    assert (done.returncode, done.stdout) == (0, f"{run}\n"), done.stderr
    return run


@cache
def imported_once(log: Path) -> Path:
    """For tests that only ask: a large log takes half a minute."""
    place = Path(tempfile.mkdtemp(prefix="fathom-imported-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return imported(log, place)


class Theirs:
    """What Darshan's package reads of a log."""

    def __init__(self, log: Path) -> None:
        import darshan.backend.cffi_backend as backend

        self.backend, self.log = backend, backend.log_open(str(log))
        self.ranks = backend.log_get_job(self.log)["nprocs"]
        self.modules = backend.log_get_modules(self.log)
        self.names = backend.log_get_name_records(self.log)

    def records(self, module: str) -> Iterator[dict[str, Any]]:
        while module in self.modules and (
            record := self.backend.log_get_record(self.log, module, dtype="dict")
        ):
            yield record

    def file(self, module: str, record: dict[str, Any]) -> str:
        name = str(self.names[record["id"]])
        return name.rpartition(":")[0] if module in ("H5D", "PNETCDF_VAR") else name


def sums(theirs: Theirs) -> dict[tuple[str, str, int, str], list[float]]:
    """(layer, kind, rank, path) -> calls, bytes, seconds, and may a sum have run over?"""
    totals: dict[tuple[str, str, int, str], list[float]] = {}
    for module, layer in LAYERS.items():
        for record in theirs.records(module):
            prefix = "MPIIO" if module == "MPI-IO" else module
            values = {**record["counters"], **record["fcounters"]}
            rank = 0 if theirs.ranks == 1 else record["rank"]
            for kind, names in KINDS.items():
                one = [
                    sum(max(0, values.get(f"{prefix}_{name}", 0)) for name in which)
                    for which in names
                ]
                if kind == "open" and module in ("H5D", "PNETCDF_VAR") and not one[0]:
                    continue
                if one[0]:
                    key = (layer, kind, rank, theirs.file(module, record))
                    before = totals.setdefault(key, [0, 0, 0])
                    totals[key] = [a + b for a, b in zip(before, one, strict=True)]
    return totals


def compare(log: Path, run: Path, without: str = "") -> int:
    """Every file, layer and kind: by rank where Darshan has ranks, else over all of them; not those of one module."""
    theirs, traced = Theirs(log), segments(log)
    theirs.modules.pop(without, None)
    expected = sums(theirs)
    rows = tables.connect(run).sql(TOTALS).fetchall()
    for (layer, kind, rank, path), (calls, moved, seconds) in expected.items():
        alone = (layer, kind, path)
        shared = any(key[2] == -1 and (key[0], key[1], key[3]) == alone for key in expected)
        ours = [
            row for row in rows
            if (row[0], row[3]) == (layer, path) and (shared or row[2] == rank)
            # Where opens, views and closes are told apart, their seconds are those of metadata.
            and (row[1] == kind or (kind == "metadata" and row[1] in ("open", "meta", "close")))
        ]  # fmt: skip
        if shared:
            same = [value for key, value in expected.items() if (key[0], key[1], key[3]) == alone]
            calls, moved, seconds = (sum(column) for column in zip(*same, strict=True))
        if kind != "metadata":
            assert sum(row[4] for row in ours) == calls, (alone, rank)
        if kind == "open":
            continue
        assert sum(row[5] for row in ours) == moved, (alone, rank)
        if not any(one[:2] == (layer, kind) for one in traced):
            time = sum(row[6] for row in ours) / 1e9
            assert time == pytest.approx(seconds, rel=1e-9, abs=1e-6), (alone, rank)
    assert {(row[0], row[3]) for row in rows} >= {(key[0], key[3]) for key in expected}
    return len(expected)


def segments(log: Path) -> Counter[tuple[str, str, int, str, int, int, int, int]]:
    """Layer, kind, rank, path, begin and end in ns, bytes, offset."""
    theirs = Theirs(log)
    counted: Counter[tuple[str, str, int, str, int, int, int, int]] = Counter()
    for module, layer in (("DXT_POSIX", "posix"), ("DXT_MPIIO", "mpiio")):
        for record in theirs.records(module):
            for kind in ("read", "write"):
                for one in record[f"{kind}_segments"]:
                    times = (round(one["start_time"] * 1e9), round(one["end_time"] * 1e9))
                    where = (layer, kind, record["rank"], str(theirs.names[record["id"]]))
                    at = one["offset"] if one["offset"] >= 0 else None
                    counted[(*where, *times, one["length"], at)] += 1
    return counted


def rows_of(run: Path) -> Counter[tuple[str, str, int, str, int, int, int, int]]:
    select = """
        select c.layer, c.kind, coalesce(c.rank, 0), f.path, start, start + duration, bytes, file_offset
        from calls c join files f using (file)"""
    return Counter(tables.connect(run).sql(select).fetchall())


@pytest.mark.some(2)
@pytest.mark.parametrize("name", QUICK)
def test_totals_and_segments_are_those_of_darshans_own_reader(tmp_path: Path, name: str) -> None:
    log = sample(name)
    run = imported(log, tmp_path)
    assert compare(log, run) > 0
    assert rows_of(run) == segments(log)


@pytest.mark.full
def test_every_sample_log_agrees(tmp_path: Path) -> None:
    logs = samples()
    assert len(logs) >= 12
    for log in logs:
        run = imported(log, tmp_path)
        assert compare(log, run) > 0
        assert rows_of(run) == segments(log)


def test_what_is_known_is_told_and_the_rest_is_marked(tmp_path: Path) -> None:
    run = imported(sample(SMALL), tmp_path)
    base = tables.connect(run)
    (started, ranks, seen, coverage) = base.sql(
        "select started, ranks, ranks_seen, coverage from runs"
    ).fetchall()[0]
    assert (started, ranks, seen) == (1594155460 * 10**9, 4, 4)
    assert 0 < coverage < 1
    assert base.sql("select distinct exe from processes").fetchall() == [
        ("/global/u2/s/ssnyder/software/ior/build/src/ior",)
    ]
    assert base.sql("select distinct host from nodes").fetchall() == [("nid00097",)]
    nested = "select distinct p.layer, c.layer from calls c left join calls p on p.id = c.parent order by 2"
    assert base.sql(nested).fetchall() == [(None, "mpiio"), ("mpiio", "posix")]
    inside = "select distinct enclosing_layer, layer, rank = 0 from counters join processes using (process)"
    # The log has HDF5's records of ranks 1 to 3 only.
    assert set(base.sql(inside).fetchall()) == {
        (None, "hdf5", False), (None, "mpiio", True), ("hdf5", "mpiio", False),
        ("mpiio", "posix", True), ("mpiio", "posix", False), (None, "stdio", True),
    }  # fmt: skip
    stripe = "select value from hints_in_force where key = 'striping_unit'"
    assert base.sql(stripe).fetchall() == [("1048576",)]
    shown = fathom("show", run, "--all")
    assert shown.returncode == 0, shown.stderr
    assert "imported from a Darshan log of version 3.21" in shown.stdout


def test_counters_alone_have_no_rows_and_equal_parts(tmp_path: Path) -> None:
    run = imported(sample(MIXED), tmp_path)
    base = tables.connect(run)
    assert base.sql("select count(*) from calls").fetchall() == [(0,)]
    mixed = "select distinct op from counters where layer = 'mpiio' and kind = 'write'"
    assert base.sql(mixed).fetchall() == [("write",)], (
        "independent or collective: their bytes are one sum"
    )
    shown = " ".join(fathom("show", run, "--all").stdout.split())
    assert "of MPI-IO's reads and writes, by number, are collective" in shown
    each = "select sum(bytes) as bytes from counters where op = 'H5Dopen' or op = 'H5Dwrite' group by process"
    parts = f"select count(*), mode(bytes), count(distinct bytes) <= 4 from ({each})"
    (ranks, usual, few) = base.sql(parts).fetchall()[0]
    assert (ranks, usual > 0, few) == (16, True, True), "all but the slowest and fastest are alike"
    assert base.sql("select count(*) from marks where detail like '%equal part%'").fetchall() == [
        (1,)
    ]


@pytest.mark.parametrize(
    "command", [("show", "--findings"), ("query", "--sql", "from runs"), ("report",)]
)
@pytest.mark.parametrize("name", [SMALL, MIXED])
@pytest.mark.full
def test_other_commands_read_it(tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
    run = imported(sample(name), tmp_path)
    done = fathom(command[0], run, *command[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def refused(log: Path, place: Path) -> str:
    done = fathom("import", "darshan", log, "-o", place / "bad.fathom")
    assert done.returncode in (2, 3), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not list(place.glob("bad*"))
    return done.stderr


def test_what_is_no_log_gets_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"nothing of the kind" * 500)
    assert "no log of Darshan" in refused(log, tmp_path)
    log.write_bytes(b"")
    assert "no log of Darshan" in refused(log, tmp_path)
    assert "no such file" in refused(tmp_path / "none", tmp_path)
    good = sample(SMALL).read_bytes()
    log.write_bytes(b"9.99\0\0\0\0" + good[8:])
    assert "no log of Darshan, or of a version" in refused(log, tmp_path)
    both = fathom("import", "darshan", sample(SMALL), sample(MIXED), "-o", tmp_path / "bad")
    assert both.returncode == 2
    assert "name one" in both.stderr


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    hide = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "darshan" else find(name, *more)
from fathom.__main__ import main
sys.exit(main())
"""
    words = ["import", "darshan", str(sample(SMALL)), "-o", str(tmp_path / "bad")]
    done = subprocess.run(
        [sys.executable, "-c", hide, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    assert "fathom-io[darshan]" in done.stderr


SHARES = {
    # Of the run time, by the counters: seconds of the layer that the program calls, by ranks and seconds of the run.
    "darshan-logs-e3sm-pnetcdf": (0.9436, "mpiio", 512, 727),
    "aiio-openpmd-independent": (0.8726, "mpiio", 1024, 1023),
    "aiio-openpmd-collective": (0.9979, "mpiio", 1024, 741),
    "aiio-ior-write-1k": (0.9563, "posix", 256, 465),
    "aiio-ior-read-strided-1k": (0.7743, "posix", 256, 5),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("name", wild.cases())
def test_logs_of_real_jobs_agree_with_darshans_own_reader(name: str) -> None:
    log = wild.log(name)
    run = imported_once(log)
    assert compare(log, run) > 0
    assert rows_of(run) == segments(log)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", SHARES)
def test_share_of_the_run_is_that_of_the_layer_which_the_program_calls(name: str) -> None:
    share, layer, ranks, lasted = SHARES[name]
    log = wild.log(name)
    theirs = sum(sum_[2] for key, sum_ in sums(Theirs(log)).items() if key[0] == layer)
    assert theirs / ranks / lasted == pytest.approx(share, abs=1e-4)
    run = imported_once(log)
    own = "select sum(time) / 1e9 from counters where enclosing is null and layer not in ('mpi', 'stdio')"
    (seconds,) = tables.connect(run).sql(own).fetchall()[0]
    assert seconds == pytest.approx(theirs, rel=1e-3)
    assert "\nI/O the problem?  yes: " in fathom("show", run, "--all").stdout


@pytest.mark.parametrize("name", ["e2e-pathological", "e2e-optimized"])
def test_syncs_have_what_writes_do_not(name: str) -> None:
    """Darshan's seconds of writes are those of syncs too: where writes have rows, the rest is theirs."""
    log = wild.log(name)
    for module, layer in (("POSIX", "posix"), ("MPI-IO", "mpiio")):
        prefix = module.replace("-", "")
        theirs = sum(
            record["fcounters"][f"{prefix}_F_WRITE_TIME"] for record in Theirs(log).records(module)
        )
        own = f"select sum(time) / 1e9 from counters where layer = '{layer}' and kind in ('write', 'sync')"
        (seconds,) = tables.connect(imported_once(log)).sql(own).fetchall()[0]
        assert seconds == pytest.approx(theirs, rel=1e-3)


# Where the header of a log of version 3.21 has the place and length of module 0, and its version.
PLACES, VERSIONS = 40, 296
NUMBERS = {"POSIX": 1, "MPI-IO": 2, "H5D": 4, "LUSTRE": 7, "STDIO": 8, "DXT_POSIX": 9}


def changed(log: Path, module: str, how: str, place: Path) -> Path:
    """The log with one module of a newer version, damaged, or marked as not whole."""
    content, number = bytearray(log.read_bytes()), NUMBERS[module]
    if how == "newer":
        struct.pack_into("<I", content, VERSIONS + 4 * number, 99)
    else:
        offset, length = struct.unpack_from("<QQ", content, PLACES + 16 * number)
        content[offset : offset + length] = b"\xff" * length
    path = place / f"{module}-{how}.darshan"
    path.write_bytes(content)
    return path


def test_modules_that_an_error_hides_are_missed_on_the_page(tmp_path: Path) -> None:
    """Darshan's library says nothing of a seek that fails: the import had no calls, and looked like a log without."""
    needs.require(["strace"])
    log, run = shutil.copy(sample("pq_app_write_id71296"), tmp_path / "log"), tmp_path / "x.fathom"
    inject = ["-e", "trace=lseek", "-e", "inject=lseek:error=EIO:when=2", "-P", str(log)]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *inject]
    subprocess.run([*strace, paths.FATHOM, "import", "darshan", log, "-o", run], check=True)
    page = fathom("show", run).stdout
    assert "has none, but parts of it could not be read" in page
    assert "Missing: unreadable: module POSIX" in page


@pytest.mark.some(4)
@pytest.mark.parametrize("how", ["newer", "damaged"])
@pytest.mark.parametrize("module", NUMBERS)
def test_a_module_that_cannot_be_read_costs_itself(tmp_path: Path, module: str, how: str) -> None:
    log = changed(sample(SMALL), module, how, tmp_path)
    run = imported(log, tmp_path)
    # After an error PyDarshan reads nothing more of a log: the judge has the one that is whole.
    assert compare(sample(SMALL), run, without=module) > 0
    marks = tables.connect(run).sql("select detail from marks where kind = 'unreadable'").fetchall()
    version = 99 if how == "newer" else Theirs(log).modules[module]["ver"]
    lines = [detail for (detail,) in marks if "cannot be read" in detail]
    assert [line.partition(", cannot")[0] for line in lines] == [
        f"module {module}, version {version}"
    ]
    if how == "newer":
        assert "newer" in lines[0] and lines[0].endswith("where its darshan-parser is in PATH")


def damaged(good: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.4:
        return good[: chance.randrange(len(good))]
    bad = bytearray(good)
    # The first bytes are the header, which nothing checks.
    for _ in range(chance.choice((1, 1, 3))):
        bad[chance.randrange(chance.choice((1400, len(good))))] ^= 1 << chance.randrange(8)
    return bytes(bad)


def one_damage(log: Path, place: Path, seed: int) -> None:
    bad, run = place / "damaged.darshan", place / "damaged.fathom"
    bad.write_bytes(damaged(log.read_bytes(), random.Random(seed)))
    done = fathom("import", "darshan", bad, "-o", run, env={**os.environ, "COLUMNS": "200"})
    left = [path.name for path in place.iterdir() if path != bad]
    if done.returncode == 0:
        # What nothing checks may be anything; the run is whole all the same.
        assert left == [run.name]
        assert fathom("query", run, "--sql", "from runs").returncode == 0
        subprocess.run(["rm", "-r", str(run)], check=True)
        return
    assert done.returncode == 3, done.stderr
    assert not left
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_damage_never_leaves_a_part(tmp_path: Path) -> None:
    for seed in range(3):
        one_damage(sample(SMALL), tmp_path, seed)


@pytest.mark.full
def test_much_damage_never_leaves_a_part(tmp_path: Path) -> None:
    for seed in range(3, 120):
        one_damage(sample(QUICK[seed % 4]), tmp_path, seed)
