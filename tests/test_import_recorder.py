"""fathom import recorder: runs of two ranks that Recorder 2.5.0 recorded, against strace's logs of the same run and
what Recorder's own reader says of it; damage."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.importing.functions import UNKNOWN_OFFSET
from fathom.importing.grammar import HEADER, Recording
from fathom.importing.lines import Damaged, Lines
from fathom.importing.recorder import Telling
from harness import paths, tables

SAMPLE = paths.TESTS / "samples" / "recorder"
EACH, MERGED = SAMPLE / "each", SAMPLE / "merged"
ACCESSES = """
    select p.pid, c.op, f.path, size, file_offset, bytes
    from calls c join files f using (file) join processes p using (process)
    where c.layer = 'posix' and c.kind in ('read', 'write') order by p.pid, c.start"""
CALLS = "select rank, op, layer, size, file_offset, bytes from calls order by rank, start, duration desc"
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
    found = base.sql(select).fetchall()
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    # Its times are from each rank's own begin; the run's are from that of the metadata, which are the same here.
    for ours, theirs in zip(found, expected, strict=True):
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
    found = tables.connect(place / "each.fathom").sql(select).fetchall()
    whole = [
        ("pwrite", "shared", 8192, 8192 * (2 * i + 1), "MPI_File_write_at_all", "mpiio")
        for i in range(4)
    ]
    part = [
        ("pwrite", "shared", 4000, 100000 + 4000 * (2 * i + 1), "MPI_File_write_at", "mpiio")
        for i in range(3)
    ]
    assert found == [*whole, *part, ("pread", "shared", 8192, 0, "MPI_File_read_at", "mpiio")]
    select = """
        select op, sum(size), sum(bytes), count(*), any_value(regexp_replace(f.path, '.*/', ''))
        from calls join files f using (file) where layer = 'mpiio' and size is not null and rank = 1
        group by op order by op"""
    assert tables.connect(place / "each.fathom").sql(select).fetchall() == [
        ("MPI_File_read_at", 8192, 8192, 1, "shared"),
        ("MPI_File_write_at", 12000, 12000, 3, "shared"),
        ("MPI_File_write_at_all", 32768, 32768, 4, "shared"),
    ]  # fmt: skip


def test_merged_tables_are_the_same_run(place: Path, tmp_path: Path) -> None:
    merged, each = imported(tmp_path, MERGED), tables.connect(place / "each.fathom")
    assert merged.sql(CALLS).fetchall() == each.sql(CALLS).fetchall()


def test_what_recorder_cannot_know_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = place / "each.fathom"
    select = "select detail, value from marks where kind = 'recorder'"
    marks = dict(tables.connect(run).sql(select).fetchall())
    assert marks[f"left out: calls of {LEFT}"] == 2
    assert any("how far ranks are apart" in said for said in marks)
    assert not any("several threads" in said for said in marks)
    assert main(["show", str(run)]) == 0
    assert "results are not recorded" in capsys.readouterr().out
    assert main(["show", str(run), "--findings"]) == 0
    # The ranks do touch the same bytes, in the order of a barrier; no clock here and no communicator says so.
    said = capsys.readouterr().out
    assert "Findings:" in said
    assert "in no order" not in said


def words(*numbers: int) -> bytes:
    return array("i", numbers).tobytes()


def header(**more: Any) -> bytes:
    names = ("ranks", "start", "tick", "buffer", "packed", "merged")
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
    "version 3": ("VERSION", b"3.0.0", "written by Recorder '3.0.0'; traces of version 2.5 are read"),
    "version 2.3": ("VERSION", b"2.3.2", "traces of version 2.5"),
    "binary version": ("VERSION", b"\xff" * 99, "traces of version 2.5"),
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


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_trace_is_refused(tmp_path: Path, what: str) -> None:
    name, content, says = BAD[what]
    trace = shutil.copytree(EACH, tmp_path / "t")
    (trace / name).unlink()
    if content is not None:
        (trace / name).write_bytes(content)
    with pytest.raises(Damaged) as said:
        Telling(Recording(trace), Lines(io.StringIO())).all()
    assert says in str(said.value)
    assert "\n" not in str(said.value)


def test_a_refusal_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
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
        said = capsys.readouterr().err
        assert says in said
        assert len(said.strip().splitlines()) == 1
        assert not list(tmp_path.glob("bad*"))


def told(trace: Path) -> list[str]:
    to = io.StringIO()
    Telling(Recording(trace), Lines(to)).all()
    return to.getvalue().splitlines()


def test_threads_that_nobody_told_apart_are_said(tmp_path: Path) -> None:
    trace = shutil.copytree(EACH, tmp_path / "t")
    times = array("I", (EACH / "0.ts").read_bytes())
    times[3] += 50_000_000  # the second call runs on for 5 s, beside all others
    (trace / "0.ts").write_bytes(times.tobytes())
    lines = told(trace)
    assert any("several threads" in line for line in lines)
    # Nobody knows whose a position was: of this rank's writes none has an offset.
    writes = [json.loads(line) for line in lines if ',"posix","write"' in line]
    calls = [json.loads(line) for line in lines if line.startswith('["call",0,')]
    assert {row[8][1] for row in calls if row[2] == writes[0][1]} == {UNKNOWN_OFFSET}


def test_times_of_centuries_are_refused(tmp_path: Path) -> None:
    trace = shutil.copytree(EACH, tmp_path / "t")
    (trace / "recorder.mt").write_bytes(header(tick=1.0))
    (trace / "0.ts").write_bytes(b"\xff" * (EACH / "0.ts").stat().st_size)
    with pytest.raises(Damaged, match=r"0\.ts has times that cannot be"):
        told(trace)


def damaged(good: bytes, chance: random.Random) -> bytes:
    bad = bytearray(good)
    for _ in range(chance.choice((1, 2, 8))):
        at = chance.randrange(len(bad))
        what = chance.choice(
            (b"", b"\0", b"\xff", words(-1), words(1 << 30), b" ", struct.pack("d", 1e300))
        )
        bad[at : at + chance.choice((0, 1, len(what)))] = what
    return bytes(bad)


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 6000), marks=pytest.mark.full)]
)
def test_damage_is_read_or_refused(tmp_path: Path, seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        chance = random.Random(seed)
        good = chance.choice((EACH, MERGED))
        hit = chance.choice(sorted(good.iterdir()))
        trace = shutil.copytree(good, tmp_path / "t")
        (trace / hit.name).write_bytes(damaged(hit.read_bytes(), chance))
        try:
            lines = told(trace)
        except Damaged:
            seen["refused"] += 1
        else:
            seen["read"] += 1
            assert lines[-1].startswith('["end",')
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
