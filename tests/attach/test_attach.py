"""fathom attach, detach: a program that runs already is recorded from one moment to another, and never harmed."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fathom import control, selection
from harness import invariants, needs, paths, tables

PROGRAMS = paths.PROGRAMS / "programs"
BLOCK, BLOCKS, WRITERS = 64, 1024, 3


@pytest.fixture(autouse=True)
def gdb() -> None:
    needs.require(["gdb"])


def fathom(place: Path, *words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=120, check=False, **more
    )


def works(place: Path, *words: object) -> None:
    done = fathom(place, *words)
    assert done.returncode == 0, done.stderr


class Program:
    """tests/programs/attached.c, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid
        self.writes()

    def _line(self) -> int:
        assert self.process.stdout
        return int(self.process.stdout.readline().split()[0])

    def writes(self) -> int:
        """How many it has made by now."""
        assert self.process.stdin
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return self._line()

    def goes_on(self, more: int) -> int:
        until = self.writes() + more
        while (now := self.writes()) < until:
            pass
        return now

    def end(self) -> None:
        """As it ends bare: its last line, its status."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self._line() > 0
        assert self.process.wait(timeout=60) == 7

    def _threads(self) -> int:
        time.sleep(0.001)
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def holds(self) -> tuple[int, int, int]:
        """Descriptors, mappings, threads."""
        about = Path(f"/proc/{self.pid}")
        maps = (about / "maps").read_text()
        tasks = min(self._threads() for _ in range(100))  # one comes and goes
        return len(list((about / "fd").iterdir())), maps.count("\n") - maps.count(".ring"), tasks


@contextmanager
def running(place: Path, name: str = "attached", **variables: str) -> Iterator[Program]:
    process = subprocess.Popen(
        [PROGRAMS / name, place / "file"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        yield Program(process)
    finally:
        process.kill()
        process.wait()


def no_gap(connection: Any) -> int:
    """Each writer's blocks follow each other; how many there are."""
    rows = tables.ask(
        connection,
        f"select thread, file_offset // {1 << 20}, file_offset % {1 << 20} // {BLOCK} from calls"
        f" where op = 'pwrite' and size = {BLOCK} order by thread, start",
    )
    writers = {(thread, writer) for thread, writer, _ in rows}
    assert len(writers) == len({thread for thread, _ in writers}) == WRITERS
    for before, after in itertools.pairwise(rows):
        if before[0] == after[0]:
            assert after[2] == (before[2] + 1) % BLOCKS, (before, after)
    return len(rows)


@pytest.mark.parametrize("name", ["attached", "attached_hard"])
def test_each_call_between_attach_and_detach(tmp_path: Path, name: str) -> None:
    with running(tmp_path, name) as program:
        bare = program.holds()
        first = program.goes_on(500)
        works(tmp_path, "attach", program.pid, "-o", "run")
        began = program.writes()
        ended = program.goes_on(3000)
        works(tmp_path, "detach", "run")
        last = program.goes_on(500)
        assert program.holds()[0] == bare[0]
        assert program.holds()[2] == bare[2]
        program.end()
    run = tmp_path / "run.fathom"
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=False, whole=True)
    no_gap(connection)
    unfinished = tables.ask(connection, "select op from calls where state <> 'done'")
    assert unfinished == [["read"]]  # of the main thread, which waits
    (made,) = tables.ask(connection, "select count(*) from calls where op = 'pwrite'")[0]
    assert ended - began <= made <= last - first
    handlers = "select count(*) from calls where op = 'pread' and error = 0"
    assert tables.ask(connection, handlers) != [[0]]
    said = json.loads((run / "run.json").read_text())
    assert said["program"] == name
    assert [one["pid"] for one in said["attached"]] == [program.pid]
    assert said["start_ns"] < said["end_ns"]
    assert not Path(said["configuration"]["ring"]).exists()


def test_all_ranks_of_a_job_at_once(tmp_path: Path) -> None:
    """This test is their launcher: it tells each its rank, and is their parent."""
    ranks = [{"PMI_RANK": str(rank), "PMI_SIZE": "2"} for rank in range(2)]
    with running(tmp_path, **ranks[0]) as first, running(tmp_path, **ranks[1]) as second:
        works(tmp_path, "attach", "--job", os.getpid(), "-o", "run")
        first.goes_on(500)
        second.goes_on(500)
        watched = fathom(tmp_path, "top", "--once", "--json", "run")
        works(tmp_path, "detach", first.pid)
        second.goes_on(500)
        assert "end_ns" not in json.loads((tmp_path / "run.fathom" / "run.json").read_text())
        works(tmp_path, "detach", "run")
        first.end()
        second.end()
    assert json.loads(watched.stdout)["processes"]["running"] == 2
    assert "end_ns" in json.loads((tmp_path / "run.fathom" / "run.json").read_text())
    connection = tables.connect(tmp_path / "run.fathom")
    calls = "select p.rank, count(*) from calls join processes p using (process) group by all order by all"
    (rank0, some), (rank1, more) = tables.ask(connection, calls)
    assert (rank0, rank1) == (0, 1)
    assert some >= 500
    assert more >= 1000


def cycles(place: Path, program: Program, times: range) -> tuple[int, int, int]:
    for i in times:
        works(place, "attach", program.pid, "-o", f"run{i}")
        program.goes_on(200)
        works(place, "detach", program.pid)
        assert no_gap(tables.connect(place / f"run{i}.fathom")) >= 200
    return program.holds()


def test_attached_again(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        cycles(tmp_path, program, range(3))
        program.end()


@pytest.mark.full
def test_fifty_cycles_leak_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        before = cycles(tmp_path, program, range(10))
        after = cycles(tmp_path, program, range(10, 60))
        assert after[0] == before[0]
        assert after[2] == before[2]
        assert after[1] <= before[1] + 8  # libc's arenas for threads come and stay
        program.end()


def refused(place: Path, *words: object, **more: Any) -> str:
    """Its one line; nothing is left of the run."""
    done = fathom(place, "attach", *words, "-o", "refused", **more)
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert not (place / "refused.fathom").exists()
    return lines[0]


def test_what_cannot_be_attached_gets_one_line(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert f"process {gone.pid}: there is no such process" in refused(tmp_path, gone.pid)
    assert "name processes by PID" in refused(tmp_path)
    assert "no process of yours runs" in refused(tmp_path, "--name", "none such")
    assert "no rank of an MPI job" in refused(tmp_path, "--job", os.getpid())
    assert "runs a launcher or a shell" in with_shell(tmp_path)


def with_shell(place: Path) -> str:
    with subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE) as shell:
        said = refused(place, shell.pid)
        assert shell.poll() is None
        shell.communicate(b"on\n")
    assert shell.returncode == 0
    return said


def test_a_static_program_is_let_alone(tmp_path: Path) -> None:
    (tmp_path / "s.c").write_text(
        "#include <unistd.h>\nint main(void) { char c; return 5 + (int)read(0, &c, 1); }\n"
    )
    subprocess.run(["cc", "-static", "-o", tmp_path / "s", tmp_path / "s.c"], check=True)
    with subprocess.Popen([tmp_path / "s"], stdin=subprocess.PIPE) as program:
        assert "is linked statically" in refused(tmp_path, program.pid)
        program.communicate(b"")
    assert program.returncode == 5


def test_attached_twice_and_detached_twice(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        works(tmp_path, "attach", program.pid, "-o", "first")
        said = refused(tmp_path, program.pid)
        assert f"recorded already, in {tmp_path / 'first.fathom'}" in said
        works(tmp_path, "detach", program.pid)
        again = fathom(tmp_path, "detach", program.pid)
        assert again.returncode == 3
        assert again.stderr == f"fathom: process {program.pid} is not recorded\n"
        ended = fathom(tmp_path, "detach", "first")
        assert ended.returncode == 2
        assert "none of its processes" in ended.stderr
        program.end()


def test_a_preloaded_program_is_recorded_already(tmp_path: Path) -> None:
    words = [paths.FATHOM, "run", "--no-show", "-o", "run", PROGRAMS / "attached", "file"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdin and command.stdout
        command.stdin.write("x")
        command.stdin.flush()
        command.stdout.readline()
        said = refused(tmp_path, "--name", "attached")
        assert f"recorded already, in {tmp_path / 'run.fathom'}" in said
        command.communicate()
    assert command.returncode == 7


def test_without_gdb(tmp_path: Path) -> None:
    without = {**os.environ, "PATH": str(tmp_path), "FATHOM_PYTHON": paths.PYTHON}
    assert "attach needs gdb, which is not installed" in refused(tmp_path, os.getpid(), env=without)


def test_another_users_process(tmp_path: Path) -> None:
    needs.require(["root"])
    with running(tmp_path) as program:
        words = [
            "import os, sys, fathom.commands.attach, fathom.__main__ as command",
            "fathom.places.library(), os.chdir('/'), os.setuid(65534)",
            f"sys.exit(command.main(['attach', '{program.pid}', '-o', '/tmp/refused']))",
        ]
        done = subprocess.run(
            [paths.PYTHON, "-c", "; ".join(words)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 3
        assert done.stderr.splitlines() == [
            f"fathom: process {program.pid}: it is another user's, or may not be looked at"
        ]
        program.end()


def toggles(place: Path, program: Program, times: int) -> None:
    works(place, "attach", program.pid, "-o", "run")
    program.goes_on(100)
    rings = Path(
        json.loads((place / "run.fathom" / "run.json").read_text())["configuration"]["ring"]
    )
    node = control.Node(rings)
    on = selection.compile_text(selection.from_options("call", None, [], {}), "on", [])
    off = selection.compile_text(selection.from_options("off", None, [], {}), "off", [])
    before = None
    for i in range(times):
        node.change(off if i % 2 else on)
        program.goes_on(5)
        before = program.holds() if i == times // 10 else before
    assert program.holds() == before
    node.change(on)
    program.goes_on(100)
    works(place, "detach", program.pid)
    program.end()
    assert not invariants.broken(tables.connect(place / "run.fathom"), finished=False, whole=False)


def test_levels_are_changed_while_attached(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        toggles(tmp_path, program, 50)


@pytest.mark.full
def test_a_thousand_changes_of_level_leak_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        toggles(tmp_path, program, 1000)
