"""Ends that no program wants: killed at random moments, no space, no permission. The program's own
status is kept, what was recorded is read back, no row is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from harness import invariants, needs, paths, tables
from harness.killed import fathom_run, kill_children

WRITES = paths.PROGRAMS / "programs" / "writes"


@contextmanager
def small_file_system(at: Path, size: str) -> Iterator[Path]:
    """A tmpfs of `size`, so that a full disk costs nothing."""
    needs.require(["root", "mount"])
    at.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", at],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"needs mount: {done.stderr.decode().strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", at], check=False)


def kills_asked(default: int) -> int:
    """FATHOM_TEST_KILLS sets the number of random moments."""
    return int(os.environ.get("FATHOM_TEST_KILLS", default))


def test_killed_at_random_moments(tmp_path: Path) -> None:
    kill_children(tmp_path, kills_asked(25), seed=1)


@pytest.mark.full
def test_killed_at_a_thousand_random_moments(tmp_path: Path) -> None:
    batch = 40
    for seed in range(2, 2 + kills_asked(1000) // batch):
        directory = tmp_path / str(seed)
        directory.mkdir()
        kill_children(directory, batch, seed)
        shutil.rmtree(directory)


def test_disk_full(tmp_path: Path) -> None:
    """The streams' file system fills up: the program goes on, the answer says what is missing."""
    with small_file_system(tmp_path / "small", "512k") as small:
        done = fathom_run(small / "run.fathom", WRITES, tmp_path / "f", 1000000, 8, "exit")
        assert done.returncode == 7, done.stderr
        assert (tmp_path / "f").stat().st_size == 8000000
        shutil.copytree(small / "run.fathom", tmp_path / "copy.fathom")
    connection = tables.connect(tmp_path / "copy.fathom")
    # No part of a chunk is left by the full disk; every row that is there is right.
    lines = [
        line
        for line in invariants.broken(connection, finished=False, whole=False)
        if "nothing was damaged" not in line and "no call is lost" not in line
    ]
    assert not lines, "\n".join(lines)
    rows = tables.ask(
        connection,
        """select count(*), count(distinct file_offset), max(file_offset) from calls
        where op = 'pwrite' and state = 'done'""",
    )
    count, distinct, last = rows[0]
    assert count > 10000 and count == distinct and last < 8000000
    assert tables.ask(connection, "select count(*) from marks where kind = 'damage'") == [[0]]
    complete = tables.ask(connection, "select bool_and(complete) from streams")
    assert complete == [[False]], "what is missing is not said"


def test_what_a_full_disk_leaves_in_memory_is_said(tmp_path: Path) -> None:
    """All of it comes back on that node, and no part of a chunk is damage."""
    with small_file_system(tmp_path / "small", "28k") as small:
        run = small / "run.fathom"
        done = fathom_run(run, WRITES, tmp_path / "f", 20000, 8, "exit")
        said = (
            f"{run}: No space left on device: calls of 1 of its processes are in this node's memory"
        )
        assert said in done.stderr, done.stderr
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        connection = tables.connect(run)
        assert tables.ask(connection, "select count(*) from calls where op = 'pwrite'") == [[20000]]
        assert tables.ask(connection, "select count(*) from marks") == [[0]]


@pytest.mark.parametrize("taken", [0, 100000], ids=["node", "run.json"])
def test_a_run_that_cannot_begin_is_not_left(tmp_path: Path, taken: int) -> None:
    """No room for the run's first files: the same name is free when there is some."""
    with small_file_system(tmp_path / "small", "4k") as small:
        with suppress(OSError):
            (small / "filled").write_bytes(bytes(taken))
        done = fathom_run(small / "run.fathom", WRITES, tmp_path / "f", 10, 8, "exit")
        assert done.returncode == 125 and "No space left on device" in done.stderr
        assert not (small / "run.fathom").exists()


def test_empty_stream_file(tmp_path: Path) -> None:
    """Its file was made, but nothing could be written, and the node's memory is gone: that is said."""
    run = tmp_path / "run.fathom"
    assert fathom_run(run, WRITES, tmp_path / "f", 10, 8, "exit").returncode == 7
    (stream,) = run.glob("streams/*/*.fts")
    stream.write_bytes(b"")
    marks = tables.ask(tables.connect(run), "select kind, detail from marks")
    assert marks == [["damage", f"{stream} byte 0: empty: nothing of its process is left"]]


def test_ring_directory_full(tmp_path: Path) -> None:
    """No room for the ring: no SIGBUS, the program's status is its own."""
    with small_file_system(tmp_path / "ring", "40k") as ring:
        done = fathom_run(
            tmp_path / "run.fathom",
            WRITES,
            tmp_path / "f",
            50000,
            8,
            "exit",
            env={"FATHOM_RING": str(ring)},
        )
        assert done.returncode == 7, done.stderr
        assert (tmp_path / "f").stat().st_size == 400000


def test_file_size_limit(tmp_path: Path) -> None:
    """RLIMIT_FSIZE of the program: Fathom's own writes raise no SIGXFSZ in it."""
    run = tmp_path / "run.fathom"
    command = f"ulimit -f 16; exec {WRITES} {tmp_path / 'f'} 200000 0 exit"
    done = fathom_run(run, "bash", "-c", command)
    assert done.returncode == 7, done.stderr
    connection = tables.connect(run)
    lines = [
        line
        for line in invariants.broken(connection, finished=False, whole=False)
        if "nothing was damaged" not in line
    ]
    assert not lines, "\n".join(lines)


def test_run_directory_becomes_read_only(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", "8m") as small:
        command = f"mount -o remount,ro {small}; exec {WRITES} {tmp_path / 'f'} 1000 8 exit"
        done = fathom_run(small / "run.fathom", "bash", "-c", command)
        assert done.returncode == 7, done.stderr
        assert (tmp_path / "f").stat().st_size == 8000


@pytest.mark.parametrize("where", ["/proc/run", "/dev/null/run", "/absent/deeper/run"])
def test_unwritable_run_directory(tmp_path: Path, where: str) -> None:
    """One clear line, status 125, and the program is not started."""
    done = fathom_run(Path(where), WRITES, tmp_path / "f", 1)
    if where.startswith("/absent") and done.returncode == 0:
        shutil.rmtree("/absent")  # making the missing directories is right too: nothing is lost
        return
    assert done.returncode == 125
    assert len(done.stderr.strip().splitlines()) == 1 and "/run" in done.stderr, done.stderr
    assert not (tmp_path / "f").exists()


def test_environment_without_a_run_directory(tmp_path: Path) -> None:
    """The runtime alone, pointed to a place that is not there: the program does not notice."""
    done = subprocess.run(
        [WRITES, tmp_path / "f", "100", "8", "exit"],
        env={**os.environ, "LD_PRELOAD": str(paths.LIBRARY), "FATHOM_RUN": "/dev/null/absent"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert (tmp_path / "f").stat().st_size == 800


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_rings_of_somebody_else_are_not_used(tmp_path: Path, end: str) -> None:
    """Where no `fathom run` chose their directory another user may have made it first, with a page of levels in it."""
    needs.require(["root"])
    rings, run = tmp_path / "rings", tmp_path / "run.fathom"
    rings.mkdir()
    (rings / "control").write_bytes(b"FATHOMCP".ljust(4096, b"\0"))  # record nothing
    for path in (rings / "control", rings):
        os.chown(path, 65534, 65534)
    told = {"LD_PRELOAD": str(paths.LIBRARY), "FATHOM_RUN": str(run), "FATHOM_RING": str(rings)}
    subprocess.run(
        [WRITES, tmp_path / "f", "100", "8", end], env={**os.environ, **told}, check=False
    )
    assert [path.name for path in rings.iterdir()] == ["control"]
    if end == "exit":
        count = "select count(*) from calls where op = 'pwrite'"
        assert tables.ask(tables.connect(run), count) == [[100]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--level", "deep", "--", "true"], "deep"),
        (["run", "--budget", "lots", "--", "true"], "lots"),
        (["run", "--layers", "posix,cloud", "--", "true"], "cloud"),
        (["run", "--no-such-flag", "--", "true"], "no-such-flag"),
        (["run"], "PROGRAM"),
        (["show", "/absent.fathom"], "absent"),
        (["query", "/absent.fathom", "--sql", "select 1"], "absent"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_input_is_one_clear_line(words: list[str], says: str) -> None:
    done = subprocess.run(
        [str(paths.FATHOM), *words], capture_output=True, text=True, timeout=300, check=False
    )
    lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("usage")]
    assert done.returncode in (2, 3, 125), done
    assert len(lines) == 1 and says in lines[0], done.stderr


def test_unknown_program(tmp_path: Path) -> None:
    done = fathom_run(tmp_path / "run.fathom", "/absent/program")
    assert done.returncode == 127
    assert len(done.stderr.strip().splitlines()) == 1 and "/absent/program" in done.stderr
