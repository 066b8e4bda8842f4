"""fathom import dftracer: a run that DFTracer recorded, against strace's log of the same run; lines as its documents
give them, where no sample is at hand (MPI, version 1); damage."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import paths, tables, traces

SAMPLE = paths.TESTS / "samples" / "dftracer"
PARENT, CHILD = 2831, 2844
ACCESSES = """
    select c.thread, c.op, regexp_replace(f.path, '.*/', ''), size, file_offset, bytes, error <> 0
    from calls c join files f using (file)
    where layer = 'posix' and c.kind in ('read', 'write')"""
# Calls that C's streams make of themselves: strace sees them, DFTracer does not.
OF_STREAMS = Counter({
    (PARENT, "write", "text", 224, 0, 224, False): 1, (PARENT, "read", "text", 5, 0, 5, False): 1,
    (PARENT, "read", "text", 4096, 5, 219, False): 1,
})  # fmt: skip
START = 1_700_000_000_000_000
HOST = {
    "name": "HH",
    "cat": "dftracer",
    "pid": 7,
    "tid": 7,
    "ph": 4,
    "args": {"name": "n1", "value": "aa"},
}


def fathom(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def imported(place: Path, *files: Path, tool: str = "dftracer") -> Any:
    run = place / f"{tool}.fathom"
    done = fathom("import", tool, *files, "-o", run)
    assert done.returncode == 0, done.stderr
    return tables.connect(run)


def written(place: Path, *events: dict[str, Any], name: str = "t.pfw") -> Path:
    path = place / name
    path.write_text("".join(json.dumps(one) + "\n" for one in (HOST, *events)))
    return path


def event(name: str, category: str, began: int, took: int, **more: Any) -> dict[str, Any]:
    row = {
        "id": 1,
        "name": name,
        "cat": category,
        "pid": 7,
        "tid": 7,
        "ts": START + began,
        "dur": took,
        "ph": 1,
    }
    return {**row, **more}


def file(hashed: str, name: str) -> dict[str, Any]:
    return {**HOST, "name": "FH", "args": {"hhash": "aa", "name": name, "value": hashed}}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample")
    imported(place, SAMPLE)
    return place / "dftracer.fathom"


def test_accesses_are_those_that_strace_saw(sample: Path, tmp_path: Path) -> None:
    base = tables.connect(sample)
    strace = imported(tmp_path, SAMPLE / "strace.log", tool="strace")
    ours, theirs = (Counter(one.sql(ACCESSES).fetchall()) for one in (base, strace))
    assert ours.total() == 35
    assert theirs - ours == OF_STREAMS
    assert not ours - theirs


def test_every_event_is_a_call_in_its_thread(sample: Path) -> None:
    base = tables.connect(sample)
    expected: Counter[tuple[int, int, str, int, int]] = Counter()
    for path in SAMPLE.glob("*.pfw.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            one = json.loads(line)
            if one["ph"] == 1 and one["cat"] != "dftracer" and one["name"] not in ("fork", "wait"):
                times = (one["ts"] * 1000, one["dur"] * 1000)
                expected[(one["pid"], one["tid"], one["name"], *times)] += 1
    started = base.sql("select started from runs").fetchall()[0][0]
    select = "select pid, thread, op, c.start, duration from calls c join processes using (process)"
    calls = Counter((*row[:3], row[3] + started, row[4]) for row in base.sql(select).fetchall())
    assert calls == expected


def test_processes_files_and_what_is_missing_are_said(sample: Path) -> None:
    base = tables.connect(sample)
    select = "select pid, rank, exe, cwd from processes order by pid"
    assert base.sql(select).fetchall() == [
        (PARENT, None, "work", "/tmp/sample"),
        (CHILD, None, "work", "/tmp/sample/out"),
    ]
    folders = (
        "select distinct regexp_replace(path, '[a-z]*$', '') from files where path like '%/out/%'"
    )
    assert base.sql(folders).fetchall() == [("/tmp/sample/out/",)]
    marks = dict(base.sql("select detail, value from marks where kind = 'dftracer'").fetchall())
    assert marks["left out: calls of fork"] == 1
    assert any("results of opens" in mark for mark in marks)
    shown = fathom("show", sample, "--all")
    assert shown.returncode == 0
    assert "results of opens" in shown.stdout


def test_layers_nest_by_the_times_of_a_thread(tmp_path: Path) -> None:
    rank = {
        "name": "PR",
        "cat": "dftracer",
        "pid": 7,
        "tid": 7,
        "ph": 4,
        "args": {"name": "rank", "value": "0"},
    }
    write = {"ret": 64, "count": 64, "offset": 128, "fhash": "f1"}
    rows = [
        rank,
        event("step", "LOOP", 0, 100, type=6),
        event("inner", "LOOP", 1, 90, type=6),
        event(
            "MPI_File_write_at_all",
            "MPIIO",
            2,
            50,
            type=10,
            args={"offset": 2, "count": 8, "ret": 0},
        ),
        file("f1", "/data/x"),
        event("pwrite64", "POSIX", 3, 10, type=3, args=write),
        event("pwrite64", "POSIX", 60, 10, type=3, tid=8, args=write),
        event("cudaMemcpy", "CUDA", 70, 1, type=11),
    ]
    base = imported(tmp_path, written(tmp_path, *rows))
    select = """
        select c.op, c.layer, p.op, c.size, c.file_offset, c.bytes, c.rank
        from calls c left join calls p on p.id = c.parent order by c.start"""
    assert base.sql(select).fetchall() == [
        ("step", "user", None, None, None, None, 0),
        ("inner", "user", "step", None, None, None, 0),
        ("MPI_File_write_at_all", "mpiio", "inner", None, None, None, 0),
        ("pwrite", "posix", "MPI_File_write_at_all", 64, 128, 64, 0),
        ("pwrite", "posix", None, 64, 128, 64, 0),
    ]
    marks = dict(base.sql("select detail, value from marks where kind = 'dftracer'").fetchall())
    assert marks["left out: calls of cudaMemcpy"] == 1
    assert [often for mark, often in marks.items() if "neither files nor bytes" in mark] == [1]


def test_version_1_and_traces_without_arguments_are_read(tmp_path: Path) -> None:
    old = [
        dict(one, ph="X") for one in (event("read", "POSIX", 5, 2), event("close", "POSIX", 9, 1))
    ]
    path = written(tmp_path, *old)
    path.write_text("[\n" + path.read_text() + "]\n")
    base = imported(tmp_path, path)
    select = "select op, size, bytes, file, duration from calls order by start"
    assert base.sql(select).fetchall() == [
        ("read", None, None, None, 2000),
        ("close", None, None, None, 1000),
    ]
    mark = "select value from marks where detail like '%DFTRACER_INC_METADATA%'"
    assert base.sql(mark).fetchall() == [(2,)]
    # Nothing in it says which program it was.
    assert (
        "dftracer: imported from DFTracer\n" in fathom("show", tmp_path / "dftracer.fathom").stdout
    )


def test_positions_that_may_be_shared_are_unknown(tmp_path: Path) -> None:
    def on(name: str, began: int, **args: Any) -> dict[str, Any]:
        thread = args.pop("thread", 7)
        return event(name, "POSIX", began, 1, type=3, tid=thread, args={"fhash": "f1", **args})

    rows = [
        file("f1", "x"), on("open", 0, flags=0), on("read", 2, count=9, ret=4), on("read", 4, count=9, ret=9),
        on("lseek", 6, ret=50, offset=50, whence=0), on("read", 8, count=9, ret=9, thread=8),
        on("read", 10, count=9, ret=1),
        on("close", 12, ret=0), on("open", 14, flags=0), on("open", 16, flags=0), on("read", 18, count=1, ret=1),
    ]  # fmt: skip
    base = imported(tmp_path, written(tmp_path, *rows))
    select = "select file_offset from calls where op = 'read' order by start"
    assert base.sql(select).fetchall() == [(0,), (4,), (None,), (None,), (None,)]


def behind(line: bytes) -> bytes:
    return json.dumps(HOST).encode() + b"\n" + line


ONE = event("read", "POSIX", 0, 1, type=3)
OTHER_UNIT = {**HOST, "name": "CM", "args": {"name": "time_metric", "value": "FS"}}
BAD = {
    "empty": (b"", "stopped before"),
    "torn.gz": (gzip.compress(b"x" * 999)[:20], "breaks off"),
    "torn": (behind(b'{"id":1,"na'), "breaks off within line 2; head -n 1"),
    "garbled": (behind(b"nothing\n"), "no JSON in line 2"),
    "of another": (b'{"name":"x","ph":"X","ts":1,"dur":1,"pid":1}\n', "no trace of DFTracer"),
    "no event": (behind(b"[1]\n"), "line 2 is no event"),
    "unit": (behind(json.dumps(OTHER_UNIT).encode()), "'FS'"),
    "times": (behind(json.dumps({**ONE, "ts": -5}).encode()), "has ts -5"),
    "sums": (behind(json.dumps({**ONE, "ph": 3}).encode()), "AGGREGATION"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_trace_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "t.pfw"
    path.write_bytes(BAD[what][0])
    message = traces.refused("dftracer", path, tmp_path / "bad")
    assert f"{path}: " in message
    assert BAD[what][1] in message


def test_a_refusal_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    torn = tmp_path / "torn.pfw.gz"
    torn.write_bytes(next(SAMPLE.glob("*preload*")).read_bytes()[:-40])
    cases = (
        (torn, 3, "zcat torn.pfw.gz | head"),
        (tmp_path / "none", 3, "no .pfw"),
        (tmp_path / "no", 2, "no such file"),
    )
    for named, status, says in cases:
        done = fathom("import", "dftracer", named, "-o", tmp_path / "bad")
        assert done.returncode == status, done.stderr
        assert says in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert not list(tmp_path.glob("bad*"))


def damaged(good: bytes, chance: random.Random) -> bytes:
    bad = bytearray(good)
    for _ in range(chance.choice((1, 2, 8))):
        at = chance.randrange(len(bad))
        what = chance.choice(
            (b"", b"{", b"]", b'"', b"-", b"9" * 30, b"null", b"[]", b"\\ud800", b"\n", b"\xff")
        )
        bad[at : at + chance.randrange(12)] = what
    return bytes(bad)


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 6000), marks=pytest.mark.full)]
)
def test_damage_is_read_or_refused(tmp_path: Path, seeds: range) -> None:
    good = [gzip.decompress(path.read_bytes()) for path in sorted(SAMPLE.glob("*.pfw.gz"))]
    path, refused = tmp_path / "t.pfw", 0
    for seed in seeds:
        path.write_bytes(damaged(good[seed % 2], random.Random(seed)))
        refused += traces.is_refused("dftracer", path, tmp_path / "run")
    assert 0 < refused < len(seeds)


@pytest.mark.full
def test_what_is_told_of_damage_is_a_run_that_packs(tmp_path: Path) -> None:
    good = gzip.decompress(next(SAMPLE.glob("*preload*")).read_bytes())
    path, run = tmp_path / "t.pfw", tmp_path / "t.fathom"
    for seed in range(60):
        path.write_bytes(damaged(good, random.Random(seed)))
        done = fathom("import", "dftracer", path, "-o", run)
        if done.returncode == 0:
            assert fathom("query", run, "--sql", "from runs").returncode == 0
            shutil.rmtree(run)
        assert done.returncode in (0, 3), done.stderr
        assert [one.name for one in tmp_path.iterdir()] == ["t.pfw"]


def test_names_without_a_directory_are_said_to_have_none(tmp_path: Path) -> None:
    """Ranks open files by names of which no record says where they lay, and wait for each other in it."""
    files = []
    for rank in range(3):
        who = {"pid": 7 + rank, "tid": 7 + rank}
        named = {**HOST, **who, "name": "PR", "args": {"name": "rank", "value": str(rank)}}
        times = [(20_000 * at + 300 * rank, 10 if at == 9 else 15_000) for at in range(10)]
        opens = [
            event("open", "POSIX", *when, type=3, args={"fhash": f"f{rank}", "flags": 0}, **who)
            for when in times
        ]
        rows = [{**HOST, **who}, named, {**file(f"f{rank}", f"name{rank}"), **who}, *opens]
        files.append(written(tmp_path, *rows, name=f"{rank}.pfw"))
    imported(tmp_path, *files)
    shown = fathom("show", tmp_path / "dftracer.fathom", "--findings")
    assert "an unknown directory: 3 ranks made" in " ".join(shown.stdout.split())


def test_a_trace_without_calls_says_so(tmp_path: Path) -> None:
    start = {**event("start", "dftracer", 0, 0), "args": {"version": "2.0"}}
    imported(tmp_path, written(tmp_path, start))
    shown = fathom("show", tmp_path / "dftracer.fathom").stdout
    assert "what was imported from DFTracer has none" in shown
    assert "fathom doctor" not in shown
