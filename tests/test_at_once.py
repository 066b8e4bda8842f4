"""What threads, processes and nodes do with the same files at the same time: containers of one host name give the same
pids, file systems keep locks on one node alone, or have no hard links."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fathom.files import remove_abandoned
from fathom.forward import mounts
from fathom.forward.group import Group
from fathom.run import manifest
from harness import faults, needs, paths, readers
from harness.readers import ENGINE
from harness.running import running
from test_agent import wait_until

#: A container: the first process in it has pid 1.
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")
STEP = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3"}
#: Every process has every lock, as on nodes that do not tell each other of them.
NO_LOCKS = (
    "strace",
    "-f",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    "trace=flock",
    "-e",
    "inject=flock:retval=0",
)
MANY = 25


def rank(run: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """A rank of a step of Slurm, recorded in this run."""
    return subprocess.run(
        [*before, str(paths.FATHOM), "run", "-o", str(run), "--", "true"],
        env={**os.environ, **STEP}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("error", ["ENOSYS", "ENOLCK", "EOPNOTSUPP"])
def test_where_there_are_no_locks_files_are_written(tmp_path: Path, error: str) -> None:
    """As on Lustre that is mounted without flock."""
    needs.require(["strace"])
    without = [*NO_LOCKS[:-1], f"inject=flock:error={error}"]
    write = f"from pathlib import Path; from fathom.files import *; replace_text(Path({str(tmp_path / 'f')!r}), 'x')"
    scratch = "; from fathom.run.scratch import Scratch; Scratch().remove()"
    subprocess.run([*without, sys.executable, "-c", write + scratch], check=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_containers_of_one_name_start_one_run(tmp_path: Path) -> None:
    """Each has pid 1, and the other is at work on run.json."""
    needs.require(["namespaces"])
    run = tmp_path / "run.fathom"
    run.mkdir()
    (run / f"run.json.{os.uname().nodename}.1").write_text("of the other")
    done = rank(run, *CONTAINER)
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "run.json").read_text())["job"] == "7.3"


def test_ranks_agree_on_a_run_without_hard_links(tmp_path: Path) -> None:
    """The second one looks before the first has made run.json, and moves its own to the name after it."""
    needs.require(["strace"])
    run = tmp_path / "run.fathom"
    assert rank(run).returncode == 0
    before = (run / "run.json").read_bytes()
    only = ("-P", str(run / "run.json"), "-e", "trace=access,link")
    faulty = ("-e", "inject=access:error=ENOENT", "-e", "inject=link:error=EPERM")
    done = rank(run, "strace", "-f", "-qq", "-o", "/dev/null", *only, *faulty)
    assert done.returncode == 0, done.stderr
    assert (run / "run.json").read_bytes() == before


WRITER = """
import sys
from pathlib import Path
from fathom.files import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_text(sys.argv[2])
    print(flush=True)
    sys.stdin.readline()
"""


def writer(path: Path, text: str) -> subprocess.Popen[str]:
    """It has written, and waits for a line to end; in a container."""
    words = [*CONTAINER, sys.executable, "-c", WRITER, str(path), text]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout
    process.stdout.readline()
    return process


def test_writers_of_one_pid_do_not_meet(tmp_path: Path) -> None:
    needs.require(["namespaces"])
    path = tmp_path / "file"
    first, second = writer(path, "first"), writer(path, "second")
    remove_abandoned(tmp_path)  # by a node that knows no such pids
    ends = []
    for process in (second, first):
        _, errors = process.communicate("\n", timeout=60)
        ends.append((process.returncode, errors, path.read_text()))
    assert ends == [(0, "", "second"), (0, "", "first")]
    killed = writer(path, "third")
    (child,) = (int(pid) for pid in _children(killed.pid))
    os.kill(child, 9)
    killed.communicate(timeout=60)
    assert len(list(tmp_path.iterdir())) == 2
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def note_in_manifest(place: Path, who: int, number: int) -> None:
    manifest.add(place, {f"{who}.{number}": number})


def note_mount(place: Path, who: int, number: int) -> None:
    one = mounts.Mount(f"{who}.{number}", "server", 1, 1, "log")
    mounts.change(Group(place), lambda others: [*others, one])


def notes_in_manifest(place: Path) -> int:
    return len(manifest.read(place)) - 1


def notes_of_mounts(place: Path) -> int:
    return len(mounts.mounted(Group(place)))


def _several(note: Callable[[Path, int, int], None], place: Path, who: int) -> None:
    for number in range(MANY):
        note(place, who, number)


@pytest.mark.parametrize(
    ("note", "count"),
    [(note_in_manifest, notes_in_manifest), (note_mount, notes_of_mounts)],
    ids=["run.json", "mounts.json"],
)
def test_each_adds_to_a_file_and_loses_nothing_of_others(
    note: Callable[[Path, int, int], None], count: Callable[[Path], int], tmp_path: Path
) -> None:
    for name in ("run.json", "servers.json"):
        (tmp_path / name).write_text('{"format": 1}')
    method = multiprocessing.get_context("spawn")
    all_of_them = [method.Process(target=_several, args=(note, tmp_path, who)) for who in range(4)]
    [process.start() for process in all_of_them]
    [process.join() for process in all_of_them]
    assert [process.exitcode for process in all_of_them] == [0] * 4
    assert count(tmp_path) == 4 * MANY


def test_packers_that_know_nothing_of_each_other(tmp_path: Path) -> None:
    """Tables are one packer's, whole, or there are none; the next pack is right."""
    needs.require(["strace"])
    case = readers.case("pack --force", tmp_path / "place")
    right, chance = faults.right_one(case), random.Random(1)
    words = (*NO_LOCKS, *case.words)
    for _ in range(8):
        case.restore()
        packers = []
        for _ in range(3):
            packers.append(subprocess.Popen(words, cwd=case.place, stderr=subprocess.DEVNULL))
            time.sleep(chance.uniform(0, 0.05))
        statuses = [packer.wait(timeout=60) for packer in packers]
        assert set(statuses) <= {0, 3}
        if 0 in statuses:
            files = case.files(case.place)
            assert {name: text for name, text in files.items() if "/tables/" in name} == {
                name: text for name, text in right.files.items() if "/tables/" in name
            }
        again = case.run()
        assert again.status == 0 and again.files == right.files, faults.differing(again, right)


def test_parts_of_two_jobs_are_not_joined_at_once(tmp_path: Path) -> None:
    """The second comes while the first is about to say whose run it is."""
    needs.require(["strace"])
    for name in ("one", "other"):
        readers.killed_run(tmp_path / name)
    into = tmp_path / "all.fathom"
    second = "2000000:when=2"  # the first one brings in what the killed process left
    delay = ("-e", "trace=rename", "-e", f"inject=rename:delay_enter={second}")
    join = (ENGINE, "join", str(into))
    first = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", *delay, *join, str(tmp_path / "one/w.fathom")],
        stdout=subprocess.DEVNULL,
    )
    wait_until("run.json is being written", lambda: list(into.glob("run.json.*")))
    after = subprocess.run(
        [*join, str(tmp_path / "other/w.fathom")], capture_output=True, text=True, check=False
    )
    assert first.wait(timeout=60) == 0
    assert after.returncode == 3 and "is of another job than" in after.stderr
    assert len(list(into.glob("streams/*/*.fts"))) == 1


def test_a_run_has_one_collector(tmp_path: Path) -> None:
    words = [ENGINE, "collect", str(tmp_path / "run.fathom"), "--listen", "127.0.0.1:0"]
    first = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout and first.stdout.readline()
        second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    finally:
        first.kill()
        first.communicate()
    assert (second.returncode, second.stdout, second.stderr.count("\n")) == (3, "", 1)
    assert "another collector writes into it" in second.stderr


def test_servers_are_started_once(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    up = [sys.executable, "-m", "fathom", "forward", "up", "--export", "x"]
    pipe = subprocess.PIPE
    all_of_them = [
        subprocess.Popen(up, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) for _ in range(3)
    ]
    ends = [process.communicate(timeout=120) for process in all_of_them]
    try:
        assert sorted(process.returncode for process in all_of_them) == [0, 2, 2], ends
    finally:
        down = [*up[:4], "down", "--patience", "2"]
        subprocess.run(down, cwd=tmp_path, check=False, capture_output=True)
    below = b"\0forward\0" + os.fsencode(tmp_path)
    assert not [pid for pid, words in running() if below in b"\0".join(words)]


PLAN = """
repeat = 1
[vary]
number = [1, 2, 3]
[programs]
sleeper = "sleep 0.{number}"
"""


def test_a_study_is_run_by_one_command(tmp_path: Path) -> None:
    """Another one that comes waits, and finds all done."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    words = [sys.executable, "-m", "fathom", "study", str(plan)]
    pipe = subprocess.PIPE
    both = [
        subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) for _ in range(2)
    ]
    ends = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    runs = sorted(path.name for path in tmp_path.rglob("*.fathom"))
    assert runs == [f"sleeper.number-{number}.1.fathom" for number in (1, 2, 3)], ends
