"""fathom top: what it told of a run while it ran sums to what the packed run says, call by call; what is in flight
is seen with its line; and whatever cannot be looked at gets one clear line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fathom.run.live import runs_here
from harness import needs, paths, runner, tables

BUSY = paths.PROGRAMS / "programs" / "busy"

#: calls, errors, bytes, seconds
Sums = dict[tuple[Any, ...], tuple[int, int, int, float]]


@contextmanager
def running(run: Path, *command: object, options: tuple[str, ...] = ()) -> Iterator[Any]:
    """`fathom run`, begun, its run directory there; waits for its end."""
    words = [paths.FATHOM, "run", "--no-show", *options, "-o", run, "--", *command]
    process = subprocess.Popen(
        [str(word) for word in words],
        env={**os.environ, **runner.STACK_ENV},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while not (run / "run.json").exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield process
        process.wait(timeout=240)
    finally:
        process.kill()
        process.wait()


def top(run: Path, *options: object) -> subprocess.Popen[str]:
    words = [paths.FATHOM, "top", "--json", *options, run]
    return subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def looks_of(process: subprocess.Popen[str], first: str = "") -> list[dict[str, Any]]:
    """All it says until it ends by itself; `first` was read before."""
    out, err = process.communicate(timeout=240)
    assert (process.returncode, err) == (0, ""), err
    looks = [json.loads(line) for line in (first + out).splitlines()]
    assert [look["last"] for look in looks] == [False] * (len(looks) - 1) + [True]
    return looks


def first_look(run: Path) -> dict[str, Any]:
    """The first that has calls, as soon as the program made some."""
    until = time.monotonic() + 60
    while True:
        (look,) = looks_of(top(run, "--once"))
        if look["calls"]:
            return look
        assert time.monotonic() < until, "no call in a minute"


def watched(
    run: Path,
    interval: float,
    *command: object,
    options: tuple[str, ...] = (),
    early: bool = False,
) -> list[dict[str, Any]]:
    """Runs a command that begins once it is looked at. `early`: the look begins before the run does."""
    gate = run.with_name("gate")
    os.mkfifo(gate)
    wait = f'read line <{gate}; exec "$@"'
    process = top(run, "--interval", interval, "--wait") if early else None
    with running(run, "bash", "-c", wait, "gated", *command, options=options):
        process = process or top(run, "--interval", interval)
        assert process.stdout is not None
        first = process.stdout.readline()
        gate.write_text("go\n")
        return looks_of(process, first)


def add(sums: Sums, key: tuple[Any, ...], more: tuple[int, int, int, float]) -> None:
    a, b, c, d = sums.get(key, (0, 0, 0, 0.0))
    sums[key] = (a + more[0], b + more[1], c + more[2], d + more[3])


def summed(looks: list[dict[str, Any]]) -> Sums:
    sums: Sums = {}
    for row in (row for look in looks for row in look["calls"]):
        key = (row["layer"], row["op"], row["enclosing"], row["rank"], row["pid"])
        more = (row["calls"], row["errors"], row["bytes"], row["seconds"])
        add(sums, key, more)
        if row["file"] and row["file"].endswith((".own", ".all", ".h5")):
            add(sums, ("file", *key, row["file"]), more)
    return sums


def packed(run: Path) -> Sums:
    sums: Sums = {}
    sql = """select layer, op, enclosing, p.rank, p.pid, f.path,
        sum(calls)::bigint, sum(errors)::bigint, sum(bytes)::bigint, sum(time) / 1e9
        from counters join processes p using (process) left join files f using (file) group by all"""
    # A call that a kill cut off: in the tables until then, in a look up to the last thing known of its thread.
    unseen = """select c.layer, c.op, up.op, p.rank, p.pid, f.path, 0, 0, 0,
            -sum(c.start + c.duration - greatest(c.start, last.stop)) / 1e9
        from calls c join processes p using (process) left join files f using (file)
        left join calls up on up.id = c.parent
        join (select stream, max(start + duration) as stop from calls where state = 'done' group by stream) last
            on last.stream = c.stream
        where c.state = 'unfinished' and p.ended = 'killed' group by all"""
    connection = tables.connect(run)
    rows = tables.ask(connection, sql) + tables.ask(connection, unseen)
    for *key, path, calls, errors, moved, seconds in rows:
        add(sums, tuple(key), (calls, errors, moved, seconds))
        if path and path.endswith((".own", ".all", ".h5")):
            add(sums, ("file", *key, path), (calls, errors, moved, seconds))
    return sums


def same(looks: list[dict[str, Any]], run: Path) -> Sums:
    """Calls, errors and bytes are equal, key by key; seconds as far as the clock's rate was known then."""
    missed = looks[-1]["missed"]
    assert (missed["chunks"], missed["bytes"]) == (0, 0), missed
    live, later = summed(looks), packed(run)
    wrong = [
        f"{key}: told {live.get(key)}, packed {later.get(key)}"
        for key in {**live, **later}
        if live.get(key, ())[:3] != later.get(key, ())[:3]
    ]
    assert not wrong, "\n".join(wrong[:20])
    for key, (_, _, _, seconds) in live.items():
        assert seconds == pytest.approx(later[key][3], rel=0.01, abs=1e-4), key
    return live


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "options",
    [("--level", "call"), ("--level", "file"), ("--level", "job"), ("--budget", "2MiB")],
    ids=lambda options: "-".join(options).strip("-"),
)
def test_threads(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Four threads as fast as they can: their chunks are used again and again while they are read."""
    run = tmp_path / "run.fathom"
    looks = watched(run, 0.1, BUSY, tmp_path, 4, 1.5, options=options)
    sums = same(looks, run)
    assert len(looks) > 5
    files = {key[-1] for key in sums if key[0] == "file"}
    assert "job" in options or len(files) == 13


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", ["mpich", "ompio", "romio321"])
def test_s3d_on_four_ranks(tmp_path: Path, mpi: str) -> None:
    needs.require(needs.of_mpi(mpi))
    kernel = paths.BUILD / "kernels" / f"s3d_hdf5_{needs.MPI[mpi]}"
    (tmp_path / "out").mkdir()
    command = [*runner.LAUNCH[mpi].split(), "-n", 4, kernel, "-r", "-c", 2, 16, 16, 16, 2, 2, 1]
    run = tmp_path / "run.fathom"
    looks = watched(run, 0.2, *command, tmp_path / "out")
    sums = same(looks, run)
    assert {key[3] for key in sums if key[1] == "H5Dwrite"} == {0, 1, 2, 3}
    written = [row for look in looks for row in look["calls"] if row["op"] == "H5Dwrite"]
    lines = {(row["function"], Path(row["source"] or "").name, row["line"]) for row in written}
    assert {line[:2] for line in lines} == {("move", "form_hdf5.c")}
    source = (paths.ROOT / "kernels" / "common" / "form_hdf5.c").read_text().splitlines()
    assert all("H5Dwrite" in "".join(source[line - 4 : line]) for *_, line in lines), lines


def test_a_stuck_write_is_seen_with_its_line(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    looks = watched(run, 0.25, BUSY, tmp_path, "fifo", 2.5)
    same(looks, run)
    stuck = [call for look in looks for call in look["in_flight"] if call["op"] == "write"]
    source = (paths.TESTS / "programs" / "busy.c").read_text().splitlines()
    assert len(stuck) >= 3
    for call in stuck:
        assert (call["function"], call["size"]) == ("stuck", 1 << 20)
        assert "write(fd, data, sizeof(data))" in source[call["line"] - 1]
        assert call["file"] == str(tmp_path / "fifo") and call["thread"] != call["pid"]
    lasted = [call["seconds"] for call in stuck]
    assert lasted == sorted(lasted) and lasted[-1] > 0.5
    seen = max(look["look"] for look in looks if stuck[-1] in look["in_flight"])
    before = [row for look in looks[: seen + 1] for row in look["calls"] if row["op"] == "write"]
    assert not before, "a call in flight is told as one that ended"
    assert not looks[-1]["in_flight"]


@pytest.mark.some(1)
@pytest.mark.parametrize("options", [(), ("--agent",)], ids=["alone", "agent"])
def test_killed_processes(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Three of them, one after another, each killed while it is looked at; an agent saves what they leave at once."""
    run = tmp_path / "run.fathom"
    script = f"for i in 1 2 3; do timeout -s KILL 0.7 {BUSY} {tmp_path} 3 60; done; exit 0"
    looks = watched(run, 0.05, "bash", "-c", script, options=options)
    same(looks, run)
    assert looks[-1]["processes"] == {"running": 0, "ended": 0, "killed": 3}


def test_a_run_that_is_not_there_yet(tmp_path: Path) -> None:
    """Its processes come and go while it is looked at."""
    run = tmp_path / "run.fathom"
    script = f"for i in 1 2 3; do {BUSY} {tmp_path} 2 0.4 200; done"
    looks = watched(run, 0.1, "bash", "-c", script, early=True)
    same(looks, run)
    assert looks[-1]["processes"] == {"running": 0, "ended": 3, "killed": 0}


def test_once_and_the_table(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    with running(run, BUSY, tmp_path, 2, 30, 1000) as process:
        look = first_look(run)
        assert run in runs_here()
        text = subprocess.run(
            [paths.FATHOM, "top", run, "--once", "--by", "line"],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        ).stdout
        os.kill(look["calls"][0]["pid"], signal.SIGTERM)
        process.wait(timeout=300)
    assert look["processes"]["running"] == 1 and look["calls"]
    assert "round_of busy.c:" in text and "processes 1 running" in text and "\x1b" not in text


def refused(*words: object, user: int | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        user=user,
    )
    assert (done.returncode, done.stdout) == (3, ""), done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_what_cannot_be_looked_at(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    with running(run, BUSY, tmp_path, 1, 0):
        pass
    assert "the run is over; see fathom show" in refused(paths.FATHOM, "top", run)
    assert "no such run directory" in refused(paths.FATHOM, "top", tmp_path / "absent")
    manifest = json.loads((run / "run.json").read_text())
    del manifest["end_ns"]
    (run / "run.json").write_text(json.dumps(manifest))
    assert "no process of the run is left on this node" in refused(paths.FATHOM, "top", run)
    (own,) = (run / "streams").iterdir()
    own.rename(own.with_name(f"{'0' * 36}-otherhost"))
    assert "it runs on otherhost" in refused(paths.FATHOM, "top", run)


def test_another_users_run() -> None:
    """Rings are their owner's alone."""
    needs.require(["root"])
    engine = paths.ROOT / "engine" / "target" / "release" / "fathom-engine"
    if not os.access(engine, os.X_OK) or oct(engine.resolve().parent.stat().st_mode)[-1] < "5":
        pytest.skip("another user cannot reach the engine here")
    place = Path(f"/dev/shm/fathom-test-top.{os.getpid()}")
    place.mkdir(mode=0o755)
    try:
        with running(place / "run.fathom", BUSY, place, 1, 2, 1000):
            message = refused(engine, "watch", place / "run.fathom", user=65534)
        assert "only user 0, whose run it is, may look at it" in message
    finally:
        shutil.rmtree(place)
