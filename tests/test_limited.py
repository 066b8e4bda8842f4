"""Programs that limit or confine themselves: they do what they do without Fathom, none of our system calls is made
where one could kill, and what they did is recorded or counted."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import invariants, needs, paths, tables

LIMITED = paths.PROGRAMS / "programs" / "limited"
CONFINED = paths.PROGRAMS / "programs" / "confined"
SECCOMP = "select count(*) from marks where kind = 'note' and detail like 'seccomp:%'"
WRITES = """select coalesce(sum(calls), 0), coalesce(sum(bytes), 0) from counters
    where op in ('pwrite', 'write') and layer = 'posix' and file in (select file from files where path like '%/data')"""


def run(directory: Path, *command: object, under: bool = True) -> Any:
    fathom = [paths.FATHOM, "run", "--no-show", "-o", directory / "run.fathom", "--"]
    words = [str(w) for w in (*(fathom if under else []), *command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def limited(tmp_path: Path, way: str, count: int) -> Any:
    """A connection to what was recorded of it."""
    data = tmp_path / "data"
    alone = run(tmp_path, LIMITED, way, data, count, under=False)
    if "seccomp: Invalid" in alone.stderr or "prctl: Invalid" in alone.stderr:
        pytest.skip("needs seccomp in the kernel")
    written = data.read_bytes()
    data.unlink()
    done = run(tmp_path, LIMITED, way, data, count)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout) == (0, alone.stdout)
    assert data.read_bytes() == written
    return tables.connect(tmp_path / "run.fathom")


def ended(connection: Any) -> list[str]:
    return [
        word for (word,) in tables.ask(connection, "select ended from processes order by start")
    ]


@pytest.mark.some(2)
@pytest.mark.parametrize("way", ["prctl", "syscall"])
@pytest.mark.parametrize("count", [100, 1_000_000])
def test_a_filter_that_kills_lets_the_program_end(tmp_path: Path, way: str, count: int) -> None:
    connection = limited(tmp_path, way, count)
    assert tables.ask(connection, WRITES) == [[count, count * 64]]
    rows = "select count(*), count(distinct file_offset) from calls where op = 'pwrite' and state = 'done'"
    assert tables.ask(connection, rows) == [[count, count]]
    assert ended(connection) == ["clean"] and tables.ask(connection, SECCOMP) == [[1]]
    assert not invariants.broken(connection, finished=True, whole=True)


@pytest.mark.full
def test_what_memory_has_no_room_for_is_counted(tmp_path: Path) -> None:
    connection = limited(tmp_path, "prctl", 6_000_000)
    assert tables.ask(connection, WRITES) == [[6_000_000, 6_000_000 * 64]]
    events, notes = tables.ask(
        connection,
        """select (select count(*) from calls where op = 'pwrite'),
            (select count(*) from marks where detail like 'seccomp: shared memory for rows is full%')""",
    )[0]
    assert 500_000 < events < 6_000_000 and notes == 1
    assert not invariants.broken(connection, finished=False, whole=False)


def test_strict_mode_leaves_four_calls_and_no_clock(tmp_path: Path) -> None:
    connection = limited(tmp_path, "strict", 10_000)
    assert tables.ask(connection, WRITES) == [[10_000, 640_000]]
    assert not invariants.broken(connection, finished=False, whole=False)


def test_a_filter_for_all_threads_holds_for_those_to_come(tmp_path: Path) -> None:
    """Of three threads before and three after; the process that comes later is not recorded."""
    connection = limited(tmp_path, "threads", 20_000)
    assert tables.ask(connection, WRITES) == [[6 * 20_000, 6 * 20_000 * 64]]
    threads = "select count(distinct stream) from calls where op = 'pwrite'"
    assert tables.ask(connection, threads) == [[6]]
    assert ended(connection) == ["clean"]
    assert not invariants.broken(connection, finished=True, whole=True)


def test_signal_handlers_come_in_anywhere(tmp_path: Path) -> None:
    """No signal is blocked any more while streams go on to another chunk, and a handler must not wait for that."""
    done = run(tmp_path, LIMITED, "signals", tmp_path / "data", 500_000)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done
    handled = int(done.stdout.split()[0])
    connection = tables.connect(tmp_path / "run.fathom")
    ((writes,),) = tables.ask(connection, "select sum(calls) from counters where op = 'pwrite'")
    assert handled > 100 and 500_000 + handled * 0.99 <= writes <= 500_000 + handled
    assert not invariants.broken(connection, finished=True, whole=False)


def test_a_filter_that_was_refused_changes_nothing(tmp_path: Path) -> None:
    connection = limited(tmp_path, "refused", 1000)
    assert tables.ask(connection, WRITES) == [[1000, 64_000]]
    assert ended(connection) == ["clean"]


def test_a_filter_from_before_the_run_changes_nothing(tmp_path: Path) -> None:
    """A container's: it answers with errors."""
    under = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "run.fathom", "--"]
    command = [LIMITED, "before", *under, LIMITED, "freely", tmp_path / "data", 1000]
    done = run(tmp_path, *command, under=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    connection = tables.connect(tmp_path / "run.fathom")
    assert tables.ask(connection, WRITES) == [[1000, 64_000]]
    assert ended(connection) == ["clean"] and tables.ask(connection, SECCOMP) == [[0]]


def test_limits_of_a_vfork_child_are_not_its_parents(tmp_path: Path) -> None:
    connection = limited(tmp_path, "vfork", 1000)
    assert tables.ask(connection, WRITES) == [[1000, 64_000]]
    assert ended(connection)[0] == "clean"


def test_limits_stay_when_another_image_comes(tmp_path: Path) -> None:
    """Its start would be killed for ours: it is not recorded."""
    connection = limited(tmp_path, "image", 1000)
    assert tables.ask(connection, WRITES) == [[1000, 64_000]]


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "way", ["landlock", "chroot", "user", "mounts", "users", "descriptors", "memory", "file size"]
)
def test_what_is_out_of_reach_is_recorded_in_memory(tmp_path: Path, way: str) -> None:
    if way in ("chroot", "user"):
        needs.require(["root"])
    tmp_path.chmod(0o700)  # to whoever it becomes, the run is closed
    data, count = tmp_path / "data", 300_000
    alone = run(tmp_path, CONFINED, way, data, count, under=False)
    if alone.returncode == 77:
        pytest.skip(f"{way}: not on this kernel, or not for this user")
    written = data.read_bytes()
    done = run(tmp_path, CONFINED, way, data, count)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout) == (3, "done\n")
    assert data.read_bytes() == written
    connection = tables.connect(tmp_path / "run.fathom")
    writes = WRITES.replace("op in ('pwrite', 'write')", "op = 'pwrite'")
    assert tables.ask(connection, writes) == [[count, 8 * count]]
    assert tables.ask(connection, "select count(*) from calls where op = 'pwrite'") == [[count]]
    assert ended(connection) == ["clean"]
    assert not invariants.broken(connection, finished=True, whole=True)
