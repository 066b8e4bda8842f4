"""The agent beside traced processes: what it samples equals what /proc told the program itself, it saves what
killed processes leave, and neither its life nor its death changes the program's."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fathom.run.paths import engine
from harness import needs, paths, runner, tables
from harness.running import agents

WRITES = paths.PROGRAMS / "programs" / "writes"
MPIS = ("mpich", "ompio")


def start(
    run: Path, *words: object, options: tuple[object, ...] = (), before: str = "", **how: Any
) -> Any:
    command = [*shlex.split(before), paths.FATHOM, "run", *options, "--no-show", "-o", run, "--"]
    return subprocess.Popen(
        [str(word) for word in (*command, *words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **runner.STACK_ENV},
        **how,
    )


def finish(process: Any) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def parallel(name: str, mpi: str) -> Path:
    return paths.PROGRAMS / "programs" / "mpi" / f"{name}_{needs.MPI[mpi]}"


def wait_until(what: str, holds: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"after {seconds} s still not: {what}"
        time.sleep(0.02)


def last(connection: Any, what: str, device: str | None = None) -> int:
    rows = tables.ask(
        connection,
        f"""select value from samples where what = '{what}' and
        {"device = '" + device + "'" if device else "process is not null"} order by time desc limit 1""",
    )
    return int(rows[0][0])


BUSY = """
import os, sys, time
block = bytearray(96 << 20)
with open(sys.argv[1], 'wb') as file:
    file.write(block[:8 << 20])
    os.fsync(file.fileno())
while sum(os.times()[:2]) < 0.6:
    sum(range(10000))
del block
words = open('/proc/self/stat').read().rpartition(')')[2].split()
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
io = dict(line.split(':') for line in open('/proc/self/io'))
memory = [status[name].split()[0] for name in ('VmHWM', 'VmRSS')]
print(words[11], words[12], io['write_bytes'].strip(), *memory, flush=True)
time.sleep(1)
"""


def test_samples_of_a_process_are_what_proc_told_it(tmp_path: Path) -> None:
    """It burns processor time and memory, reads its own figures, and then does nothing but wait."""
    run = tmp_path / "run.fathom"
    done = start(run, paths.PYTHON, "-c", BUSY, tmp_path / "f", options=("--sample", "0.05"))
    status, out, err = finish(done)
    assert status == 0, err
    user, system, stored, peak, resident = map(int, out.split())
    connection = tables.connect(run)
    # Reading those figures and printing them costs some, too: a tick of 10 ms each at most.
    assert 0 <= last(connection, "cpu.user") // 10**7 - user <= 1
    assert 0 <= last(connection, "cpu.system") // 10**7 - system <= 1
    assert last(connection, "memory.peak") == peak << 10
    assert last(connection, "storage.write_bytes") == stored
    assert abs(last(connection, "memory.resident") - (resident << 10)) <= 1 << 20
    rows = tables.ask(
        connection,
        """select bool_and(step >= 0) from (select value - lag(value) over
            (partition by process, what, device order by time) as step
        from samples where unit = 'ns' and what not like 'cpu.iowait')""",
    )
    assert rows == [[True]], "a counter ran backwards"
    assert tables.ask(connection, "select count(*) > 0 from samples where what = 'agent.cpu'") == [
        [True]
    ]


TALKS = """
import fcntl, socket, struct, threading, time
up = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(up, 0x8914, struct.pack('16sh', b'lo', 1))
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
def drain():
    while other.recv(1 << 20): pass
thread = threading.Thread(target=drain)
thread.start()
client.sendall(bytes(40 << 20))
client.close()
thread.join()
other.close()
time.sleep(0.2)
line = next(line for line in open('/proc/net/dev') if line.strip().startswith('lo:'))
print(line.split(':')[1].split()[0], flush=True)
time.sleep(0.6)
"""


def test_bytes_on_the_network(tmp_path: Path) -> None:
    """In a network of its own, so that nobody else talks: 40 MiB over loopback."""
    needs.require(["namespaces"])
    run = tmp_path / "run.fathom"
    done = start(run, paths.PYTHON, "-c", TALKS, options=("--sample", "0.05"), before="unshare -n")
    status, out, err = finish(done)
    assert status == 0, err
    connection = tables.connect(run)
    assert last(connection, "net.rx_bytes", "lo") == int(out)
    assert last(connection, "net.tx_bytes", "lo") == int(out) > 40 << 20


PARENT = f"""
import glob, subprocess, sys, time
open('/dev/null').close()
subprocess.run(['{WRITES}', sys.argv[1] + '/f', '1000', '8', 'kill'])
for _ in range(1500):
    if glob.glob(sys.argv[1] + '/run.fathom/streams/*/*.tail.fts'):
        break
    time.sleep(0.02)
print(len(glob.glob(sys.argv[1] + '/run.fathom/streams/*/*.tail.fts')))
"""


def test_a_tail_is_saved_while_others_go_on(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    done = start(run, paths.PYTHON, "-c", PARENT, tmp_path, options=("--sample", "0"))
    status, out, err = finish(done)
    assert (status, out) == (0, "1\n"), err
    rows = tables.ask(
        tables.connect(run), "select count(*), sum(bytes) from calls where op = 'pwrite'"
    )
    assert rows == [[1000, 8000]]
    assert not list(run.glob("streams/*/agent.*.fts")), "samples that nobody asked for"


def ring(run: Path) -> Path:
    text = (run / "run.json").read_text()
    return Path(text.partition('"ring": "')[2].partition('"')[0])


@pytest.mark.some(2)
@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("inside", [False, True], ids=["before", "behind"])
def test_killed_ranks_outlive_their_node(tmp_path: Path, mpi: str, inside: bool) -> None:
    """Rank 1 is killed, its launcher ends the others; then the node's memory is gone. Nothing is lost with an
    agent; without one, everything."""
    needs.require(needs.of_mpi(mpi))
    (tmp_path / "data").mkdir()
    program = parallel("one_killed", mpi)
    launcher = f"{runner.LAUNCH[mpi]} -n 3"
    seen = []
    for name, options in (("with", ("--sample", "0.1")), ("without", ())):
        run = tmp_path / f"{name}.fathom"
        words = [program, tmp_path / "data", 100]
        if inside:
            process = start(run, *words, options=options, before=launcher)
        else:
            process = start(run, *shlex.split(launcher), *words, options=options)
        assert finish(process)[0] != 0
        wait_until("the agent has ended", lambda run=run: not agents(run))
        shutil.rmtree(ring(run), ignore_errors=True)
        rows = tables.ask(tables.connect(run), "select count(*) from calls where op = 'pwrite'")
        seen.append(rows[0][0])
    assert seen == [300, 0]
    samples = tables.ask(
        tables.connect(tmp_path / "with.fathom"),
        """select count(distinct rank), (select count(distinct node) from samples)
        from samples join processes using (process)""",
    )
    assert samples == [[3, 1]]


@pytest.mark.parametrize("mpi", MPIS)
def test_one_agent_per_node_behind_a_launcher(tmp_path: Path, mpi: str) -> None:
    needs.require(needs.of_mpi(mpi))
    run = tmp_path / "run.fathom"
    program = parallel("turns", mpi)
    process = start(
        run,
        program,
        tmp_path / "f",
        options=("--sample", "0.02"),
        before=f"{runner.LAUNCH[mpi]} -n 4",
    )
    status, _, err = finish(process)
    assert status == 0, err
    wait_until("the agent has ended", lambda: not agents(run))
    assert len(list(run.glob("streams/*/agent.*.fts"))) == 1
    connection = tables.connect(run)
    rows = tables.ask(
        connection,
        """select count(distinct rank) from samples join processes using (process)
        where what = 'memory.peak' and value > 1000000""",
    )
    assert rows == [[4]]
    outside = """select count(*) from samples s join processes p using (process)
        where s.time < p.start - 20000000 or s.time > p.stop + 1000000000"""
    assert tables.ask(connection, outside) == [[0]], "samples of a process outside its life"
    assert tables.ask(connection, "select count(*) from marks where kind = 'agent'") == [[0]]


WAITS = """
import sys, time, os
open('/dev/null').close()
print(os.getpid(), flush=True)
sys.stdin.readline()
open('/dev/null').close()
"""


def start_waiting(run: Path, *options: object, **how: Any) -> tuple[Any, int]:
    """A program that waits for a line of input; and its pid, once it runs."""
    words = (paths.PYTHON, "-c", WAITS)
    process = start(run, *words, options=options, stdin=subprocess.PIPE, **how)
    return process, int(process.stdout.readline())


def the_agent(run: Path) -> int:
    """Its pid. The program does not wait until it is there."""
    wait_until("the agent is there", lambda: agents(run))
    (agent,) = agents(run)
    return agent


def test_an_agent_killed_in_mid_run(tmp_path: Path) -> None:
    """The program ends as it would, what was sampled until then is there, and what the killed process leaves
    is brought in by the first reader as without an agent."""
    run = tmp_path / "run.fathom"
    process, traced = start_waiting(run, "--sample", 0.02)
    wait_until(
        "the agent samples",
        lambda: any(f.stat().st_size > 20000 for f in run.glob("streams/*/agent.*.fts")),
    )
    agent = the_agent(run)
    os.kill(agent, signal.SIGKILL)
    wait_until("the agent is gone", lambda: not agents(run))
    os.kill(traced, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, err
    connection = tables.connect(run)
    assert tables.ask(connection, "select count(*) > 0 from calls where op = 'open'") == [[True]]
    rows = tables.ask(
        connection,
        "select count(distinct time) > 5, (select count(*) from marks where kind = 'damage') from samples",
    )
    assert rows == [[True, 0]]


def test_an_agent_outlasts_requests_to_end(tmp_path: Path) -> None:
    """A launcher that ends a job asks all of its processes: the agent goes on until they are gone, and saves
    what they left. `fathom run` was started with SIGCHLD ignored, as some shells do."""
    run = tmp_path / "run.fathom"
    process, traced = start_waiting(
        run,
        "--sample",
        0,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None,
    )
    agent = the_agent(run)
    for request in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(agent, request)
    os.kill(traced, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL and "no agent" not in err, err
    assert len(list(run.glob("streams/*/*.tail.fts"))) == 1
    assert not ring(run).exists(), "the node's memory is not given back"


def test_an_agent_is_bound_to_no_processor(tmp_path: Path) -> None:
    """Its starter is, as a launcher's rank would be."""
    needs.require(["taskset"])
    run = tmp_path / "run.fathom"
    one = min(os.sched_getaffinity(0))
    process, traced = start_waiting(run, "--sample", 0, before=f"taskset -c {one}")
    agent = the_agent(run)
    allowed = [os.sched_getaffinity(pid) for pid in (traced, agent)]
    process.communicate("\n", timeout=300)
    assert process.returncode == 0
    # It takes all of the machine, also where this test may use but some.
    assert allowed[0] == {one} and allowed[1] >= os.sched_getaffinity(0)


def test_what_a_broken_agent_says_is_in_the_log(tmp_path: Path) -> None:
    """An engine that is none: the program runs, and one line says that there is no agent."""
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    engine.chmod(0o755)
    run = tmp_path / "run.fathom"
    words = (WRITES, tmp_path / "f", 10, 8, "exit")
    broken = f"env FATHOM_ENGINE={engine}"
    status, _, err = finish(start(run, *words, options=("--agent",), before=broken))
    assert status == 7, err
    marks = tables.ask(tables.connect(run), "select kind, detail from marks where kind = 'agent'")
    assert [kind for kind, _ in marks] == ["agent"] and marks[0][1].endswith(": no such thing")


@pytest.mark.parametrize("word", ["x", "-1", "1e9", "nan", "0.0001", ""])
def test_a_wrong_interval_is_one_line(tmp_path: Path, word: str) -> None:
    done = subprocess.run(
        [paths.FATHOM, "run", "--sample", word, "-o", tmp_path / "r", "--", "true"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "--sample" in done.stderr
    assert not (tmp_path / "r.fathom").exists()


def test_env_starts_an_agent_that_ends_with_the_script(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    script = f"""eval "$({paths.FATHOM} env -o {run} --sample 0.05)"
        {WRITES} {tmp_path}/f 10 8 exit
        {WRITES} {tmp_path}/f 1000 8 kill
        sleep 0.3"""
    subprocess.run(["bash", "-c", script], timeout=300, check=False, capture_output=True)
    wait_until("the agent has ended", lambda: not agents(run))
    assert len(list(run.glob("streams/*/*.tail.fts"))) == 1
    connection = tables.connect(run)
    assert tables.ask(connection, "select count(*) from calls where op = 'pwrite'") == [[1010]]
    assert tables.ask(connection, "select count(distinct time) > 3 from samples") == [[True]]


def test_env_for_another_shell_starts_no_agent(tmp_path: Path) -> None:
    done = subprocess.run(
        [paths.FATHOM, "env", "--shell", "csh", "--agent", "-o", tmp_path / "r"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (125, "") and "only a script for sh" in done.stderr
    assert not (tmp_path / "r.fathom").exists()


def agent_alone(run: Path, *options: object, written: int) -> None:
    """The engine's agent beside no process, on a run that is over, until it has written so much."""
    words = ["agent", run, "--ring", run / "streams", *options]
    process = subprocess.Popen([str(word) for word in (engine(), *words)], stdin=subprocess.PIPE)
    files = run.glob
    wait_until(
        "it has written",
        lambda: any(f.stat().st_size >= written for f in files("streams/*/agent.*.fts")),
    )
    process.communicate(timeout=300)
    assert process.returncode == 0


def test_a_lustre_client(tmp_path: Path) -> None:
    """None is here: a tree of files as one has them stands for the system's."""
    run = tmp_path / "run.fathom"
    assert finish(start(run, "true"))[0] == 0
    agent_alone(
        run, "--sample", "0.05", "--root", paths.ROOT / "engine/agent/fixtures/old", written=1
    )
    sql = """select what, device, max(value), unit, count(*) from samples
        where what in ('llite.write_bytes', 'osc.ost_read.time', 'lnet.recv_bytes') group by all order by all"""
    client = "ffff88105db50000"
    assert tables.ask(tables.connect(run), sql) == [
        ["llite.write_bytes", f"scratch-{client}", 93813797294080, "bytes", 2],
        ["lnet.recv_bytes", None, 53029565353720, "bytes", 2],
        ["osc.ost_read.time", f"scratch-OST0000-osc-{client}", 271513537128000, "ns", 2],
    ]


def test_samples_keep_to_their_budget(tmp_path: Path) -> None:
    """They become rarer, and the run's log says when and how."""
    run = tmp_path / "run.fathom"
    assert finish(start(run, "true"))[0] == 0
    agent_alone(run, "--sample", "0.001", "--budget", "32768", written=29000)
    (file,) = run.glob("streams/*/agent.*.fts")
    assert file.stat().st_size <= 32768
    connection = tables.connect(run)
    marks = tables.ask(
        connection, "select detail, value from marks where kind = 'samples' order by time"
    )
    assert [value for _, value in marks[:3]] == [2000000, 4000000, 8000000]
    assert marks[0][0].endswith(": from here on every 2ms")
    assert tables.ask(connection, "select count(*) > 100 from samples") == [[True]]
