"""What one client may take of the server, and what a small request costs both."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .client import CREATE, WRITE, Refused, Server, resident, server
from .wire import NUMBERS, ROOT, request

FORWARD = ROOT / "build/bench/forward"
FLAG = NUMBERS["flag"]
NONBLOCKING, RETRY, PULL = FLAG["nonblocking"], FLAG["retry"], FLAG["pull"]
WRITTEN = NUMBERS["level"]["written"]


def test_a_client_that_does_not_read_holds_up_nobody(tmp_path: Path) -> None:
    with server(tmp_path, "--pool", str(8 << 20), "--lease", "2") as served:
        client, slow = served.client(), served.client()
        handle = client.open("f")
        client.write(handle, 0, bytes(4 << 20))
        for _ in range(8):
            slow.send("read", request("read", [handle, [(0, 4 << 20)]]))
        for _ in range(10):
            assert client.read(handle, (0, 1000)) == [bytes(1000)]
        deadline = (
            time.monotonic() + 60
        )  # who takes nothing for a lease is closed, and its buffers are free again
        while client.status()["pool_free_bytes"] < 8 << 20 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert client.status()["pool_free_bytes"] == 8 << 20
        assert resident(served.process.pid) < 200 << 20


def test_many_idle_clients_take_little(served: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    before = resident(served.process.pid)
    clients = [served.client() for _ in range(1000)]
    each = (resident(served.process.pid) - before) / len(clients)
    assert each < 16 << 10
    assert clients[-1].status()["clients"] == 1000
    [client.close() for client in clients]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def requests_counted(tmp_path: Path, op: str, export: Path) -> tuple[Counter[str], Counter[str]]:
    """System calls of the C client and of the server for 1,000 small requests, beyond those for none."""
    counts = []
    for requests in (0, 1000):
        ours, theirs = tmp_path / "client.strace", tmp_path / "server.strace"
        strace = ["strace", "-f", "-c", "-U", "name,calls", "-o"]
        served = Server(export, "--unix", str(tmp_path / "s"), under=[*strace, str(theirs)])
        words = [FORWARD, "round", served.addresses[0], op, "64", str(requests)]
        subprocess.run([*strace, str(ours), *words], check=True, stdout=subprocess.DEVNULL)
        os.kill(int(served.client().status()["pid"]), signal.SIGTERM)
        served.process.wait(60)
        counts.append([Counter(calls(path.read_text())) for path in (ours, theirs)])
    (client, server), (client_more, server_more) = counts
    return client_more - client, server_more - server


def calls(summary: str) -> dict[str, int]:
    """Of a summary of strace -c."""
    lines = [line.split() for line in summary.splitlines()]
    return {line[0]: int(line[1]) for line in lines if line[1:] and line[1].isdigit()}


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace: apt-get install strace")
@pytest.mark.parametrize("op", ["write", "read", "getattr"])
def test_a_small_request_costs_seven_system_calls_on_both_sides(tmp_path: Path, op: str) -> None:
    """In memory; the server: wait, receive, access, send. The client: send, wait, receive."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as export:
        client, server = requests_counted(tmp_path, op, Path(export) / "store")
    # a client may be interrupted, and the server's clock ticks
    assert client["total"] < 3 * 1000 + 100, client
    assert server["total"] < 4 * 1000 + 100, server


@pytest.mark.parametrize("op", ["write", "read", "getattr"])
def test_a_small_request_lets_its_client_sleep_once(tmp_path: Path, op: str) -> None:
    """What the server takes of the socket wakes nobody; the first two hundred requests are not asked for."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as export:
        served = Server(Path(export) / "store", "--unix", str(tmp_path / "s"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
        subprocess.run(
            [FORWARD, "round", served.addresses[0], op, "64", "2000"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        slept = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        served.process.kill()
        served.process.wait(60)
    assert slept < 2200 + 100


def test_a_small_write_that_meets_nobody_is_written_at_once_and_once(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as export:
        served = Server(Path(export) / "store", "--unix", str(tmp_path / "s"))
        client, other = served.client(), served.client()
        handle = client.open("f")
        body = request("write", [handle, [(3, 4)]]) + b"once"
        seq = client.send("write", body, flags=NONBLOCKING)
        answer = client.reply(seq)[1]
        assert answer == [4, WRITTEN]
        assert other.write(handle, 3, b"more", flags=NONBLOCKING) == WRITTEN
        client.send("write", body, seq=seq, flags=NONBLOCKING | RETRY)
        assert client.reply(seq)[1] == answer  # as it was kept: it is not done again
        assert other.read(handle, (0, 100)) == [b"\0\0\0more"]
        counts = client.status()
        assert (counts["writes"], counts["store_writes"], counts["repeated"]) == (2, 2, 1)
        assert counts["pool_free_bytes"] == counts["pool_bytes"]
        served.process.kill()
        served.process.wait(60)


def test_a_client_holds_its_share_of_the_pool_and_no_more(tmp_path: Path) -> None:
    mib = 1 << 20
    with server(tmp_path, "--pool", str(8 * mib), "--client-pool", str(mib)) as served:
        greedy, other = served.client(), served.client()
        handle = greedy.open("f")
        body = [request("write", [handle, [(at * mib, mib)]]) for at in range(16)]
        for one in body:
            greedy.send("write", one, flags=PULL | NONBLOCKING)
        free = other.status()["pool_free_bytes"]
        while (now := other.status()["pool_free_bytes"]) != free:
            free = now  # until it has asked for all that it will
        assert 7 * mib <= free < 8 * mib
        theirs = other.open("g")
        written = other.write(theirs, 0, bytes(mib), pull=True, flags=NONBLOCKING)
        assert written == 1  # accepted: there is room for it
        data = random.Random(1).randbytes(mib)
        _, (failed,), _ = greedy.reply(greedy.send("commit", request("commit", [handle, 3])), data)
        assert failed == []
        assert (served.export / "f").read_bytes() == data * 16
        assert other.status()["pool_free_bytes"] == 8 * mib


def test_a_client_has_a_bounded_number_of_open_files(tmp_path: Path) -> None:
    with server(tmp_path, "--client-files", "3") as served:
        client = served.client()
        handles = [client.open(f"f{i}") for i in range(3)]
        with pytest.raises(Refused, match="Too many open files"):
            client.open("one-more")
        served.client().open("of-another")
        client.ask("release", handles[0])
        client.open("one-more")


def limited(tmp_path: Path, descriptors: int, *options: str) -> Server:
    """A server that may have so many descriptors."""
    words = ["prlimit", f"--nofile={descriptors}:{descriptors}"]
    return Server(tmp_path / "store", "--unix", str(tmp_path / "s"), *options, under=words)


def whole(*sizes: int) -> Any:
    """As long as a site's day would have it: in the full suite."""
    return pytest.param(*sizes, marks=pytest.mark.full)


@pytest.mark.parametrize("count", [1500, whole(1_000_000)])
def test_files_that_nobody_holds_give_way_to_others(tmp_path: Path, count: int) -> None:
    served = limited(tmp_path, 256)
    client = served.client()
    (tmp_path / "store/d").mkdir()
    first = 0
    for number in range(count):
        name = f"d/f{number}"
        handle = client.open(name)
        client.write(handle, 0, name.encode())
        assert client.read(handle, (0, 12)) == [name.encode()]
        client.ask("release", handle)
        first = first or resident(served.process.pid)
        if number % 10_000 == 9_999:  # a directory of a million names is another matter
            shutil.rmtree(tmp_path / "store/d")
            (tmp_path / "store/d").mkdir()
    assert served.client().status()["files"] < 256 // 4
    assert resident(served.process.pid) < first + (64 << 20)
    assert served.stop() == 0


@pytest.mark.parametrize("clients, files", [(8, 100), whole(100, 100)])
def test_files_that_many_hold_are_all_known(tmp_path: Path, clients: int, files: int) -> None:
    with server(tmp_path) as served:
        (tmp_path / "store/d").mkdir()
        holders = [served.client() for _ in range(clients)]
        held = [
            (client, client.open(f"d/{at}-{number}"), f"{at} {number}".encode())
            for at, client in enumerate(holders)
            for number in range(files)
        ]
        for client, handle, text in held:
            client.write(handle, 0, text)
        for client, handle, text in held:
            assert client.read(handle, (0, len(text))) == [text]
        assert served.client().status()["files"] >= clients * files
        descriptors = len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
        assert descriptors < clients * files + clients + 50  # one each, whatever is done with it


def test_held_files_are_known_however_many_they_are(tmp_path: Path) -> None:
    """More than are kept of files that nobody holds."""
    with server(tmp_path) as served:
        client, other = served.client(), served.client()
        directory = client.ask("mkdir", bytes(32), 0o755, b"d")[0]
        handles = [client.open(f"f{number}") for number in range(4300)]
        for handle in handles:
            client.write(handle, 0, b"still known")
        other.ask("open", directory, CREATE | WRITE, 0o644, b"g")
        names = {entry[3] for entry in other.ask("readdir", directory, 0, 100)[0]}
        assert b"g" in names
        assert client.read(handles[0], (0, 5)) == [b"still"]


def test_strangers_leave_room_for_those_who_are_known(tmp_path: Path, token: Path) -> None:
    proof = ("--tcp", "127.0.0.1:0", "--token", str(token))
    served = limited(tmp_path, 200, *proof)
    client = served.client()
    handle = client.open("f")
    client.write(handle, 0, b"mine")
    host, _, port = served.addresses[1].rpartition(":")
    strangers = [
        socket.create_connection((host.removeprefix("tcp:"), int(port))) for _ in range(250)
    ]
    for number in range(20):
        client.append(client.open(f"g{number}"), b"more")
        assert client.read(handle, (0, 4)) == [b"mine"]
    assert client.status()["connections"] <= 200 // 8 + 1
    known = served.client()  # and others can come
    known.ask("ping")
    [stranger.close() for stranger in strangers]
    assert served.stop() == 0


def test_a_listener_that_cannot_take_anybody_is_not_asked_again_and_again(
    tmp_path: Path, token: Path
) -> None:
    """In a second of full places the server has less than a fifth of a processor, not all of it."""
    served = limited(tmp_path, 128, "--tcp", "127.0.0.1:0", "--token", str(token))
    host, _, port = served.addresses[1].rpartition(":")
    client = served.client()
    at = (host.removeprefix("tcp:"), int(port))
    strangers = [socket.create_connection(at) for _ in range(200)]
    client.ask("ping")
    before = ticks(served.process.pid)
    time.sleep(1)
    assert ticks(served.process.pid) - before < 20  # of a hundred: it does not spin
    [stranger.close() for stranger in strangers]
    assert served.stop() == 0


def ticks(process: int) -> int:
    """Hundredths of a second of processor that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("count", [4, whole(64)])
def test_lists_of_pieces_take_a_bounded_room_whoever_sends_them(tmp_path: Path, count: int) -> None:
    """However slow the store is, and however little data the pieces have."""
    slow = ("--throttle", "operations=50", "--pool", str(64 << 20), "--deadline", "600")
    with server(tmp_path, *slow) as served:
        pieces = [(at * 3, 1) for at in range(4096)]
        senders = [served.client() for _ in range(count)]
        handles = [sender.open(f"f{number}") for number, sender in enumerate(senders)]
        for sender, handle in zip(senders, handles, strict=True):
            body = request("write", [handle, pieces]) + bytes(4096)
            sender.socket.settimeout(0.2)
            with suppress(TimeoutError):
                for _ in range(300):  # more is not taken from the connection
                    sender.send("write", body, flags=NONBLOCKING)
        other = served.client()
        other.ask("ping")
        assert resident(served.process.pid) < (64 + 64) << 20
        served.stop(signal.SIGKILL)
        served.process = Server(tmp_path / "store", "--unix", str(tmp_path / "s")).process


def test_lists_that_had_to_wait_are_done_all(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        pieces = [(at * 3, 1) for at in range(4096)]
        client = served.client()
        handle = client.open("f")
        bodies = [
            request("write", [handle, pieces]) + bytes([65 + step]) * 4096 for step in range(26)
        ]
        sent = [client.send("write", bodies[step % 26], flags=NONBLOCKING) for step in range(60)]
        [client.reply(seq) for seq in sent]
        assert client.commit(handle) == []
        data = (served.export / "f").read_bytes()
        assert data[::3] == bytes([65 + 59 % 26]) * 4096


def test_reads_of_a_client_that_is_gone_end(tmp_path: Path) -> None:
    mib = 1 << 20
    with server(tmp_path) as served:
        client, other = served.client(), served.client()
        handle = client.open("f")
        other.open("f")
        client.ask("setattr", handle, 8, 0, 0, 0, 64 * mib, 0, 0, 0, 0)
        for _ in range(60):
            client.send("read", request("read", [handle, [(0, 64 * mib)]]))
        while bytes_read(served) < mib:
            time.sleep(0.01)
        client.close()
        read, last = bytes_read(served), -mib
        while read - last >= mib:  # events of its own are bytes too
            time.sleep(0.3)
            last, read = read, bytes_read(served)
        assert read < 60 * 8 * mib  # of 60 * 64


def bytes_read(served: Server) -> int:
    """By the server's process, as the kernel counts them."""
    counts = Path(f"/proc/{served.process.pid}/io").read_text()
    return int(dict(line.split(": ") for line in counts.splitlines())["rchar"])
