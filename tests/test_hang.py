"""Ranks that wait in a collective call until somebody kills them: how long they waited, in which call of which file and
line, and who never came. Whoever is killed: the launcher, `fathom run`, or all of the job at once."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.sentence import sentence
from harness import invariants, needs, paths, runner, tables
from harness.running import running

RANKS = 3
MPIS = ("mpich", "ompio")
PROGRAM = "mpi/hang"
# Ranks say that they wait just before they do; by then they do.
SETTLED = 1.0
WAITING = 2.0


def until(what: str, holds: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"after {seconds} s still not: {what}"
        time.sleep(0.05)


def processes(word: Path) -> list[int]:
    """Pids of all whose command line has this word, or has it for a run."""
    return [pid for pid, words in running() if os.fsencode(word) in words]


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@dataclass
class Job:
    """A run of `hang` that goes on until it is killed."""

    process: Any  # fathom run, or the launcher around it
    run: Path
    data: Path

    def ranks(self) -> list[int]:
        name = b"hang_"
        return [
            pid
            for pid in processes(self.data)
            if name in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        ]

    def watcher(self) -> list[int]:
        return [
            pid
            for pid in processes(self.run)
            if b"--watch" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]

    def is_over(self) -> bool:
        return self.process.poll() is not None and not processes(self.data) + processes(self.run)


def start(tmp: Path, mpi: str, kind: str, inside: bool = False, program: str = PROGRAM) -> Job:
    """`fathom run mpiexec hang`, or mpiexec fathom run hang. It has a process group of its own."""
    needs.require(needs.of_mpi(mpi))
    run, data = tmp / "run.fathom", tmp / "f"
    launch = [*shlex.split(runner.LAUNCH[mpi]), "-n", str(RANKS)]
    traced = [paths.FATHOM, "run", "--no-show", "-o", run, "--"]
    built = paths.PROGRAMS / "programs" / f"{program}_{needs.MPI[mpi]}"
    words = [*launch, *traced] if inside else [*traced, *launch]
    process = subprocess.Popen(
        [str(word) for word in (*words, built, kind, data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **runner.STACK_ENV},
        start_new_session=True,
    )
    return Job(process, run, data)


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    jobs: list[Job] = []

    def launch(*words: Any, **options: Any) -> Job:
        jobs.append(start(tmp_path, *words, **options))
        return jobs[-1]

    yield launch
    for job in jobs:
        send(signal.SIGKILL, [*processes(job.data), *processes(job.run)])
        job.process.wait()
        job.process.stdout.close()


def send(number: int, pids: list[int]) -> None:
    """A signal to each: where a rank has died, its launcher may be quicker with the others."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def await_ranks(job: Job, waiting: int) -> None:
    """Until so many ranks have said that they wait, and do."""
    for _ in range(waiting):
        assert "waits" in job.process.stdout.readline()
    time.sleep(SETTLED)


def kill_launcher(job: Job, number: int) -> None:
    (launcher,) = children(job.process.pid)
    os.kill(launcher, number)


def kill_fathom(job: Job, number: int) -> None:
    os.kill(job.process.pid, number)


def kill_group(job: Job, number: int) -> None:
    """As a batch system does. Open MPI's ranks have groups of their own, which it asks too."""
    ranks = job.ranks()
    os.killpg(job.process.pid, number)
    if number == signal.SIGKILL:
        send(number, ranks)


def kill_ranks(job: Job, number: int) -> None:
    send(number, job.ranks())


def killed(job: Job, kill: Callable[[Job, int], None], number: int, waiting: int = 2) -> int:
    """Kills it, once ranks wait. The time that they waited at least, in ns."""
    await_ranks(job, waiting)
    began = time.monotonic_ns()
    time.sleep(WAITING)
    waited = time.monotonic_ns() - began
    kill(job, number)
    until("the job and its watcher are gone", job.is_over)
    return waited


def line_of(call: str, program: str = PROGRAM) -> str:
    """`hang.c:33`: the only line with this call."""
    source = paths.TESTS / "programs" / f"{program}.c"
    lines = enumerate(source.read_text().splitlines(), 1)
    (line,) = [number for number, text in lines if f"{call}(" in text]
    return f"{source.name}:{line}"


def hangs(run: Path) -> list[findings.Finding]:
    rules = [path for path in findings.catalog() if path.stem == "hang"]
    asked = findings.find(fathom.open(run), rules)
    assert not asked.broken, asked.broken
    return asked.conclusions


def assert_lasts(connection: Any, op: str, waited: int, ranks: tuple[int, ...] = (0, 1)) -> None:
    """The call of these ranks, and no other, lasted as long as they were seen to wait, in all sums; and no longer
    than the run."""
    listed = ", ".join(map(str, ranks))
    (run,) = tables.ask(connection, "select duration, started from runs")
    open_calls = tables.ask(
        connection,
        f"""select c.rank, c.start, c.duration, p.stop from calls c join processes p using (process)
        where c.state = 'unfinished' and c.op = '{op}' and c.thread = p.pid order by c.rank""",
    )
    assert [call[0] for call in open_calls] == list(ranks)
    for rank, begun, duration, stop in open_calls:
        assert waited <= duration and begun + duration <= stop <= run[0], (rank, waited, duration)
    sums = tables.ask(
        connection,
        f"""select min(longest), count(*) from counters join processes using (process)
        where op = '{op}' and rank in ({listed}) and longest >= {waited}""",
    )
    assert sums[0][0] >= waited and sums[0][1] == len(ranks)


def assert_page(run: Path, *words: str) -> None:
    done = subprocess.run(
        [paths.FATHOM, "show", run, "--all"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "400"},
    )
    page = " ".join(done.stdout.split())  # sentences are broken into lines
    assert all(word in page for word in words), done.stdout


def assert_named(job: Job, call: str, line: str, of_file: bool, does: str) -> None:
    """The finding and the page say who waits where, and where the rank that never came was last."""
    (hang,) = hangs(job.run)
    sentence_ = sentence(hang.rule.says, hang.values)
    of = f" of {job.data}" if of_file else ""
    assert sentence_.startswith(f"ranks 0-1 wait in {call}{of} ({line}) since "), sentence_
    source = line.partition(":")[0]
    assert f"rank 2 never came: {does} of {job.data} ({source}:" in sentence_, sentence_
    assert hang.lines and all(f"{line} " in place for place in hang.lines)
    assert_page(job.run, sentence_, "Open when their process ended", line)


def lasted(run: Path) -> int:
    """From start to end, as run.json has it."""
    manifest = json.loads((run / "run.json").read_text())
    return int(manifest["end_ns"]) - int(manifest["start_ns"])


WRITE = "MPI_File_write_at_all"
WAYS = [
    pytest.param(kill, number, id=f"{kill.__name__}-{number.name}")
    for kill, number in (
        (kill_launcher, signal.SIGTERM),
        (kill_launcher, signal.SIGKILL),
        (kill_fathom, signal.SIGTERM),
        (kill_group, signal.SIGTERM),
        (kill_group, signal.SIGKILL),
        (kill_ranks, signal.SIGKILL),
    )
]


@pytest.mark.some(3)
@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize(("kill", "number"), WAYS)
def test_a_hung_collective_lasts_and_is_named(
    launched: Callable[..., Job], mpi: str, kill: Callable[[Job, int], None], number: int
) -> None:
    job = launched(mpi, "stuck")
    waited = killed(job, kill, number)
    connection = tables.connect(job.run)
    assert_lasts(connection, WRITE, waited)
    lines = invariants.broken(connection, finished=False, whole=False)
    assert not lines, "\n".join(lines)
    assert tables.ask(connection, "select duration from runs")[0][0] >= waited
    if tables.ask(connection, "select count(*) > 0 from processes where ended = 'killed'")[0][0]:
        assert tables.ask(connection, "select duration from runs")[0][0] >= lasted(job.run)
    heat = dict(
        tables.ask(
            connection,
            """select rank, sum(time) from heat join processes using (process)
            where layer = 'mpiio' and operation = 'write' group by rank""",
        )
    )
    assert heat[0] >= waited and heat[1] >= waited and heat[2] < waited
    assert_named(job, WRITE, line_of(WRITE), True, f"its last call was {WRITE}")


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_that_started_fathom_themselves(launched: Callable[..., Job], mpi: str) -> None:
    """Nobody waits for the end there; the node's watcher notes the deaths."""
    job = launched(mpi, "stuck", inside=True)
    waited = killed(job, kill_group, signal.SIGKILL)
    assert "end_ns" not in json.loads((job.run / "run.json").read_text())
    assert_lasts(tables.connect(job.run), WRITE, waited)
    assert_named(job, WRITE, line_of(WRITE), True, f"its last call was {WRITE}")


def test_an_agent_alone(tmp_path: Path) -> None:
    """No `fathom run` at all: the calls last until the agent last looked at their process."""
    needs.require(needs.of_mpi("mpich"))
    run, data, sample = tmp_path / "run.fathom", tmp_path / "f", 0.1
    environment = f'eval "$({paths.FATHOM} env --agent --sample {sample} -o {run})"'
    launch = f"{runner.LAUNCH['mpich']} -n {RANKS} {paths.PROGRAMS}/programs/mpi/hang_mpich"
    process = subprocess.Popen(
        ["bash", "-c", f"{environment}; {launch} stuck {data}; true"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **runner.STACK_ENV},
        start_new_session=True,
    )
    job = Job(process, run, data)
    waited = killed(job, kill_ranks, signal.SIGKILL)
    assert process.stdout
    process.stdout.close()
    connection = tables.connect(run)
    looks = tables.ask(
        connection,
        """select count(*) from calls c join processes p using (process)
        where c.state = 'unfinished' and c.start + c.duration =
            (select max(time) from samples s where s.process = c.process)""",
    )
    assert looks == [[2]]
    assert_lasts(connection, WRITE, waited // 2)
    assert_named(job, WRITE, line_of(WRITE), True, f"its last call was {WRITE}")


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("library", "mpi", "op", "call"),
    [
        ("pnetcdf", "ompio", "ncmpi_put_vara_all", "ncmpi_put_vara_double_all"),
        ("hdf5", "mpich", "H5Dwrite", "H5Dwrite"),
        ("netcdf", "romio321", "nc_put_vara", "nc_put_vara_double"),
    ],
)
def test_a_hung_call_of_a_library(
    launched: Callable[..., Job], library: str, mpi: str, op: str, call: str
) -> None:
    """It is the call that the program made, whatever the library makes of it: a collective call, or messages."""
    program = f"{library}_hang"
    job = launched(mpi, "stuck", program=program)
    waited = killed(job, kill_group, signal.SIGKILL)
    assert_lasts(tables.connect(job.run), op, waited)
    assert_named(job, op, line_of(call, program), True, f"its last call was {op}")


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", MPIS)
def test_a_hung_open(launched: Callable[..., Job], mpi: str) -> None:
    job = launched(mpi, "opens")
    waited = killed(job, kill_group, signal.SIGKILL)
    assert_lasts(tables.connect(job.run), "MPI_File_open", waited)
    opened = "MPI_File_open"
    assert_named(job, opened, line_of(opened), False, f"its last call was {WRITE}")


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_in_different_calls(launched: Callable[..., Job], mpi: str) -> None:
    """The last rank is in a collective call of the same file, but another."""
    job = launched(mpi, "closes")
    waited = killed(job, kill_group, signal.SIGKILL)
    assert_lasts(tables.connect(job.run), WRITE, waited)
    assert_named(job, WRITE, line_of(WRITE), True, "it is in MPI_File_close")


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", MPIS)
def test_a_run_killed_while_it_computes_hangs_nowhere(
    launched: Callable[..., Job], mpi: str
) -> None:
    job = launched(mpi, "busy")
    killed(job, kill_group, signal.SIGKILL, waiting=RANKS)
    connection = tables.connect(job.run)
    assert tables.ask(connection, "select count(*) from calls where state <> 'done'") == [[0]]
    assert tables.ask(connection, "select duration from runs")[0][0] >= lasted(job.run)
    assert not hangs(job.run)


def test_a_rank_that_reads_waits_for_no_rank(launched: Callable[..., Job]) -> None:
    """Its read lasted until it was killed, and the page says so; but no rank is missing."""
    job = launched("mpich", "alone")
    waited = killed(job, kill_group, signal.SIGKILL, waiting=RANKS)
    assert_lasts(tables.connect(job.run), "read", waited, ranks=(0,))
    assert not hangs(job.run)
    assert_page(job.run, "Open when their process ended", line_of("read"))


LONG_WRITE = """
import os, signal, sys
pipe = os.pipe()
print('0 waits', flush=True)
os.write(pipe[1], bytes(1 << 30))
"""


def test_a_write_that_goes_on_is_no_hang(tmp_path: Path) -> None:
    """No MPI: a write into a pipe that is full, killed alone."""
    run = tmp_path / "run.fathom"
    command = [paths.FATHOM, "run", "--no-show", "-o", run, "--", paths.PYTHON, "-c", LONG_WRITE]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    job = Job(process, run, tmp_path)
    waited = killed(job, kill_launcher, signal.SIGKILL, waiting=1)
    process.stdout.close()
    rows = tables.ask(
        tables.connect(run),
        """select c.op, c.duration, r.duration, p.ended from calls c join processes p using (process), runs r
        where c.state = 'unfinished'""",
    )
    assert [(row[0], row[3]) for row in rows] == [("write", "killed")]
    assert waited <= rows[0][1] <= rows[0][2]
    assert not hangs(run)


def test_the_watcher_is_nobodys_child_and_holds_nothing(launched: Callable[..., Job]) -> None:
    job = launched("mpich", "stuck")
    await_ranks(job, 2)
    (watcher,) = job.watcher()
    assert watcher not in children(job.process.pid) and len(children(job.process.pid)) == 1
    assert os.getsid(watcher) != os.getsid(job.process.pid)
    held = {str(entry.readlink()) for entry in Path(f"/proc/{watcher}/fd").iterdir()}
    user = str(Path(f"/proc/self/fd/{job.process.stdout.fileno()}").readlink())
    assert user not in held
    assert all(name == "/dev/null" or name.startswith(("socket:", "anon_inode:")) for name in held)
    assert Path(f"/proc/{watcher}/cwd").readlink() == Path("/")
    os.kill(watcher, signal.SIGTERM)  # what asks a job to end does not end it
    kill_group(job, signal.SIGKILL)
    until("the job and its watcher are gone", job.is_over)


def test_a_run_whose_fathom_was_killed_ends_with_its_program(tmp_path: Path) -> None:
    """The program goes on, and ends in order, later."""
    run, done = tmp_path / "run.fathom", tmp_path / "done"
    script = f"echo begun; sleep 2; date +%s%N > {done}"
    command = [str(paths.FATHOM), "run", "--no-show", "-o", str(run), "--", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "begun\n"
        process.kill()
        until("the watcher is gone", lambda: not processes(run))
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["end_ns"] >= int(done.read_text()) and "exit" not in manifest
    assert not list(run.glob("run.json.*"))
    assert tables.ask(tables.connect(run), "select bool_and(ended = 'clean') from processes") == [
        [True]
    ]


def test_a_run_that_ends_leaves_no_watcher(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    command = [str(paths.FATHOM), "run", "--no-show", "-o", str(run), "--", "sh", "-c", "exit 3"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 3
    until("the watcher is gone", lambda: not processes(run))
    assert not list(run.glob("streams/*/ends")), "it ended in order"
