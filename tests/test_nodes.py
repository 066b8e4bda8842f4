"""Runs of several nodes: Slurm on two emulated ones that have the same name, parts of nodes that share no file
system, joined by hand and collected over the network; and what is missing is said."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from forward.wire import crc32c
from harness import invariants, needs, nodes, paths, readers, tables
from harness.nodes import contents
from harness.running import agents
from test_agent import parallel, start_waiting, wait_until

MPIS = {"mpich": "pmi2", "ompio": "pmix"}
WRITES = paths.PROGRAMS / "programs" / "writes"


def fathom(*words: object, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def write(run: Path, *options: object, count: int = 10, env: dict[str, str] | None = None) -> str:
    """A traced run of so many writes; what Fathom says of it."""
    program = (WRITES, run.parent / "f", count, 8, "exit")
    done = fathom("run", "--no-show", *options, "-o", run, "--", *program, env=env)
    assert done.returncode == 7, done.stderr
    return str(done.stderr)


def turns(cluster: nodes.Slurm, mpi: str, options: str) -> None:
    """A program of two ranks, behind srun, one on each node: more would wait for the processors there are."""
    program = parallel("turns", mpi)
    done = cluster.run(
        f"-n 2 --ntasks-per-node=1 --mpi={MPIS[mpi]} {paths.FATHOM} run --no-show {options} -- {program} {cluster.at}/f"
    )
    assert done.returncode == 0, done.stderr


def agents_gone(*runs: Path) -> None:
    wait_until("the agents have ended", lambda: not any(agents(run) for run in runs))


def assert_whole(run: Path) -> Any:
    """The ranks of both nodes, joined in their collective calls, nothing missing."""
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=True, whole=False)
    # One path on two nodes' local disks is two files: that they differ is right.
    seen = "select distinct ranks_expected, ranks_seen from collectives"
    assert tables.ask(connection, seen) == [[2, 2]]
    rows = tables.ask(
        connection,
        """select count(*), count(distinct boot_id), count(distinct host) from nodes""",
    )
    assert rows == [[2, 2, 1]]
    rows = tables.ask(
        connection, "select node, list(rank order by rank) from processes group by 1 order by 1"
    )
    assert sorted(ranks for _, ranks in rows) == [[0], [1]]
    losses = "select kind, detail from marks where kind in ('agent', 'missing ranks', 'missing node part')"
    assert tables.ask(connection, losses) == []
    return connection


@pytest.mark.parametrize("mpi", MPIS)
def test_two_nodes_of_one_name(tmp_path: Path, mpi: str) -> None:
    """One run directory, one agent per node: each process's samples are of its own node."""
    needs.require(needs.of_mpi(mpi))
    run = tmp_path / "run.fathom"
    with nodes.slurm(tmp_path / "c", ["twin", "twin"]) as cluster:
        turns(cluster, mpi, f"--sample 0.02 -o {run}")
        agents_gone(run)
    assert len(list(run.glob("streams/*/agent.*.fts"))) == 2
    connection = assert_whole(run)
    rows = tables.ask(
        connection,
        """select count(distinct s.node), count(distinct rank), bool_and(p.node = s.node)
        from samples s join processes p using (process)""",
    )
    assert rows == [[2, 2, True]]
    alone = "select count(distinct node) from samples where what = 'agent.cpu'"
    assert tables.ask(connection, alone) == [[2]]


@pytest.mark.some(1)
@pytest.mark.parametrize("mpi", MPIS)
def test_parts_of_two_nodes(tmp_path: Path, mpi: str) -> None:
    """Each node has a disk of its own: one part alone says which ranks are missing, both together are whole."""
    needs.require(needs.of_mpi(mpi))
    with nodes.slurm(tmp_path / "c", ["twin", "twin"]) as cluster:
        turns(cluster, mpi, f"--sample 0.02 -o {cluster.nodes[0].local}/part")
        parts = [node.disk / "part.fathom" for node in cluster.nodes]
        agents_gone(cluster.nodes[0].local / "part.fathom")
    for part, absent in zip(parts, ("1", "0"), strict=True):
        copy = tmp_path / f"only-{absent}.fathom"
        shutil.copytree(part, copy)
        done = fathom("pack", copy)
        line = f"missing ranks: {absent} of 2: nothing of them is here"
        assert done.returncode == 0 and f"fathom-engine: {line}\n" in done.stderr
        marks = tables.ask(
            tables.connect(copy), "select kind, detail, value from marks where kind like 'missing%'"
        )
        assert marks == [["missing ranks", line.partition(": ")[2], 1]]
    whole = tmp_path / "whole.fathom"
    done = fathom("pack", *parts, "-o", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    calls = "select count(*), sum(bytes)::bigint from calls"
    both = tables.ask(assert_whole(whole), calls)
    again = fathom("pack", whole, *parts)
    assert again.returncode == 0 and tables.ask(assert_whole(whole), calls) == both
    single = [tables.ask(tables.connect(part), calls)[0] for part in parts]
    assert both == [[sum(column) for column in zip(*single, strict=True)]]


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(tmp_path / name)
    done = fathom("pack", tmp_path / "one", tmp_path / "other")
    assert done.returncode == 3 and "is of another job than" in done.stderr
    done = fathom("pack", tmp_path / "one", tmp_path / "other", "-o", tmp_path / "new")
    assert done.returncode == 3 and not (tmp_path / "new.fathom").exists()
    done = fathom("pack", tmp_path / "one", "-o", tmp_path / "new")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    copy = tmp_path / "copy.fathom"
    shutil.copytree(tmp_path / "one.fathom", copy)
    (stream,) = copy.glob("streams/*/*.fts")
    whole = stream.read_bytes()
    # The copy has the beginning only: the longer one counts. Another content is no copy.
    stream.write_bytes(whole[: len(whole) // 2])
    assert fathom("pack", copy, tmp_path / "one").returncode == 0
    assert stream.read_bytes() == whole
    stream.write_bytes(b"x" + whole[1:])
    done = fathom("pack", copy, tmp_path / "one")
    assert done.returncode == 3 and "differs from" in done.stderr


def test_one_file(tmp_path: Path) -> None:
    """`show` and `query` say the same of the file as of the directory; a file that is none is one line."""
    run = tmp_path / "run.fathom"
    write(run, "--sample", 0.05)
    one = tmp_path / "one.zip"
    done = fathom("pack", run, "--one-file", one)
    assert done.returncode == 0, done.stderr
    sql = "select what, count(*) as n from samples group by all order by all"
    for words in (["show", "--json"], ["query", "--sql", sql, "--csv"]):
        answers = [fathom(words[0], path, *words[1:]) for path in (run, one)]
        assert answers[0].returncode == answers[1].returncode == 0, answers[1].stderr
        assert answers[0].stdout == answers[1].stdout != ""
    one.write_bytes(one.read_bytes()[:1000])
    done = fathom("show", one)
    assert (
        done.returncode == 3
        and done.stderr.count("\n") == 1
        and "not a run in one file" in done.stderr
    )


@contextmanager
def collector(run: Path, *words: object) -> Iterator[tuple[str, Any]]:
    command = [paths.FATHOM, "pack", "--collect", "-o", run, *words]
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("mpi", MPIS)
def test_two_nodes_collected(tmp_path: Path, mpi: str) -> None:
    """What arrives is byte for byte what the nodes' disks have."""
    needs.require(needs.of_mpi(mpi))
    run = tmp_path / "run.fathom"
    with nodes.slurm(tmp_path / "c", ["twin", "twin"]) as cluster:
        with collector(run, "--nodes", 2, "--listen", "127.0.0.1:0") as (where, process):
            turns(cluster, mpi, f"--sample 0.02 --collect {where} -o {cluster.nodes[0].local}/part")
            _, message = process.communicate(timeout=300)
        assert process.returncode == 0 and message.count(": whole, ") == 2, message
        agents_gone(cluster.nodes[0].local / "part.fathom")
        disks = [contents(node.disk / "part.fathom") for node in cluster.nodes]
    assert contents(run) == disks[0] | disks[1]
    assert_whole(run)
    assert where.partition("/")[2] not in (run / "run.json").read_text(), "the key is in run.json"


class Cutter:
    """Passes connections on to `port`, and cuts each off after so many bytes; the last goes through."""

    def __init__(self, port: int, cuts: list[int]) -> None:
        self.port, self.cuts = port, cuts
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    def address(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            limit = self.cuts[self.connections] if self.connections < len(self.cuts) else 1 << 60
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()
            self._forward(client, server, limit)

    @staticmethod
    def _back(server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
        except OSError:
            pass

    @staticmethod
    def _forward(client: socket.socket, server: socket.socket, limit: int) -> None:
        try:
            while limit > 0 and (data := client.recv(min(limit, 1 << 16))):
                server.sendall(data)
                limit -= len(data)
        except OSError:
            pass
        for end in (client, server):
            end.shutdown(socket.SHUT_RDWR)


def test_a_connection_that_breaks_goes_on(tmp_path: Path) -> None:
    """Cut in the greeting, in a message's head and in the midst of data: in the end all is there, once."""
    run, part = tmp_path / "run.fathom", tmp_path / "part.fathom"
    with collector(run, "--nodes", 1, "--listen", "127.0.0.1:0") as (where, process):
        address, _, key = where.partition("/")
        cutter = Cutter(int(address.rpartition(":")[2]), [3, 100, 1000, 40000, 100000])
        target = f"{cutter.address()}/{key}"
        message = write(part, "--sample", 0.01, "--collect", target, count=300000)
        assert " bytes sent to " in message, message
        _, message = process.communicate(timeout=300)
    assert process.returncode == 0, message
    assert cutter.connections == 6 and message.count("the connection broke") >= 4, message
    assert contents(run) == contents(part)
    rows = tables.ask(tables.connect(run), "select count(*) from calls where op = 'pwrite'")
    assert rows == [[300000]]


def test_a_collector_that_is_not_there(tmp_path: Path) -> None:
    """The program's status is its own, one line says that nothing was sent, and where it is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    part = tmp_path / "part.fathom"
    message = write(part, env={"FATHOM_COLLECT": f"127.0.0.1:{port}/k"})
    assert "not sent to 127.0.0.1" in message and str(part) in message
    connection = tables.connect(part)
    assert tables.ask(connection, "select count(*) from calls where op = 'pwrite'") == [[10]]
    assert tables.ask(connection, "select count(*) from marks where kind = 'agent'") == [[1]]


def test_a_wrong_key_and_another_job_are_refused(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    with collector(run, "--listen", "127.0.0.1:0") as (where, _):
        address = where.partition("/")[0]
        for name, target, reason in (
            ("a", f"{address}/wrong", "the key is wrong"),
            ("b", where, None),
            ("c", where, "is another than"),
        ):
            message = write(tmp_path / name, "--collect", target)
            if reason:
                assert reason in message and "not sent" in message
            else:
                assert " bytes sent to " in message
    assert tables.ask(tables.connect(run), "select processes from runs") == [[1]]


def test_a_collector_that_is_begun_again(tmp_path: Path) -> None:
    """It knows whose run it is, and who has sent all."""
    run = tmp_path / "run.fathom"
    with collector(run, "--listen", "127.0.0.1:0") as (where, _):
        assert " bytes sent to " in write(tmp_path / "one", "--collect", where)
    with collector(run, "--listen", "127.0.0.1:0") as (where, _):
        assert "is another than" in write(tmp_path / "other", "--collect", where)
    with collector(run, "--listen", "127.0.0.1:0", "--nodes", 1) as (_, process):
        assert process.wait(60) == 0


def test_a_collector_that_was_killed_goes_on_at_its_port_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run.fathom"
    with collector(run) as (where, _):
        pass
    monkeypatch.setenv("FATHOM_COLLECT", where)
    with collector(run, "--nodes", 1) as (again, process):
        assert again == where
        command = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        told = [Path(f"/proc/{child}/cmdline").read_text() for child in command]
        assert where.rsplit("/")[-1] not in "".join(told)  # others see command lines
        assert " bytes sent to " in write(tmp_path / "part", "--collect", where)
        assert process.wait(60) == 0


def test_a_collector_that_cannot_say_anything_collects(tmp_path: Path) -> None:
    words = [readers.ENGINE, "collect", str(tmp_path / "run"), "--listen", "127.0.0.1:0"]
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(
            [*words, "--nodes", "1"], stdout=subprocess.PIPE, stderr=full, text=True
        )
    assert process.stdout
    where = process.stdout.readline().strip()
    assert " bytes sent to " in write(tmp_path / "part", "--collect", where)
    process.communicate(timeout=60)
    assert process.returncode == 0


def silent(where: str, count: int) -> list[socket.socket]:
    """Connections that never say who they are."""
    host, _, port = where.partition("/")[0].rpartition(":")
    return [socket.create_connection((host, int(port))) for _ in range(count)]


def test_strangers_keep_no_agent_out(tmp_path: Path) -> None:
    """They have some threads between them, and some lines: not one each."""
    run = tmp_path / "run.fathom"
    with collector(run, "--listen", "127.0.0.1:0", "--nodes", 1) as (where, process):
        strangers = silent(where, 300)
        for one in strangers[::2]:
            one.sendall(b"GET / HTTP/1.0\x1b[31m\r\n\r\n")
        (engine,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        threads = Path(f"/proc/{engine}/task")
        wait_until("they have a few threads", lambda: 1 < len(list(threads.iterdir())) < 100)
        assert " bytes sent to " in write(tmp_path / "part", "--collect", where)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 0
    assert 20 <= len(message.splitlines()) < 30 and "\x1b" not in message, message
    assert "of more of this kind nothing is said" in message


def test_who_guesses_keys_is_a_stranger(tmp_path: Path) -> None:
    """Each is told no; the log has some lines of them, not one each."""
    body = b"\x01FATHOMCO\x01" + b"".join(bytes([len(one)]) + one for one in (b"guess", b"j", b"n"))
    hello = struct.pack("<I", len(body) - 1) + body + struct.pack("<I", crc32c(body))
    with collector(tmp_path / "run.fathom", "--listen", "127.0.0.1:0", "--nodes", 1) as (
        where,
        process,
    ):
        for _ in range(60):
            (one,) = silent(where, 1)
            one.sendall(hello)
            assert b"the key is wrong" in one.makefile("rb").read()
            one.close()
        assert " bytes sent to " in write(tmp_path / "part", "--collect", where)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 0
    assert 20 <= len(message.splitlines()) < 30, message


def test_a_greeting_has_one_time_for_all_its_bytes(tmp_path: Path) -> None:
    with collector(tmp_path / "run.fathom", "--listen", "127.0.0.1:0") as (where, _):
        (stranger,) = silent(where, 1)
        stranger.settimeout(3)
        began = time.monotonic()
        try:
            for byte in bytes([200, 0, 0, 0, 1, *bytes(100)]):
                stranger.sendall(bytes([byte]))
                with suppress(TimeoutError):
                    assert stranger.recv(1) == b""
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() - began < 30


def test_a_collector_without_threads_waits_for_some(tmp_path: Path) -> None:
    """As at a limit of processes: strangers took them all, and leave."""
    needs.require(["strace"])
    few = (
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "inject=clone,clone3:error=EAGAIN:when=4..12",
    )
    words = [*few, str(readers.ENGINE), "collect", str(tmp_path / "run"), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*words, "--nodes", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    where = process.stdout.readline().strip()
    strangers = silent(where, 6)
    assert " bytes sent to " in write(tmp_path / "part", "--collect", where)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 0 and "panicked" not in message, message
    assert strangers


def test_an_agent_killed_while_it_sends(tmp_path: Path) -> None:
    """The collector keeps what came, and readers are told that it is not all."""
    run, part = tmp_path / "run.fathom", tmp_path / "part.fathom"
    with collector(run, "--listen", "127.0.0.1:0") as (where, _):
        process, _ = start_waiting(part, "--sample", 0.02, "--collect", where)
        wait_until(
            "samples arrive",
            lambda: any(f.stat().st_size > 5000 for f in run.glob("streams/*/agent.*.fts")),
        )
        (agent,) = agents(part)
        os.kill(agent, signal.SIGKILL)
        process.communicate("\n", timeout=300)
        assert process.returncode == 0
    connection = tables.connect(run)
    rows = tables.ask(connection, "select kind from marks where kind like 'missing%'")
    assert rows == [["missing node part"]]
    assert tables.ask(connection, "select count(distinct time) > 3 from samples") == [[True]]
