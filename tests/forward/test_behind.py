"""A server whose store is another server: the same files, locks and ends of files, whichever is asked. Some 10 s."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fathom
import pytest

from .client import CREATE, ENGINE, READ, ROOT_HANDLE, WRITE, Client, Refused, Server, server
from .groups import Group, Source, check, finish, run
from .test_locks import EXCLUSIVE, NONE, WAIT, claim, code
from .wire import NUMBERS, request

NONBLOCKING = NUMBERS["flag"]["nonblocking"]
STREAM = 77  # of a client's calls, as a trace would name it


class Behind(Group):
    """The first has tmp/store, the others have the first."""

    def __init__(self, tmp: Path, count: int, *options: str, lease: int = 1) -> None:
        self.tmp = tmp
        self.names = [f"s{number}" for number in range(count)]
        self.options = ["--lease", str(lease), *options]
        self.servers = [self.start(number) for number in range(count)]

    def exports(self, name: str) -> Path:
        return self.tmp / "store" if name == "s0" else Path(f"unix:{self.tmp}/s0")


@contextmanager
def behind(tmp: Path, count: int, *options: str, lease: int = 1) -> Iterator[Behind]:
    started = Behind(tmp, count, *options, lease=lease)
    try:
        yield started
        for one in started.servers:
            assert one.process.poll() is None, one.log.read_text()
    finally:
        started.stop()


def code_of(client: Client, op: str, *values: object) -> int:
    """0, or the status with which it was refused."""
    try:
        client.ask(op, *values)
    except Refused as refused:
        return refused.status
    return 0


def test_names_and_data_are_those_of_the_server_behind(tmp_path: Path) -> None:
    with behind(tmp_path, 2) as servers:
        store, client = tmp_path / "store", servers.servers[1].client()
        handle = client.open("f")
        pieces = [(10, 5), (100, 3), (50, 2)]
        assert client.ask("write", handle, pieces, data=b"aaaaabbbcc") == [10, 2]
        assert client.read(handle, *pieces, (101, 40)) == [b"aaaaa", b"bbb", b"cc", b"bb"]
        large = os.urandom(5 << 20)
        client.write(handle, 1000, large)
        assert client.read(handle, (1000, len(large))) == [large]
        assert (store / "f").read_bytes()[1000:] == large
        client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")
        client.ask("rename", ROOT_HANDLE, b"f", ROOT_HANDLE, b"d/g", 0)
        client.ask("symlink", ROOT_HANDLE, b"link", b"d/g")
        client.ask("link", handle, ROOT_HANDLE, b"second")
        assert sorted(path.name for path in store.iterdir() if path.name[0] != ".") == [
            "d", "link", "second",
        ]  # fmt: skip
        assert (store / "d/g").samefile(store / "second")
        assert (store / "link").readlink() == Path("d/g")
        (entries,) = client.ask("readdir", ROOT_HANDLE, 0, 100)
        assert {entry[-1] for entry in entries} >= {b"d", b"link", b"second"}
        client.ask("unlink", ROOT_HANDLE, b"second")
        assert code_of(client, "rmdir", ROOT_HANDLE, b"d") == errno.ENOTEMPTY
        assert code_of(client, "open", ROOT_HANDLE, WRITE, 0, b"../out") == errno.EXDEV
        assert code_of(client, "open", ROOT_HANDLE, READ, 0, b"no") == errno.ENOENT


def test_what_is_held_is_let_go_behind(tmp_path: Path) -> None:
    with behind(tmp_path, 2) as servers:
        home, client = servers.servers[0].client(), servers.servers[1].client()
        handle = client.open("f")
        client.write(handle, 0, b"x" * 4096)
        client.ask("unlink", ROOT_HANDLE, b"f")
        assert client.read(handle, (0, 3)) == [b"xxx"]
        client.ask("release", handle)
        until = time.time() + 20
        while home.status()["files"] > 1 and time.time() < until:
            time.sleep(0.05)
        assert code_of(client, "getattr", handle) == errno.ESTALE


def test_what_was_accepted_outlives_the_server_behind(tmp_path: Path) -> None:
    with behind(tmp_path, 2) as servers:
        client = servers.servers[1].client()
        handle = client.open("f")
        client.write(handle, 0, b"begun")
        servers.restart(0)
        for number in range(50):
            client.write(handle, 100 * number, bytes([number]) * 100, flags=NONBLOCKING)
        failed = client.commit(handle)
        handle = client.open("f")  # whose server knows no handle any more
        missing = [range_[1:3] for range_ in failed]
        for number in range(50):
            (data,) = client.read(handle, (100 * number, 100))
            lost = any(at <= 100 * number < at + length for at, length in missing)
            assert lost or data == bytes([number]) * 100


def test_a_server_behind_that_is_away_is_named_and_its_ranges(tmp_path: Path) -> None:
    with behind(tmp_path, 2, "--patience", "0.3") as servers:
        client = servers.servers[1].client()
        handle = client.open("f")
        servers.servers[0].stop(signal.SIGKILL)
        with pytest.raises(Refused, match=r"server unix:.*s0: .*\[7\+4\]"):
            client.write(handle, 7, b"lost")
        client.write(handle, 90, b"gone", flags=NONBLOCKING)
        (failed,) = client.commit(handle, 2)
        assert failed[2:4] == (90, 4)
        servers.servers[0] = servers.start(0)
        client.write(client.open("f"), 7, b"here")
        assert (tmp_path / "store/f").read_bytes()[7:11] == b"here"


def test_appends_through_all_tile_the_file(tmp_path: Path) -> None:
    with behind(tmp_path, 3) as servers:
        sources = [Source(number, servers) for number in range(6)]
        finish(run(sources, range(40)))
        check(servers, sources, 40)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_server_that_is_killed_and_started_again_loses_no_append(
    tmp_path: Path, victim: int
) -> None:
    with behind(tmp_path, 2) as servers:
        sources = [Source(number, servers) for number in range(4)]
        threads = run(sources, range(60))
        for _ in range(3):
            time.sleep(0.2)
            servers.restart(victim)
        finish(threads)
        check(servers, sources, 60)


def test_locks_are_those_of_the_server_behind(tmp_path: Path) -> None:
    with behind(tmp_path, 3) as servers:
        home, one, other = (each.client() for each in servers.servers)
        handle, *_ = (client.open("f") for client in (home, one, other))
        one.ask("lock", handle, *claim(EXCLUSIVE, 0, 10))
        for client in (home, other):
            assert code(client, "lock", handle, claim(EXCLUSIVE, 9, 1)) == errno.EAGAIN
        waits = request("lock", [handle, *claim(EXCLUSIVE, flags=WAIT)])
        seq = other.send("lock", waits)
        one.ask("unlock", handle, *claim(NONE, 0, 10))
        other.reply(seq)
        seq = home.send("lock", waits)
        other.close()
        home.reply(seq)


def test_only_a_server_alone_can_be_a_store(tmp_path: Path) -> None:
    def refused(*options: object) -> str:
        command = [ENGINE, "forward", *map(str, options), "--unix", tmp_path / "x"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert ended.returncode != 0
        (line,) = ended.stderr.splitlines()
        return line

    with behind(tmp_path, 2):
        assert "is not alone" in refused(f"unix:{tmp_path}/s1")
    assert f"unix:{tmp_path}/s0" in refused(f"unix:{tmp_path}/s0", "--patience", "0.2")
    assert "--stripe needs a directory" in refused("tcp:h:1", "--stripe", tmp_path / "list")
    assert "throttle" in refused("tcp:h:1", "--throttle", "creates=1")
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--token", token(tmp_path)) as there:
        assert "it asks for a token" in refused(there.addresses[1])
        front = Server(
            Path(there.addresses[1]), "--unix", f"{tmp_path}/front", "--behind-token", token(tmp_path),
            log=tmp_path / "front.log",
        )  # fmt: skip
        client = front.client()
        client.write(client.open("f"), 0, b"shown")
        assert front.stop() == 0
        assert (tmp_path / "store/f").read_bytes() == b"shown"


def token(tmp: Path) -> str:
    path = tmp / "token"
    path.touch(0o600)
    path.write_text("0123456789abcdef" * 4)
    return str(path)


def test_rows_of_both_name_the_clients_call(tmp_path: Path) -> None:
    into = tmp_path / "r.fathom"
    home = Server(tmp_path / "store", "--unix", f"{tmp_path}/s", "--record", str(into))
    try:
        front = Server(
            Path(f"unix:{tmp_path}/s"), "--unix", f"{tmp_path}/front", "--record", str(into),
            log=tmp_path / "front.log",
        )  # fmt: skip
        client = front.client()
        handle = client.open("f", CREATE | READ | WRITE)
        client.write(handle, 100, b"x" * 50, call=(STREAM, 7))
        client.ask("read", handle, [(100, 50)], call=(STREAM, 8))
        assert front.stop() == 0
    finally:
        assert home.stop() == 0
    links = fathom.open(into).sql(
        "select c.layer, c.op, l.to_seq, l.bytes from links l join calls c on c.id = l.from_call"
        f" where l.to_stream = {STREAM} order by all"
    )
    assert [tuple(row.values()) for row in links.to_pylist()] == [
        ("disk", "pread", 8, 50), ("disk", "pwritev", 7, 50), ("server", "read", 8, 50),
        ("server", "relay_read", 8, 50), ("server", "relay_write", 7, 50), ("server", "write", 7, 50),
    ]  # fmt: skip
