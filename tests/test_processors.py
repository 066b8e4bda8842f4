"""More threads than processors: which processors a process may use, and how long it ran on one and waited for one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, runner, tables

PROGRAMS = paths.PROGRAMS / "programs"
SPINS = PROGRAMS / "spins"
ONE = min(os.sched_getaffinity(0))
STALE = 0.05  # seconds: the kernel brings its numbers up to date at ticks
PROCESSES = """select allowed, allowed_processors, processor_time / 1e9 as ran, processor_wait / 1e9 as waited,
    (stop - start) / 1e9 as lasted, ended from processes order by start"""


def run(tmp_path: Path, *command: object, on: set[int] | None = None, before: str = "") -> Any:
    """Its tables; it may run `on` these processors only, and a shell does `before` first."""
    recorded = tmp_path / "run.fathom"
    words = [str(w) for w in (paths.FATHOM, "run", "--no-show", "-o", recorded, "--", *command)]
    done = subprocess.run(
        ["bash", "-ec", before + 'exec "$@"', "-", *words],
        preexec_fn=lambda: os.sched_setaffinity(0, on or os.sched_getaffinity(0)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return tables.connect(recorded)


def processes(connection: Any) -> list[dict[str, Any]]:
    cursor = connection.execute(PROCESSES)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_the_node_and_what_is_allowed(tmp_path: Path) -> None:
    """Both as the system's own tools see them; asking leaves no trace among the program's files."""
    connection = run(tmp_path, SPINS, tmp_path / "f", 0.2, "alone")
    assert tables.ask(connection, "select processors from nodes") == [
        [os.sysconf("SC_NPROCESSORS_ONLN")]
    ]
    [process] = processes(connection)
    status = Path("/proc/self/status").read_text()
    [allowed] = [line.split()[1] for line in status.splitlines() if "Cpus_allowed_list" in line]
    assert process["allowed"] == allowed
    assert 1 <= process["allowed_processors"] <= len(os.sched_getaffinity(0))
    assert process["ran"] > 0 and process["waited"] >= 0
    assert process["ran"] + process["waited"] <= process["lasted"] + STALE
    of_threads = tables.ask(connection, "select sum(processor_wait) / 1e9 from streams")
    assert of_threads == [[pytest.approx(process["waited"])]]
    ours = "select path from files where path like '/proc/%' or path like '/sys/%'"
    assert tables.ask(connection, ours) == []


@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_ranks_on_one_processor_wait_for_it(tmp_path: Path, mpi: str) -> None:
    needs.require(needs.of_mpi(mpi))
    launcher = runner.LAUNCH[mpi].split()
    if mpi == "ompio":
        launcher += ["--bind-to", "none"]
    spin = PROGRAMS / "mpi" / f"spin_{needs.MPI[mpi]}"
    connection = run(tmp_path, *launcher, "-n", 4, spin, 1.5, on={ONE})
    ranks = processes(connection)[-4:]
    assert [(rank["allowed"], rank["allowed_processors"]) for rank in ranks] == [(str(ONE), 1)] * 4
    assert all(rank["ran"] > 0 and rank["waited"] > 0 for rank in ranks), ranks
    assert sum(rank["waited"] for rank in ranks) > sum(rank["ran"] for rank in ranks), ranks


def test_of_all_threads(tmp_path: Path) -> None:
    """/proc/PID/schedstat tells of the main thread only, which waits here and needs no processor."""
    connection = run(tmp_path, SPINS, tmp_path / "f", 1, "threads", on={ONE})
    [process] = processes(connection)
    assert process["ran"] + process["waited"] > 1.5, process
    assert process["waited"] > 0.5, process


@pytest.mark.parametrize("way", ["fork", "exec"])
def test_each_process_image_has_its_own(tmp_path: Path, way: str) -> None:
    """The kernel counts on over an exec, and begins anew in a fork's child."""
    first, second = processes(run(tmp_path, SPINS, tmp_path / "f", 1, way, on={ONE}))
    for process, seconds in (first, 1.0), (second, 0.2):
        used = process["ran"] + process["waited"]
        assert seconds - STALE < used <= process["lasted"] + STALE, (first, second)
        assert process["ran"] > 0 and process["allowed"] == str(ONE)


def test_of_a_killed_process_up_to_its_last_full_chunk(tmp_path: Path) -> None:
    writes = PROGRAMS / "writes"
    [process] = processes(run(tmp_path, writes, tmp_path / "f", 400_000, 8, "kill"))
    assert process["ended"] == "killed"
    assert 0 < process["ran"] + process["waited"] <= process["lasted"] + STALE


def test_of_a_killed_process_without_a_full_chunk_it_is_not_known(tmp_path: Path) -> None:
    writes = PROGRAMS / "writes"
    [process] = processes(run(tmp_path, writes, tmp_path / "f", 10, 8, "kill"))
    assert process["ended"] == "killed"
    assert (process["ran"], process["waited"]) == (None, None) and process["allowed"]


def test_without_proc_it_is_not_known(tmp_path: Path) -> None:
    needs.require(["namespaces"])
    script = f"mount -t tmpfs none /proc && exec {SPINS} {tmp_path}/f 0.1 alone"
    connection = run(tmp_path, "unshare", "--mount", "sh", "-c", script, on={ONE})
    process = processes(connection)[-1]
    assert (process["ran"], process["waited"]) == (None, None)
    assert (process["allowed"], process["ended"]) == (str(ONE), "clean")


@contextmanager
def limited_group() -> Iterator[Path]:
    """A group inside one that has the time of half a processor."""
    tree = Path("/sys/fs/cgroup")
    v1 = (tree / "cpu" / "cpu.shares").exists()
    outer = (tree / "cpu" if v1 else tree) / f"fathom-{os.getpid()}"
    inner = outer / "inner"
    try:
        outer.mkdir()
        if v1:
            (outer / "cpu.cfs_quota_us").write_text("50000")
        else:
            (outer / "cpu.max").write_text("50000 100000")
            (outer / "cgroup.subtree_control").write_text("+cpu")
        inner.mkdir()
        yield inner
    except OSError as error:
        pytest.skip(f"needs a cgroup of one's own: {error}")
    finally:
        for folder in (inner, outer):
            if folder.is_dir():
                folder.rmdir()


def test_a_quota_gives_fewer(tmp_path: Path) -> None:
    with limited_group() as group:
        connection = run(
            tmp_path, SPINS, tmp_path / "f", 0.1, "alone", before=f"echo $$ >{group}/cgroup.procs;"
        )
    [process] = processes(connection)
    assert process["allowed_processors"] == 1
    assert process["allowed"] != "" and process["ran"] > 0


READS = """
import os, sys, threading

def read_bytes(of):
    with open(f"/proc/{of}/io") as lines:
        return int(dict(line.split(": ") for line in lines)["read_bytes"])

def write(name):
    with open(name, "wb") as file:
        file.write(bytes(3 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

def read(name):
    for _ in range(2):
        with open(name, "rb") as file:
            file.read()

names = [sys.argv[1] + str(n) for n in range(4)]
for name in names:
    write(name)
before = read_bytes("self")
threads = [threading.Thread(target=read, args=[name]) for name in names[1:]]
for thread in threads:
    thread.start()
read(names[0])
for thread in threads:
    thread.join()
print(before, read_bytes("self"), file=open(sys.argv[1], "w"))
"""


@pytest.mark.parametrize("level", ["job", "call"])
def test_what_came_from_storage_is_what_the_kernel_says(tmp_path: Path, level: str) -> None:
    """Of a process with threads that reads its files twice, as /proc/self/io has it at its beginning and end."""
    needs.require(["page_cache"])
    said = tmp_path / "said"
    recorded = tmp_path / "run.fathom"
    words = ("run", "--no-show", "--level", level, "-o", recorded, "--")
    command = (paths.FATHOM, *words, paths.PYTHON, "-c", READS, said)
    done = subprocess.run([str(word) for word in command], check=False, timeout=300)
    assert done.returncode == 0
    before, after = (int(word) for word in said.read_text().split())
    connection = tables.connect(recorded)
    [[read]] = tables.ask(connection, "select max(storage_read) from processes")
    assert after - before == 4 * (3 << 20)
    assert after - before <= read <= after
