"""A lake of all jobs: nothing lost, nothing doubled, whoever writes and is killed; and what is said of it."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import os
import pickle
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fathom.pages import summaries
from fathom.run import lake
from fathom.run.store import open_run
from harness import day, needs, paths, wild

FILE = re.compile(
    r"(\w+/date=\d{4}-\d\d-\d\d/([0-9a-f]{16}-[0-9a-f]{16}|together-[0-9a-f]{32})\.parquet|lake\.json|\.compacting)"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three real runs: one whose user syncs each small piece, two that write large ones."""
    place = tmp_path_factory.mktemp("spool")
    day.record(place)
    return place


@pytest.fixture(scope="module")
def rows(runs: Path) -> dict[str, Any]:
    """What a lake has of each."""
    return {path.stem: summaries.of(open_run(path)) for path in sorted(runs.glob("*.fathom"))}


@pytest.fixture(scope="module")
def public() -> list[Path]:
    """Logs of real jobs, but for the longest; none where they are not here."""
    names = [name for name in wild.logs() if name not in wild.LONG]
    return [wild.log(name) for name in names] if importlib.util.find_spec("darshan") else []


@pytest.fixture(scope="module")
def real(rows: dict[str, Any], public: list[Path]) -> dict[str, Any]:
    """The same of the public logs too."""
    if not public:
        print("public logs of real jobs are not here (shared/wild, FATHOM_WILD): own runs alone")
    return rows | {log.stem: summaries.of(open_run(log, quiet=True)) for log in public}


def a_day(rows: dict[str, Any], jobs: int, days: int = 1) -> day.Day:
    good = [one for name, one in rows.items() if name != "bad"]
    return day.make(good, rows["bad"], jobs, days)


def assert_is(place: Path, expected: day.Day) -> None:
    """All jobs of the day are there, each once, with all its rows; and nothing lies elsewhere."""
    reader = lake.Lake(place).reading()
    ids = reader.sql("select id from jobs")["id"].to_pylist()
    assert sorted(ids) == sorted(expected.ids)
    for table in lake.schemas():
        (count,) = reader.sql(f"select count(*) as n from {table}")["n"].to_pylist()
        assert count == expected.rows(table), table
    strange = [one for one in files(place) if not FILE.fullmatch(one)]
    assert not strange


def files(place: Path) -> list[str]:
    return [str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()]


def fathom(*words: object, status: int = 0, **more: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [paths.FATHOM, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **more,
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done


def asked(*words: object) -> Any:
    return json.loads(fathom("landscape", *words, "--json").stdout)


def test_runs_are_collected_once(runs: Path, tmp_path: Path) -> None:
    """Again, moved, and under another name: it is the same run."""
    into = tmp_path / "lake"
    assert fathom("collect", "--into", into, runs).stdout == "3 runs added, 0 there already\n"
    assert fathom("collect", "--into", into, runs).stdout == "0 runs added, 3 there already\n"
    shutil.copytree(runs / "bad.fathom", tmp_path / "a=b\n'x'.fathom")
    before = files(into)
    fathom("collect", "--into", into, tmp_path / "a=b\n'x'.fathom")
    assert files(into) == before
    jobs = into / "jobs" / "*" / "*.parquet"
    moved = duckdb.sql(f"select name, bytes_written from '{jobs}' order by name").fetchall()
    assert moved == [("bad", 300 * 512.0), ("good", 16.0 * (1 << 20)), ("other", 8.0 * (1 << 18))]


def test_the_planted_are_first(rows: dict[str, Any], tmp_path: Path) -> None:
    """Of some hundred jobs, by four writers who are killed: the slow OST, the bad user, and that he is new."""
    jobs = a_day(rows, 400, 4)
    day.write(tmp_path / "lake", jobs, tmp_path, kills=2, most=0.4)
    assert_is(tmp_path / "lake", jobs)
    judge(tmp_path / "lake")


@pytest.mark.full
def test_a_day_of_a_centre(real: dict[str, Any], tmp_path: Path) -> None:
    jobs = a_day(real, 20_000, 4)
    day.write(tmp_path / "lake", jobs, tmp_path, kills=8, most=4.0)
    assert_is(tmp_path / "lake", jobs)
    judge(tmp_path / "lake")
    fathom("collect", "--compact", tmp_path / "lake")
    assert_is(tmp_path / "lake", jobs)


@pytest.mark.parametrize(
    ("jobs", "kills"), [(8, 2), pytest.param(120, 8, marks=[pytest.mark.full])]
)
def test_a_spool_is_collected_by_four(
    runs: Path, public: list[Path], tmp_path: Path, jobs: int, kills: int
) -> None:
    """Who are killed, with all that they started: each job and log is there once, under its number and user."""
    made = [runs / f"{name}.fathom" for name in ("bad", "good", "other")]
    known = day.spool(tmp_path / "spool", made, public[: jobs // 4], jobs)
    before = of_collect()
    day.collect(tmp_path / "lake", tmp_path / "spool", kills, most=1.5)
    ask = "select job, user, recorder from jobs"
    rows = lake.Lake(tmp_path / "lake").reading().sql(ask).to_pylist()
    assert sorted((r["job"], r["user"]) for r in rows if not r["recorder"]) == sorted(known)
    assert len([row for row in rows if row["recorder"]]) == len(public[: jobs // 4])
    deadline = time.monotonic() + 60
    while of_collect() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not of_collect() - before


def of_collect() -> set[int]:
    """Processes whose parent is gone and who run our Python: workers of a collect that was killed."""
    left = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (place / "stat").read_text().rpartition(")")[2].split()
            words = (place / "cmdline").read_bytes()
            if state[1] == "1" and state[0] != "Z" and os.fsencode(paths.PYTHON) in words:
                left.add(int(place.name))
    return left


def judge(place: Path) -> None:
    screen = asked(place, "--top", 3)
    first = screen["servers"][0]
    assert first["server"] == f"OST {day.SLOW_OST}" and first["jobs_slow"] > first["jobs"] / 2
    assert day.SLOWER / 1.5 < first["times"] < day.SLOWER * 1.5
    assert screen["servers"][1]["times"] < 1.5
    assert screen["users"][0]["what"] == day.BAD_USER and screen["users"][0]["cause"] == "sync"
    risen = next(row for row in screen["risen"] if row["kind"] == "user")
    assert (risen["what"], risen["days"]) == (day.BAD_USER, 0)
    lines = fathom("landscape", place).stdout.splitlines()
    assert len(lines) <= 45 and all(line.isprintable() for line in lines)


@pytest.mark.full
@pytest.mark.parametrize("deed", ["add", "compact"])
def test_killed_at_any_step(rows: dict[str, Any], tmp_path: Path, deed: str) -> None:
    """Before each change of a name: what is read is whole, and when it is done again all is as without the kill."""
    jobs = a_day(rows, 3)
    begun = tmp_path / "begun"
    lake.make(begun)
    if deed == "compact":
        for one in jobs.summaries:
            lake.Lake(begun).add([one])
    steps = 0
    for place in killed_lakes(begun, jobs, tmp_path, deed):
        steps += 1
        reader = lake.Lake(place).reading()
        ids = reader.sql("select id from jobs")["id"].to_pylist()
        assert len(ids) == len(set(ids)) and set(ids) <= jobs.ids
        if deed == "compact":
            assert set(ids) == jobs.ids
        for table in lake.schemas():
            have = [row for one in jobs.summaries for row in one[table] if row["id"] in ids]
            (count,) = reader.sql(f"select count(*) as n from {table}")["n"].to_pylist()
            assert count == len(have), (steps, table)
        to = lake.make(place)
        to.add(jobs.summaries)
        assert_is(place, jobs)
        to.compact()
        assert_is(place, jobs)
    assert steps > 15


def test_what_a_killed_writer_left_goes_with_the_next(rows: dict[str, Any], tmp_path: Path) -> None:
    """Whatever days that one writes, or none."""
    place = tmp_path / "lake"
    lake.make(place)
    (tmp_path / "part").write_bytes(pickle.dumps(a_day(rows, 3).summaries))
    words = [paths.PYTHON, "-c", DIES, place, tmp_path / "part"]
    assert subprocess.run(words, check=False, timeout=120, cwd=paths.TESTS).returncode == -9
    assert not all(FILE.fullmatch(one) for one in files(place))
    lake.make(place)
    assert all(FILE.fullmatch(one) for one in files(place))


DIES = """
import pickle, sys
from pathlib import Path
from harness import day
from fathom.run import lake
day.die_at(5)  # before its first file has its name
lake.Lake(Path(sys.argv[1])).add(pickle.loads(Path(sys.argv[2]).read_bytes()))
"""


KILLED = """
import itertools, os, pickle, shutil, sys
from pathlib import Path
from harness import day
from fathom.run import lake
begun, part, deed = Path(sys.argv[1]), pickle.loads(Path(sys.argv[2]).read_bytes()), sys.argv[3]
for step in itertools.count(1):
    place = begun.with_name(f"killed{step}")
    shutil.copytree(begun, place)
    child = os.fork()
    if not child:
        day.die_at(step)
        lake.Lake(place).add(part) if deed == "add" else lake.Lake(place).compact()
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def killed_lakes(begun: Path, jobs: day.Day, place: Path, deed: str) -> Iterator[Path]:
    """A lake for each step at which a process was killed, and the last that was not."""
    (place / "part").write_bytes(pickle.dumps(jobs.summaries))
    subprocess.run(
        [paths.PYTHON, "-c", KILLED, begun, place / "part", deed],
        check=True,
        timeout=120,
        cwd=paths.TESTS,
    )
    yield from place.glob("killed*")


def test_a_newer_version_takes_the_place(rows: dict[str, Any], tmp_path: Path) -> None:
    """Of a run whose parts came later; also where the first one was put together with others."""
    to = lake.make(tmp_path / "lake")
    jobs = a_day(rows, 2)
    to.add(jobs.summaries)
    newer = {
        table: [row | {"version": "1" * 16} for row in rows]
        for table, rows in jobs.summaries[0].items()
    }
    newer["jobs"][0] |= {"bytes_written": 7.0, "collected": day.TODAY + day.timedelta(hours=1)}
    newer["servers"] = newer["servers"][:1]
    to.add([newer])
    for _ in range(2):
        reader = to.reading()
        ask = """select bytes_written, (select count(*) from servers as s where s.id = j.id) as n
            from jobs as j where id = $id"""
        assert reader.sql(ask, id=newer["jobs"][0]["id"]).to_pylist() == [
            {"bytes_written": 7.0, "n": 1}
        ]
        assert reader.sql("select count(*) as n from jobs")["n"].to_pylist() == [2]
        to.compact()


def test_many_small_files_become_few(
    rows: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake, "MANY", 5)
    to, jobs = lake.make(tmp_path / "lake"), a_day(rows, 14)
    for one in jobs.summaries:
        to.add([one])
    assert len(list((tmp_path / "lake" / "jobs").rglob("*.parquet"))) <= 6
    assert_is(tmp_path / "lake", jobs)


def test_a_job_beside_its_programs_earlier_runs(rows: dict[str, Any], tmp_path: Path) -> None:
    """Today three times its median."""
    to, jobs = lake.make(tmp_path / "lake"), a_day(rows, 6, 6)
    for one in jobs.summaries:
        one["jobs"][0] |= {"program": "solver", "ranks": 4, "io_seconds": 10.0, "name": "before"}
    last = max(jobs.summaries, key=lambda one: one["jobs"][0]["started"])["jobs"][0]
    last |= {"io_seconds": 30.0, "name": "today\n"}
    to.add(jobs.summaries)
    beside = asked(tmp_path / "lake", "--history", "today\n")
    (io,) = (row for row in beside["measures"] if (row["what"], row["unit"]) == ("I/O", "seconds"))
    assert (io["value"], io["median"], io["times"], io["runs"]) == (30, 10, 3, 5)
    said = fathom("landscape", tmp_path / "lake", "--history", "today\n").stdout
    assert "beside 5 earlier runs of the program with 4 ranks" in said
    assert "its I/O takes 3x its median" in said


def test_a_job_table_of_a_lake(rows: dict[str, Any], tmp_path: Path) -> None:
    """As XDMoD and ClusterCockpit take it: a line each, whatever a user is called."""
    jobs = a_day(rows, 30, 2)
    lake.make(tmp_path / "lake").add(jobs.summaries)
    table = csv.DictReader(io.StringIO(fathom("landscape", tmp_path / "lake", "--jobs").stdout))
    found = {row["job_id"]: row for row in table}
    assert len(found) == 30
    for summary in jobs.summaries:
        job = summary["jobs"][0]
        row = found[job["job"]]
        began = job["started"].replace(tzinfo=UTC).timestamp()
        assert abs(int(row["start_time"]) - began) <= 1
        assert int(row["end_time"]) >= int(row["start_time"])
        assert float(row["write_bytes"]) == job["bytes_written"]
        assert float(row["lost_seconds"]) == pytest.approx(job["lost_seconds"])
        assert row["program"] == job["program"] and row["close_count"] == ""


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("collect --into {file}/lake {run}", 3, "Not a directory"),
        ("collect --into {spool} {run}", 2, "is neither a lake nor empty"),
        ("collect --compact {spool}", 2, "is no lake"),
        ("collect {run}", 2, "--into"),
        ("collect --into {lake}", 2, "RUN is missing"),
        ("collect --into {lake} {file}", 3, "is no run directory"),
        ("landscape {newer}", 2, "its format is 2"),
        ("landscape {empty}", 2, "no job is in it"),
        ("landscape {run} --history x", 2, "--history is of a lake"),
        ("landscape {run} --by users", 2, "--by users is of a lake"),
        ("landscape {empty} --rank 1", 2, "--rank is of runs"),
        ("landscape {empty} {run}", 2, "a lake goes alone"),
        ("landscape {empty} --by io", 2, "a lake has no 'io'"),
        ("landscape {empty} --since today", 2, "'today' is no date"),
    ],
)
def test_what_cannot_be_is_one_line(
    runs: Path, tmp_path: Path, words: str, status: int, says: str
) -> None:
    (tmp_path / "file").write_text("")
    for name in ("empty", "newer"):
        lake.make(tmp_path / name)
    (tmp_path / "newer" / "lake.json").write_text('{"format": 2}')
    places = {name: tmp_path / name for name in ("file", "empty", "newer", "lake")}
    given = [word.format(**places, run=runs / "bad", spool=runs) for word in words.split()]
    done = fathom(*given, status=status)
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_a_full_disk_is_one_line(runs: Path, tmp_path: Path) -> None:
    """What is there stays, and nothing half is left."""
    into = tmp_path / "lake"
    fathom("collect", "--into", into, runs / "good")
    before = files(into)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = fathom("collect", "--into", into, runs / "bad", status=3, preexec_fn=limit)
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1
    assert set(before) <= set(files(into))
    assert lake.Lake(into).reading().sql("select name from jobs")["name"].to_pylist() == ["good"]
    fathom("collect", "--into", into, runs / "bad")
    assert len(files(into)) > len(before)


def test_logs_of_darshan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a directory; the same log again, under another name or imported by somebody else, is the same job."""
    needs.require(["python:darshan"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    logs = tmp_path / "logs"
    logs.mkdir()
    names = {"a": "aiio-ior-write-1k", "its copy": "aiio-ior-write-1k", "b": "aiio-ior-write-1m"}
    for name, log in names.items():
        shutil.copy(wild.log(log), logs / f"{name}.darshan")
    into = tmp_path / "lake"
    assert fathom("collect", "--into", into, logs).stdout == "2 runs added, 1 there already\n"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "the cache of another user"))
    assert fathom("collect", "--into", into, logs).stdout == "0 runs added, 3 there already\n"
    found = asked(into, "--by", "jobs")["jobs"]
    assert [(row["program"], row["rule"]) for row in found] == [
        ("ior", "sync-churn"),
        ("ior", None),
    ]
