"""fathom import recorder: runs that Recorder 2.5.0 and 3.0.0 recorded, against strace's logs of the same run and what
Recorder's own reader says of it; damage."""

from __future__ import annotations

import random
import shutil
import struct
import tempfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.analysis.answers import library
from fathom.run.store import open_run
from harness import paths, tables, traces

SAMPLE = paths.TESTS / "samples" / "recorder"
EACH, MERGED = SAMPLE / "each", SAMPLE / "merged"
# Of version 3 the same program, on 4 ranks, with every way of writing it: tables of all ranks merged or not, offsets
# as lines over ranks, as distances, files or recorder.dat.
V3 = SAMPLE / "v3"
WAYS = ("merged", "each", "inter", "intra", "both", "dat", "dat-each")
# Of version 2.5: ranks, seconds since 1970, seconds of a tick, are times packed, are tables merged.
HEADER = struct.Struct("<i4xdd4xii4x")
# Before a table that is packed: its bytes there, and unpacked. Bytes of a rank's times.
SIZES, SIZE = struct.Struct("<QQ"), struct.Struct("<Q")
# recorder.dat: magic, number of its layout, sections. Of each: its kind, a rank or -1, where it is, bytes.
WHOLE, MAGIC = "recorder.dat", b"RECORDER"
HEAD, SECTION = struct.Struct("<8sII"), struct.Struct("<IiQQ")
ACCESSES = """
    select p.pid, c.op, f.path, size, file_offset, bytes
    from calls c join files f using (file) join processes p using (process)
    where c.layer = 'posix' and c.kind in ('read', 'write') order by p.pid, c.start"""
CALLS = "select rank, op, layer, size, file_offset, bytes from calls order by rank, start, duration desc"
ROWS = """
    select c.rank, c.op, c.layer, f.path, c.size, c.file_offset, c.bytes, c.result, p.op, c.thread, c.start, c.duration
    from calls c left join files f using (file) left join calls p on p.id = c.parent order by c.id"""
# Fathom's names of functions, and what of the sample it leaves out.
NAMES, LEFT = {"fopen64": "fopen"}, "MPI_Comm_rank"


def imported(place: Path, *files: Path, tool: str = "recorder") -> Any:
    run = place / f"{files[0].name}.fathom"
    assert main(["import", tool, *map(str, files), "-o", str(run)]) == 0
    return tables.connect(run)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample")
    imported(place, EACH)
    return place


def test_accesses_are_those_that_strace_saw(place: Path, tmp_path: Path) -> None:
    ours = [row[1:] for row in tables.connect(place / "each.fathom").sql(ACCESSES).fetchall()]
    logs = [SAMPLE / f"strace.{rank}" for rank in (0, 1)]
    theirs = [row[1:] for row in imported(tmp_path, *logs, tool="strace").sql(ACCESSES).fetchall()]
    # 2 ranks x (5 + 40 + 2 + 1 + 1 + 1 to a file of its own, 4 + 3 + 1 to the shared one), in this order.
    assert len(ours) == 2 * (50 + 8)
    assert ours == theirs
    assert sum(row[4] for row in ours) == 2 * (
        20490 + 40000 + 1024 + 100 + 30 + 11 + 32768 + 12000 + 8192
    )


def test_every_call_is_where_recorders_own_reader_has_it(place: Path) -> None:
    base = tables.connect(place / "each.fathom")
    expected = []
    for line in (SAMPLE / "each.txt").read_text().splitlines():
        rank, depth, name, began, ended, *words = line.split(" ")
        if name != LEFT:
            path = next((word for word in words if word.startswith("/")), None)
            expected.append(
                (int(rank), NAMES.get(name, name), int(depth) > 0, path, float(began), float(ended))
            )
    select = """
        select rank, op, parent is not null, f.path, c.start / 1e9, c.duration / 1e9
        from calls c left join files f using (file) order by rank, c.start, c.duration desc"""
    calls = base.sql(select).fetchall()
    assert [row[:3] for row in calls] == [row[:3] for row in expected]
    # Its times are from each rank's own begin; the run's are from that of the metadata, which are the same here.
    for ours, theirs in zip(calls, expected, strict=True):
        # Of MPI-IO's calls Recorder names the file in the open alone.
        assert ours[3] == theirs[3] or ours[1].startswith("MPI_File")
        # Ticks that its reader loses between a call and those inside are put back: a few of 100 ns.
        assert ours[4] == pytest.approx(theirs[4], abs=5e-6)
        assert ours[5] == pytest.approx(theirs[5] - theirs[4], abs=2e-6)


def test_mpi_io_has_its_file_bytes_and_posix_inside(place: Path) -> None:
    select = """
        select c.op, regexp_replace(f.path, '.*/', ''), c.size, c.file_offset, p.op, p.layer
        from calls c join files f using (file) join calls p on p.id = c.parent
        where c.op like 'p%' and p.layer = 'mpiio' and c.rank = 1 order by c.start"""
    calls = tables.connect(place / "each.fathom").sql(select).fetchall()
    whole = [
        ("pwrite", "shared", 8192, 8192 * (2 * i + 1), "MPI_File_write_at_all", "mpiio")
        for i in range(4)
    ]
    part = [
        ("pwrite", "shared", 4000, 100000 + 4000 * (2 * i + 1), "MPI_File_write_at", "mpiio")
        for i in range(3)
    ]
    assert calls == [*whole, *part, ("pread", "shared", 8192, 0, "MPI_File_read_at", "mpiio")]
    select = """
        select op, sum(size), sum(bytes), count(*), any_value(regexp_replace(f.path, '.*/', ''))
        from calls join files f using (file) where layer = 'mpiio' and size is not null and rank = 1
        group by op order by op"""
    assert tables.connect(place / "each.fathom").sql(select).fetchall() == [
        ("MPI_File_read_at", 8192, 8192, 1, "shared"),
        ("MPI_File_write_at", 12000, 12000, 3, "shared"),
        ("MPI_File_write_at_all", 32768, 32768, 4, "shared"),
    ]  # fmt: skip


def test_collective_calls_are_told_from_independent_ones(place: Path) -> None:
    took: Counter[str] = Counter()
    for line in (SAMPLE / "each.txt").read_text().splitlines():
        _, _, name, began, ended, *_ = line.split(" ")
        took[name] += float(ended) - float(began)
    data = [name for name in took if name.startswith(("MPI_File_read", "MPI_File_write"))]
    share = took["MPI_File_write_at_all"] / sum(took[name] for name in data)
    share_said = library(open_run(place / "each.fathom")).collective
    assert share_said == pytest.approx(share, rel=1e-3)


def test_merged_tables_are_the_same_run(place: Path, tmp_path: Path) -> None:
    merged, each = imported(tmp_path, MERGED), tables.connect(place / "each.fathom")
    assert merged.sql(CALLS).fetchall() == each.sql(CALLS).fetchall()


def test_what_recorder_cannot_know_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = place / "each.fathom"
    select = "select detail, value from marks where kind = 'recorder'"
    marks = dict(tables.connect(run).sql(select).fetchall())
    assert marks[f"left out: calls of {LEFT}"] == 2
    assert any("how far ranks are apart" in mark for mark in marks)
    assert not any("several threads" in mark for mark in marks)
    assert main(["show", str(run), "--all"]) == 0
    page = capsys.readouterr().out
    assert "each: imported from Recorder\n" in page
    assert "results are not recorded" in page
    assert f"left out: calls of {LEFT} (2 times)" in page
    assert main(["show", str(run), "--findings"]) == 0
    # The ranks do touch the same bytes, in the order of a barrier; no clock here and no communicator says so.
    page = capsys.readouterr().out
    assert "Findings:" in page
    assert "in no order" not in page


def words(*numbers: int) -> bytes:
    return array("i", numbers).tobytes()


def header(**more: Any) -> bytes:
    names = ("ranks", "start", "tick", "packed", "merged")
    good = dict(zip(names, HEADER.unpack_from((EACH / "recorder.mt").read_bytes()), strict=True))
    return (
        HEADER.pack(*{**good, **more}.values()) + (EACH / "recorder.mt").read_bytes()[HEADER.size :]
    )


# A grammar of 40 rules, each 2^30 times the next.
BOMB = words(
    40, *(n for rule in range(1, 40) for n in (-rule, 1, -rule - 1, 1 << 30)), -40, 1, 0, 1
)  # fmt: skip
# A file, what is in it (None: it is not there), and what the line says.
BAD: dict[str, tuple[str, bytes | None, str]] = {
    "no version": ("VERSION", None, "Recorder writes VERSION last"),
    "version 4": ("VERSION", b"4.0.0", "written by Recorder '4.0.0'; traces of versions 2.5 and 3.0 are read"),
    "version 2.3": ("VERSION", b"2.3.2", "traces of versions 2.5"),
    "other version": ("VERSION", b"3.0.0", "recorder.mt is not as Recorder 3.0.0 wrote it"),
    "binary version": ("VERSION", b"\xff" * 99, "traces of versions 2.5"),
    "torn metadata": ("recorder.mt", b"\x02\0\0", "recorder.mt breaks off"),
    "other metadata": ("recorder.mt", header(start=1e-300), "not as Recorder 2.5.0 wrote it"),
    "many ranks": ("recorder.mt", header(ranks=1 << 23), "2.cst is missing"),
    "no ranks": ("recorder.mt", header(ranks=-1), "not as Recorder"),
    "no times": ("recorder.mt", header(tick=float("nan")), "not as Recorder"),
    "packed times": ("recorder.mt", header(packed=1), "times are compressed"),
    "merged without table": ("recorder.mt", header(merged=1), "ug.mt is missing"),
    "no signatures": ("1.cst", None, "1.cst is missing"),
    "torn signatures": ("0.cst", (EACH / "0.cst").read_bytes()[:-3], "0.cst is damaged, or breaks off"),
    "many signatures": ("0.cst", words(1 << 30) + (EACH / "0.cst").read_bytes()[4:], "0.cst is damaged"),
    "no grammar": ("1.cfg", None, "1.cfg is missing"),
    "torn grammar": ("0.cfg", (EACH / "0.cfg").read_bytes()[:-2], "0.cfg breaks off"),
    "short grammar": ("0.cfg", (EACH / "0.cfg").read_bytes()[:-8], "0.cfg is damaged"),
    "empty grammar": ("0.cfg", b"", "0.cfg breaks off"),
    "many symbols": ("0.cfg", words(1, -1, 1 << 30, 0, 1), "0.cfg is damaged"),
    "below no symbols": ("0.cfg", words(1, -1, -5), "0.cfg is damaged"),
    "unknown call": ("0.cfg", words(1, -1, 1, 9999, 1), "a call that is not there"),
    "unknown rule": ("0.cfg", words(1, -1, 1, -7, 1), "a rule is missing"),
    "rule in itself": ("0.cfg", words(2, -1, 1, -2, 1, -2, 1, -1, 1), "holds itself"),
    "calls without end": ("0.cfg", BOMB, "0.ts has times of 93 calls"),
    "torn times": ("0.ts", (EACH / "0.ts").read_bytes()[:-1], "0.ts has times of 92.875 calls, 0.cfg 93"),
    "no times of a rank": ("1.ts", b"", "1.ts has times of 0 calls"),
}  # fmt: skip


def refused(trace: Path, says: str) -> None:
    message = traces.refused("recorder", trace, trace.parent / "bad")
    assert f"{trace}: " in message
    assert says in message


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_trace_is_refused(tmp_path: Path, what: str) -> None:
    name, content, says = BAD[what]
    trace = shutil.copytree(EACH, tmp_path / "t")
    (trace / name).unlink()
    if content is not None:
        (trace / name).write_bytes(content)
    refused(trace, says)


def test_a_refusal_is_one_line_and_leaves_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    torn = shutil.copytree(EACH, tmp_path / "torn")
    # The other rank is whole, and told before.
    (torn / "1.cst").write_bytes((EACH / "1.cst").read_bytes()[:-3])
    cases = (
        ((torn,), 3, "1.cst is damaged"),
        ((tmp_path,), 3, "no VERSION in it"),
        ((tmp_path / "no",), 2, "no such file"),
        ((EACH, MERGED), 2, "name one"),
    )
    for named, status, says in cases:
        assert main(["import", "recorder", *map(str, named), "-o", str(tmp_path / "bad")]) == status
        message = capfd.readouterr().err
        assert says in message
        assert len(message.strip().splitlines()) == 1
        assert not list(tmp_path.glob("bad*"))


def read(trace: Path) -> tuple[list[Any], list[Any]]:
    """Its calls as they are rows, and what it lacks."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place, "run.fathom")
        done = traces.given("recorder", trace, run)
        assert done.returncode == 0, done.stderr
        base = tables.connect(run)
        return base.sql(ROWS).fetchall(), base.sql("select detail, value from marks").fetchall()


def test_threads_that_nobody_told_apart_are_said(tmp_path: Path) -> None:
    trace = shutil.copytree(EACH, tmp_path / "t")
    times = array("I", (EACH / "0.ts").read_bytes())
    times[3] += 50_000_000  # the second call runs on for 5 s, beside all others
    (trace / "0.ts").write_bytes(times.tobytes())
    calls, marks = read(trace)
    assert any("several threads" in detail for detail, _ in marks)
    # Nobody knows whose a position was: of this rank's writes none has an offset.
    assert {row[5] for row in calls if row[:2] == (0, "write")} == {None}
    assert {row[5] for row in calls if row[:2] == (1, "write")} != {None}


def test_times_of_centuries_are_refused(tmp_path: Path) -> None:
    trace = shutil.copytree(EACH, tmp_path / "t")
    (trace / "recorder.mt").write_bytes(header(tick=1.0))
    (trace / "0.ts").write_bytes(b"\xff" * (EACH / "0.ts").stat().st_size)
    refused(trace, "rank 0 has times that cannot be")


def packed(data: bytes, size: int | None = None) -> bytes:
    table = zlib.compress(data)
    return SIZES.pack(len(table), len(data) if size is None else size) + table


def unpacked(data: bytes) -> list[bytes]:
    blocks = []
    while data:
        size, _ = SIZES.unpack_from(data)
        blocks.append(zlib.decompress(data[SIZES.size : SIZES.size + size]))
        data = data[SIZES.size + size :]
    return blocks


def damaged(good: bytes, chance: random.Random) -> bytes:
    bad = bytearray(good)
    for _ in range(chance.choice((1, 2, 8))):
        at = chance.randrange(len(bad))
        what = chance.choice(
            (b"", b"\0", b"\xff", words(-1), words(1 << 30), b" ", struct.pack("d", 1e300))
        )
        bad[at : at + chance.choice((0, 1, len(what)))] = what
    return bytes(bad)


def hurt(file: Path, chance: random.Random) -> bytes:
    """Of tables that are packed, every other one as if its writer had packed the damage."""
    if V3 in file.parents and file.suffix in (".cst", ".cfg") and chance.random() < 0.5:
        tables = unpacked(file.read_bytes())
        one = chance.randrange(len(tables))
        tables[one] = damaged(tables[one], chance)
        return b"".join(map(packed, tables))
    return damaged(file.read_bytes(), chance)


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 6000), marks=pytest.mark.full)]
)
def test_damage_is_read_or_refused(tmp_path: Path, seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        chance = random.Random(seed)
        good = chance.choice((EACH, MERGED, *(V3 / way for way in (*WAYS, "nc"))))
        hit = chance.choice(sorted(good.iterdir()))
        trace = shutil.copytree(good, tmp_path / "t")
        (trace / hit.name).write_bytes(hurt(hit, chance))
        seen["refused" if traces.is_refused("recorder", trace, tmp_path / "run") else "read"] += 1
        shutil.rmtree(trace)
    assert seen["refused"] > 0 < seen["read"]


@pytest.mark.full
def test_what_is_told_of_damage_is_a_run_that_packs(tmp_path: Path) -> None:
    run = tmp_path / "t.fathom"
    for seed in range(60):
        chance = random.Random(seed)
        trace = shutil.copytree(EACH, tmp_path / "t")
        name = chance.choice(("0.cst", "0.ts", "recorder.mt"))
        (trace / name).write_bytes(damaged((EACH / name).read_bytes(), chance))
        status = main(["import", "recorder", str(trace), "-o", str(run)])
        if status == 0:
            assert main(["query", str(run), "--sql", "from runs"]) == 0
            shutil.rmtree(run)
        assert status in (0, 3)
        shutil.rmtree(trace)
        assert not list(tmp_path.iterdir())


def bare(trace: Path) -> tuple[list[Any], list[Any]]:
    """What was read, without times and threads."""
    calls, marks = read(trace)
    return [row[:-3] for row in calls], marks


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of version 3, and strace's log of it."""
    place = tmp_path_factory.mktemp("v3")
    logs = [V3 / f"strace.{rank}" for rank in range(4)]
    return imported(place, V3 / "merged"), imported(place, *logs, tool="strace")


def test_accesses_of_version_3_are_those_that_strace_saw(new: Any) -> None:
    ours, theirs = ([row[1:] for row in run.sql(ACCESSES).fetchall()] for run in new)
    # 4 ranks x (3 + 8 + 2 + 2 + 1 + 1 to a file of its own, 4 to one of all, 3 + 3 + 1 to MPI-IO's), and one more.
    assert len(ours) == 4 * (17 + 4 + 7) + 1
    assert ours == theirs


def test_times_of_version_3_are_straces_behind_rules_too(new: Any) -> None:
    select = """
        select p.pid, (c.start - min(c.start) over (partition by p.pid)) / 1e9, c.duration / 1e9
        from calls c join processes p using (process)
        where c.layer = 'posix' and c.kind in ('read', 'write') order by p.pid, c.start"""
    ours, theirs = (run.sql(select).fetchall() for run in new)
    assert max(row[1] for row in ours) > 0.3
    for mine, other in zip(ours, theirs, strict=True):
        # strace begins at the system call, Recorder before it: it costs a few tens of microseconds.
        assert mine[1:] == pytest.approx(other[1:], abs=1e-4)


def test_calls_of_version_3_are_those_of_recorders_own_reader(new: Any) -> None:
    words = [line.split(" ") for line in (V3 / "merged.txt").read_text().splitlines()]
    select = """
        select rank, op, f.path, c.start / 1e9, c.duration / 1e9
        from calls c left join files f using (file) order by rank, c.start, c.duration desc"""
    calls = new[0].sql(select).fetchall()
    assert [row[:2] for row in calls] == [(int(row[0]), NAMES.get(row[2], row[2])) for row in words]
    late = 0
    for ours, theirs in zip(calls, words, strict=True):
        path = next((word for word in theirs[5:] if word.startswith("/")), ours[2])
        assert ours[2] == path
        late += abs(ours[3] - float(theirs[3])) > 1e-5
    # Behind the first rule of a grammar it takes other calls' times, which test_times shows to be wrong.
    assert late > 100
    assert all(
        float(row[3]) == pytest.approx(ours[3], abs=1e-6)
        for row, ours in zip(words[:8], calls[:8], strict=True)
    )


@pytest.mark.some(3)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_writing_is_the_same_run(way: str) -> None:
    calls, marks = bare(V3 / way)
    assert (calls, marks) == bare(V3 / "merged")
    assert not any("several threads" in detail for detail, _ in marks)


def test_offsets_as_patterns_are_numbers_of_the_ranks_that_were_compared() -> None:
    """Rank 1 made one seek more, rank 0 one write more: Recorder left them out, and numbered the others from 0."""
    signatures = b"".join(unpacked((V3 / "inter" / "recorder.cst").read_bytes()))
    assert b" 100*r+64 " in signatures
    assert b" 1000*r+1000 " in signatures
    calls, _ = read(V3 / "inter")
    sought = [[row[7] for row in calls if row[:2] == (rank, "lseek")] for rank in range(4)]
    assert sought == [[0, 64], [9, 100, 164], [100, 164], [200, 264]]


def test_hdf5_is_around_mpi_io_and_that_around_posix(tmp_path: Path) -> None:
    run = imported(tmp_path, V3 / "hdf5")
    logs = [V3 / f"hdf5.strace.{rank}" for rank in (0, 1)]
    theirs = imported(tmp_path, *logs, tool="strace").sql(ACCESSES).fetchall()
    assert [row[1:] for row in run.sql(ACCESSES).fetchall()] == [row[1:] for row in theirs]
    bare = "select count(*) from marks where detail like '%HDF5%neither files nor bytes%'"
    assert run.sql(bare).fetchall() == [(1,)]
    select = """
        select q.op, p.op, c.op, c.size, c.file_offset
        from calls c join calls p on p.id = c.parent join calls q on q.id = p.parent
        where q.op like 'H5D%' and c.rank = 1 order by c.start"""
    row = 512 * 4
    written = [
        ("H5Dwrite", "MPI_File_write_at", "pwrite", row, 2048 + row * (2 * i + 1)) for i in range(4)
    ]
    assert run.sql(select).fetchall() == [
        *written,
        ("H5Dread", "MPI_File_read_at", "pread", row, 2048 + row * 7),
    ]


def test_pnetcdf_netcdf_views_and_steps_are_as_strace_saw_them(tmp_path: Path) -> None:
    run = imported(tmp_path, V3 / "nc")
    logs = [V3 / f"nc.strace.{rank}" for rank in (0, 1)]
    theirs = imported(tmp_path, *logs, tool="strace").sql(ACCESSES).fetchall()
    # Open MPI reads its hints, too, from a descriptor that its open did not give it.
    ours = [row for row in run.sql(ACCESSES).fetchall() if not row[2].startswith("/etc/")]
    assert [row[1:] for row in ours] == [row[1:] for row in theirs]
    # Steps from where the file is: 100 bytes, then 50 on.
    assert [row[4] for row in ours if row[2].endswith("cells.1.raw")] == [0, 150, 211]
    select = """
        select q.op, p.op, p.file_offset = c.file_offset, count(*)
        from calls c join calls p on p.id = c.parent left join calls q on q.id = p.parent
        where c.op = 'pwrite' and c.rank = 1 group by all order by all"""
    # In a view of integers offsets are its bytes.
    assert run.sql(select).fetchall() == [
        ("ncmpi_put_vara_all", "MPI_File_write_at_all", True, 3),
        (None, "MPI_File_write_at", True, 4),
    ]
    written = """
        select p.op, c.op, count(*) from calls c join calls p on p.id = c.parent
        where p.layer = 'netcdf' and c.kind = 'write' group by all order by all"""
    assert run.sql(written).fetchall() == [
        ("nc_close", "write", 2), ("nc_create", "write", 2), ("nc_enddef", "write", 2),
    ]  # fmt: skip


def times_of(trace: Path, change: Callable[[Any], None]) -> None:
    """Changes the times of rank 0 in a directory of 4 ranks."""
    data = (trace / "recorder.ts").read_bytes()
    sizes = array("Q", data[: 4 * SIZE.size])
    at = 4 * SIZE.size
    times = array("I", unpacked(data[at : at + sizes[0]])[0])
    change(times)
    table = packed(times.tobytes())
    rest = data[at + sizes[0] :]
    sizes[0] = len(table)
    (trace / "recorder.ts").write_bytes(sizes.tobytes() + table + rest)


def test_offsets_of_threads_that_nobody_told_apart_are_unknown(tmp_path: Path) -> None:
    trace = shutil.copytree(V3 / "intra", tmp_path / "t")

    def beside(times: Any) -> None:
        times[3] += 50_000_000  # the second call runs on for 5 s, beside all others

    times_of(trace, beside)
    calls, marks = read(trace)

    def offsets(op: str) -> set[int | None]:
        return {row[5] for row in calls if row[:2] == (0, op)}

    # Distances have no beginning then; of pread offsets were written.
    assert (offsets("pwrite"), offsets("pread")) == ({None}, {0, 5000, 24576})
    assert any("whose offsets are unknown" in detail for detail, _ in marks)


def test_ranks_have_their_own_grammars_in_any_order(tmp_path: Path) -> None:
    trace = shutil.copytree(V3 / "merged", tmp_path / "t")
    tables = unpacked((trace / "ug.cfg").read_bytes())
    assert len(tables) == 4
    (trace / "ug.cfg").write_bytes(b"".join(packed(tables[one]) for one in (2, 0, 3, 1)))
    (trace / "ug.mt").write_bytes(words(1, 3, 0, 2, 4))
    assert read(trace) == read(V3 / "merged")


def whole(trace: Path, to: Path, layout: int = 1) -> Path:
    """recorder.dat of layout 1, as Recorder's sources have it: none of that layout was at hand."""
    data = (trace / "recorder.mt").read_bytes()
    names = [name.ljust(64, b"\0") for name in data[1024:].splitlines()]
    head = struct.pack("<iii", 3, 0, 0) + data[:4] + struct.pack("<i", len(names)) + data[4:12]
    tables = {0: head.ljust(32, b"\0") + data[16:40] + b"".join(names)}
    for kind, name in enumerate(("recorder.ts", "recorder.cst", "ug.cfg", "ug.mt"), 1):
        tables[kind] = (trace / name).read_bytes()
    at = HEAD.size + len(tables) * SECTION.size
    table = b""
    for kind, content in tables.items():
        table += SECTION.pack(kind, -1, at, len(content))
        at += len(content)
    to.mkdir()
    head = HEAD.pack(MAGIC, layout, len(tables))
    (to / WHOLE).write_bytes(head + table + b"".join(tables.values()))
    return to


def test_recorder_dat_without_places_in_the_code_is_read(tmp_path: Path) -> None:
    trace = whole(V3 / "both", tmp_path / "t")
    assert read(trace) == read(V3 / "both") == read(trace / WHOLE)
    refused(whole(V3 / "both", tmp_path / "3", layout=3), "'3.0.0', recorder.dat of layout 3;")


def of(name: str, way: str = "merged") -> bytes:
    return (V3 / way / name).read_bytes()


# A rule that no other names, and in it a call that is not there.
UNUSED = words(2, -1, 1, 0, 1, -2, 1, 9999, 1)
MT, DAT = of("recorder.mt"), of("recorder.dat", "dat")
# A way, a file, what is in it (None: it is not there), and what the line says.
BAD3: dict[str, tuple[str, str, bytes | None, str]] = {
    "no version": ("merged", "VERSION", None, "no VERSION in it"),
    "names at once": ("merged", "recorder.mt", MT[:40] + b"open" + MT[44:], "not as Recorder 3.0.0 wrote it"),
    "other flags": ("merged", "recorder.mt", MT[:36] + b"\7" + MT[37:], "not as Recorder 3.0.0 wrote it"),
    "torn metadata": ("merged", "recorder.mt", MT[:1000], "recorder.mt breaks off"),
    "no signatures": ("merged", "recorder.cst", None, "recorder.cst is missing"),
    "torn signatures": ("merged", "recorder.cst", of("recorder.cst")[:-1], "recorder.cst breaks off"),
    "torn sizes": ("merged", "recorder.cst", b"\1" * 15, "recorder.cst breaks off"),
    "two tables": ("merged", "recorder.cst", of("recorder.cst") * 2, "recorder.cst has 2 tables"),
    "no table": ("merged", "recorder.cst", b"", "recorder.cst has 0 tables"),
    "no zlib": ("merged", "recorder.cst", SIZES.pack(4, 4) + b"abcd", "recorder.cst is damaged"),
    "more than it says": ("merged", "recorder.cst", packed(bytes(1 << 24), 100), "recorder.cst is damaged"),
    "less than it says": ("merged", "recorder.cst", packed(bytes(100), 1 << 60), "recorder.cst is damaged"),
    "more than there is": ("merged", "recorder.cst", SIZES.pack(1 << 63, 1 << 63) + b"x", "recorder.cst breaks off"),
    "many signatures": ("merged", "recorder.cst", packed(words(1 << 30)), "recorder.cst is damaged"),
    "no ranks' grammars": ("merged", "ug.mt", None, "ug.mt is missing"),
    "fewer ranks": ("merged", "ug.mt", of("ug.mt")[4:], "ug.mt is not that of 4 ranks"),
    "fewer grammars": ("merged", "ug.cfg", packed(words(1, -1, 0)), "ug.mt names a grammar that is not there"),
    "calls without end": ("merged", "ug.cfg", packed(BOMB) * 4, "recorder.ts has times of 60 calls, ug.cfg"),
    "calls without end, compared": ("inter", "ug.cfg", packed(BOMB) * 4, "recorder.ts has times of 60 calls, ug.cfg"),
    "unknown call in an unused rule": ("inter", "ug.cfg", packed(UNUSED) * 4, "recorder.ts has times of 60 calls"),
    "torn times": ("merged", "recorder.ts", of("recorder.ts")[:-1], "recorder.ts breaks off"),
    "torn sizes of times": ("merged", "recorder.ts", of("recorder.ts")[:31], "recorder.ts breaks off"),
    "many times": ("merged", "recorder.ts", b"\xff" * 32 + of("recorder.ts")[32:], "recorder.ts breaks off"),
    "no times": ("merged", "recorder.ts", bytes(32), "recorder.ts has times of 0 calls"),
    "a rank's signatures": ("each", "2.cst", None, "2.cst is missing"),
    "a rank's grammar": ("each", "3.cfg", None, "3.cfg is missing"),
    "plain times": ("each", "recorder.ts", of("recorder.ts", "each")[:-1], "recorder.ts breaks off"),
    "no magic": ("dat", "recorder.dat", b"RECODER" + DAT[7:], "recorder.dat is not as Recorder wrote it"),
    "torn head": ("dat", "recorder.dat", DAT[:10], "recorder.dat is not as Recorder wrote it"),
    "torn table": ("dat", "recorder.dat", DAT[:100], "recorder.dat breaks off"),
    "many sections": ("dat", "recorder.dat", DAT[:12] + b"\xff" * 4 + DAT[16:], "recorder.dat breaks off"),
    "torn section": ("dat", "recorder.dat", DAT[:-1], "recorder.dat breaks off"),
    "not patched at the end": ("dat", "recorder.dat", DAT[:16] + bytes(216) + DAT[232:], "was not written to its end"),
    "a section less": ("dat", "recorder.dat", DAT[:16] + b"\7" + DAT[17:], "recorder.mt is missing"),
    "newer layout": ("dat", "recorder.dat", DAT[:8] + b"\3" + DAT[9:], "recorder.dat of layout 3"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD3)
def test_what_is_no_trace_of_version_3_is_refused(tmp_path: Path, what: str) -> None:
    way, name, content, says = BAD3[what]
    trace = shutil.copytree(V3 / way, tmp_path / "t")
    (trace / name).unlink()
    if content is not None:
        (trace / name).write_bytes(content)
    refused(trace, says)
