"""`--select critical`: only who holds the others up is recorded in full, and all of that. The slow rank of the moment
is chosen by the test in shared memory and waited for, so nothing here depends on how fast the machine is."""

from __future__ import annotations

import contextlib
import csv
import mmap
import os
import re
import shlex
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import critical
from fathom.run.rings import own_rings
from harness import needs, paths, runner, tables
from test_agent import parallel

PROGRAM = paths.PROGRAMS / "programs" / "critical"
SLOW_STORE = paths.PROGRAMS / "tools" / "slow_store.so"
SLOW, STOP, STEP = 0, 8, 16  # bytes of the board: tests/programs/critical.c
WRITES = 200  # of a rank in a step
PATIENCE = 120  # s; only a test that fails waits so long


class Job:
    """Ranks in step, one of them slow; recorded as `options` say."""

    def __init__(
        self,
        place: Path,
        ranks: int,
        *options: str,
        recorded: bool = True,
        program: Sequence[str] = (),
    ) -> None:
        self.place, self.run = place, place / "run.fathom"
        (place / "slow").mkdir(parents=True)
        (place / "board").write_bytes(struct.pack("<q", -1) + bytes(4088))
        with (place / "board").open("r+b") as file:
            self.board = mmap.mmap(file.fileno(), 4096)
        slow = {"SLOW_STORE_UNDER": str(place / "slow"), "SLOW_STORE_LATENCY_US": "40000"}
        before = ["run", "--no-show", "-o", str(self.place / "run"), *options, "--"]
        self.begin(
            [
                *([str(paths.FATHOM), *before] if recorded else []),
                *(program or (str(PROGRAM), "launch", str(ranks), str(place))),
            ],
            {"LD_PRELOAD": str(SLOW_STORE), **slow},
        )

    def begin(self, words: list[str], more: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            words, env={**os.environ, **runner.STACK_ENV, **more}, stdin=subprocess.DEVNULL
        )

    def step(self) -> int:
        return int(struct.unpack_from("<q", self.board, STEP)[0])

    def goes_on(self, steps: int) -> None:
        until = self.step() + steps
        wait_for(lambda: self.step() >= until)

    def slow_down(self, rank: int) -> tuple[int, int]:
        """Until this rank is named as critical, and for ten steps more: those between which it was."""
        struct.pack_into("<q", self.board, SLOW, rank)
        while True:
            wait_for(lambda: self.critical() == [rank])
            first, now = self.step() + 2, [in_force(rings) for rings in self.rings()]
            self.goes_on(10)
            if self.critical() == [rank] and [in_force(rings) for rings in self.rings()] == now:
                return first, self.step() - 1

    def rings(self) -> list[Path]:
        """Of all nodes, as they are seen from here; none while the run is being made."""
        rings = own_rings(self.run) if (self.run / "run.json").exists() else None
        return [rings] if rings else []

    def critical(self) -> list[int | None]:
        return [rank_of(pid) for rings in self.rings() for pid in named(rings)]

    def stop(self) -> Any:
        struct.pack_into("<q", self.board, STOP, 1)
        assert self.process.wait(timeout=PATIENCE) == 0
        return tables.connect(self.run)

    def end(self) -> None:
        """After a failure, too."""
        struct.pack_into("<q", self.board, STOP, 1)
        try:
            self.process.wait(timeout=100)
        except subprocess.TimeoutExpired:
            self.process.kill()


def wait_for(condition: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def rings_of(run: Path) -> Path:
    rings = own_rings(run)
    assert rings is not None
    return rings


def in_force(rings: Path) -> Path | None:
    """The selection, whose number grows with each change."""
    selections = rings.glob("selection.*[0-9]")
    return max(selections, key=lambda path: int(path.suffix[1:]), default=None)


def named(rings: Path) -> list[int]:
    """Processes at level `call` now, as the selection in force says."""
    newest = in_force(rings)
    try:
        text = newest.read_text() if newest else ""
    except FileNotFoundError:  # replaced just now
        return named(rings)
    return [int(pid) for pid in re.findall(r"^critical (\d+)$", text, re.MULTILINE)]


def rank_of(pid: int) -> int | None:
    try:
        match = re.search(
            rb"\0(?:PMI|OMPI_COMM_WORLD)_RANK=(\d+)\0", Path(f"/proc/{pid}/environ").read_bytes()
        )
    except OSError:
        return None
    return int(match[1]) if match else None


@pytest.fixture
def jobs() -> Iterator[list[Job]]:
    """What a test started ends with it."""
    started: list[Job] = []
    yield started
    for job in started:
        job.end()


def offsets(place: Path, rank: int, steps: tuple[int, int]) -> set[int]:
    """The program's own account: where the rank wrote between two steps."""
    done = struct.iter_unpack("<I", (place / f"log.{rank}").read_bytes())
    totals = [0, *(total for (total,) in done)]
    return set(range(8 * totals[steps[0]], 8 * totals[steps[1]], 8))


ROWS = """select distinct c.file_offset from calls c join processes p using (process)
    where p.rank = ? and c.op = 'pwrite'"""
#: Most processes at level call at once.
MOST = """with turn as (select time, value - lag(value, 1, 0) over (partition by process order by time) as more
    from samples where what = 'critical')
    select coalesce(max(n), 0) from (select sum(more) over (order by time, more) as n from turn)"""


def check_named(
    job: Job, connection: Any, slowed: dict[int, tuple[int, int]], at_once: int = 1
) -> None:
    """The page names them in turn; of each all calls are rows, and all others are counted."""
    phases = critical.phases(fathom.open(job.run))
    for rank, steps in slowed.items():
        rows = {row[0] for row in connection.execute(ROWS, [rank]).fetchall()}
        asked = offsets(job.place, rank, steps)
        assert len(asked) >= 5 * WRITES and asked <= rows
        shares = [one["share"] for one in phases.to_pylist() if one["rank"] == rank]
        assert 0 < max(shares) <= 1
    marks = connection.execute("select detail from marks where kind = 'critical'").fetchall()
    details = " ".join(text for (text,) in marks)
    assert all(f"rank {rank}," in details for rank in slowed)
    assert connection.execute(MOST).fetchone()[0] <= at_once


def counted(job: Job, connection: Any) -> int:
    """Writes, as counters have them: as many as the program made."""
    query = "select sum(calls)::bigint from counters where op = 'pwrite'"
    calls = int(connection.execute(query).fetchone()[0])
    logs = [struct.iter_unpack("<I", path.read_bytes()) for path in job.place.glob("log.*")]
    assert calls == sum(max(total for (total,) in log) for log in logs)
    return calls


def volume(run: Path) -> int:
    return sum(path.stat().st_size for path in (run / "streams").glob("*/*.fts"))


def test_the_slow_rank_of_the_moment_is_followed(tmp_path: Path, jobs: list[Job]) -> None:
    jobs.append(job := Job(tmp_path, 6, "--select", "critical"))
    slowed = {rank: job.slow_down(rank) for rank in (4, 1)}
    connection = job.stop()
    counted(job, connection)
    check_named(job, connection, slowed)
    path = subprocess.run(
        [paths.FATHOM, "show", job.run, "--by", "critical-path", "--csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ",4,pwrite,posix," in path.stdout and ",1,pwrite,posix," in path.stdout


def waited(place: Path, rank: int) -> list[tuple[int, int]]:
    """The program's own account: of each step who was slow, and the nanoseconds of this rank's collective write."""
    return list(struct.iter_unpack("<qq", (place / f"waited.{rank}").read_bytes()))


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", ["mpich", "ompio"])
def test_who_comes_late_is_named_and_not_who_waits(
    tmp_path: Path, jobs: list[Job], mpi: str
) -> None:
    """Rank 2 waits for the slow one in each collective call, so its calls last longest: in most steps, since on a busy
    machine it may lose the processor in one and come later still."""
    needs.require(needs.of_mpi(mpi))
    launch = shlex.split(runner.LAUNCH[mpi])
    late = str(parallel("late", mpi))
    program = (*launch, "-n", "4", late, str(tmp_path))
    jobs.append(job := Job(tmp_path, 4, "--select", "critical", program=program))
    for rank in (3, 1):
        job.slow_down(rank)
    job.stop()
    for late_one in (3, 1):
        pairs = zip(waited(tmp_path, 2), waited(tmp_path, late_one), strict=True)
        longer = [waits > comes for (slow, waits), (_, comes) in pairs if slow == late_one]
        assert len(longer) >= 10 and sum(longer) > len(longer) / 2
    phases = critical.phases(fathom.open(job.run)).to_pylist()
    assert {1, 3} <= {one["rank"] for one in phases}


@pytest.mark.full
def test_one_of_64_at_a_tenth_of_a_full_traces_volume(tmp_path: Path, jobs: list[Job]) -> None:
    bytes_per_call = []
    for options in (["--select", "critical"], []):
        place = tmp_path / ("critical" if options else "full")
        jobs.append(job := Job(place, 64, *options))
        if options:
            slowed = {rank: job.slow_down(rank) for rank in (17, 60, 0)}
        else:
            job.goes_on(60)
        connection = job.stop()
        bytes_per_call.append(volume(job.run) / counted(job, connection))
        if options:
            check_named(job, connection, slowed)
    assert bytes_per_call[0] < bytes_per_call[1] / 10


@pytest.mark.full
def test_a_run_that_began_otherwise_can_be_told_to_look(tmp_path: Path, jobs: list[Job]) -> None:
    jobs.append(job := Job(tmp_path, 3, "--level", "job"))
    wait_for(lambda: job.step() > 2)
    select = [str(paths.FATHOM), "select", str(job.run)]
    done = subprocess.run([*select, "critical"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 'processes = "critical"' in done.stderr, done.stderr
    slowed = {2: job.slow_down(2)}
    subprocess.run([*select, "--level", "file"], capture_output=True, check=True)
    job.goes_on(3)
    assert not job.critical()
    check_named(job, job.stop(), slowed)


@pytest.mark.full
def test_attached_processes_have_somebody_who_looks(tmp_path: Path, jobs: list[Job]) -> None:
    jobs.append(job := Job(tmp_path, 3, recorded=False))
    wait_for(lambda: job.step() > 2)
    ranks = subprocess.run(
        ["pgrep", "-P", str(job.process.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    words = [
        str(paths.FATHOM),
        "attach",
        *ranks,
        "--select",
        "critical",
        "-o",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    slowed = {1: job.slow_down(1)}
    agents = agents_of(job.run)
    subprocess.run([paths.FATHOM, "detach", job.run], capture_output=True, check=True)
    assert agents
    wait_for(lambda: not agents_of(job.run))
    check_named(job, job.stop(), slowed)


def agents_of(run: Path) -> list[str]:
    listed = subprocess.run(
        ["pgrep", "-f", f"fathom-engine agent {run}"], capture_output=True, text=True, check=False
    )
    return listed.stdout.split()


#: Two servers of one directory, the second with a slow store; a process uses the one at its rank.
SERVERS = """
eval "$({fathom} env -o run --select critical)"
env -u LD_PRELOAD {fathom} forward up servers.toml --at fwd --record run > told
trap 'env -u LD_PRELOAD {fathom} forward down --at fwd' EXIT
eval "$(cat told)"
export PMI_SIZE=2 LD_PRELOAD=$LD_PRELOAD:{preload}
PMI_RANK=0 {python} writer.py & PMI_RANK=1 {python} writer.py; wait
"""
WRITER = """
import os, time
rank = os.environ["PMI_RANK"]
while rank == "1" and not os.path.exists("use-slow"):
    time.sleep(0.05)
file = os.open(f"files/data.{rank}", os.O_RDWR | os.O_CREAT)
at = 0
while not os.path.exists("stop"):
    for _ in range(8):
        os.pwrite(file, b"x" * 4096, at)
        at += 4096
    os.fsync(file)
    if rank == "0" and os.path.exists("use-slow"):
        time.sleep(0.2)  # as one that waits for the other
"""


def test_the_slow_server_is_named_in_its_turn(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "servers.toml").write_text(
        "".join(
            f'[[server]]\nname = "{name}"\npath = "{tmp_path / "files"}"\n{more}'
            for name, more in (("quick", ""), ("slow", 'throttle = "latency=0.05"\n'))
        )
    )
    (tmp_path / "writer.py").write_text(WRITER)
    script = SERVERS.format(
        fathom=paths.FATHOM,
        preload=paths.BUILD / "libfathom_fwd_preload.so",
        python=shlex.quote(paths.PYTHON),
    )
    shell = subprocess.Popen(["sh", "-e", "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL)
    run = tmp_path / "run.fathom"

    def serves(name: str) -> bool:
        for pid in named(rings_of(run)):
            with contextlib.suppress(OSError):  # it has ended since
                if name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    return True
        return False

    try:
        wait_for((run / "run.json").exists)
        wait_for(lambda: serves("quick"))
        (tmp_path / "use-slow").touch()
        wait_for(lambda: serves("slow") and 1 in map(rank_of, named(rings_of(run))))
        assert len(named(rings_of(run))) <= 2
        data = tmp_path / "files" / "data.1"
        size = data.stat().st_size
        wait_for(lambda: data.stat().st_size > size + 16 * 4096)  # requests in full, to their end
    finally:
        (tmp_path / "stop").touch()
        assert shell.wait(timeout=PATIENCE) == 0
    shown = subprocess.run(
        [paths.FATHOM, "show", run, "--by", "critical-path", "--csv"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    page = subprocess.run([paths.FATHOM, "show", run], capture_output=True, text=True, check=True)
    assert ", 2 servers on 1 node" in page.stdout.splitlines()[1], page.stdout
    assert re.search(r"pwrite > \S+/slow: write,server", shown), shown
    outer = [row for row in csv.DictReader(shown.splitlines()) if row["depth"] == "0"]
    spent = [(row["phase"], -float(row["seconds"])) for row in outer]
    assert spent == sorted(spent, key=lambda each: (int(each[0]), each[1])), shown
    assert re.search(r"pwrite > \S+/slow > pwritev,disk", shown), shown
