"""Files striped over servers with storage of their own, against those of a local directory. Some 20 s; `full`: more."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import fathom
import pytest
from harness import paths

from .client import CREATE, EXCLUSIVE, READ, ROOT_HANDLE, TRUNCATE, WRITE, Client, Refused, Server
from .wire import NUMBERS

KIB = 1024
SIZE, MTIME = 8, 32
NONBLOCKING = NUMBERS["flag"]["nonblocking"]
A_SIZE, A_MTIME, A_NLINK = 8, 12, 1  # places in the attributes


class Stripes:
    """Servers with a directory each, tmp/store0 and so on."""

    def __init__(self, tmp: Path, count: int, stripe: int, *options: str, lease: int = 2) -> None:
        self.tmp, self.count = tmp, count
        listed = tmp / "servers"
        listed.write_text("".join(f"unix:{tmp}/s{number}\n" for number in range(count)))
        self.options = ["--stripe", str(listed), "--stripe-size", str(stripe), *options]
        self.options += ["--lease", str(lease)]
        self.servers = [self.start(number) for number in range(count)]

    def start(self, number: int) -> Server:
        """One of them."""
        name = f"s{number}"
        options = ["--unix", str(self.tmp / name), "--name", name, *self.options]
        return Server(self.store(number), *options, log=self.tmp / f"{name}.log")

    def store(self, number: int) -> Path:
        """A server's directory."""
        return self.tmp / f"store{number}"

    def restart(self, number: int, how: signal.Signals = signal.SIGKILL) -> None:
        """Ended, and started again on its socket."""
        self.servers[number].stop(how)
        self.servers[number] = self.start(number)

    def data(self) -> list[Path]:
        """All data files."""
        stores = [self.store(number) / ".fathom-forward/data" for number in range(self.count)]
        return [path for store in stores for path in store.iterdir()]

    def by_id(self) -> list[Path]:
        """What stands for each file."""
        return list((self.store(0) / ".fathom-forward/files").iterdir())


@contextmanager
def stripes(tmp: Path, count: int, stripe: int, *options: str, lease: int = 2) -> Iterator[Stripes]:
    started = Stripes(tmp, count, stripe, *options, lease=lease)
    try:
        yield started
        for server in started.servers:
            assert server.process.poll() is None, server.log.read_text()
    finally:
        for server in started.servers:
            if server.process.poll() is None:
                server.stop(signal.SIGKILL)


class Through:
    """A connection to each server: an operation goes through any, and again through one that was started anew."""

    def __init__(self, servers: Stripes, chance: random.Random) -> None:
        self.servers, self.chance = servers, chance
        self.clients: dict[int, Client] = {}

    def client(self) -> Client:
        """Of any server."""
        number = self.chance.randrange(self.servers.count)
        known = self.clients.get(number)
        if known:
            try:
                known.ask("ping")
                return known
            except OSError:
                pass
        end = time.time() + 30
        while True:
            try:
                self.clients[number] = Client(f"unix:{self.servers.tmp}/s{number}")
                return self.clients[number]
            except OSError:
                assert time.time() < end
                time.sleep(0.02)

    def again(self, work):  # type: ignore[no-untyped-def]
        """Done through any server; a server that goes away meanwhile has it done again."""
        while True:
            with suppress(ConnectionError, BrokenPipeError):
                return work(self.client())


def attr(client: Client, path: str) -> list:  # type: ignore[type-arg]
    """Of a path."""
    _, *values = client.ask("lookup", ROOT_HANDLE, 0, path.encode())
    return values


class Model:
    """Random operations, done on striped files and on local ones alike."""

    def __init__(self, servers: Stripes, local: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.servers, self.local = servers, local
        self.through = Through(servers, self.chance)
        self.names = [f"f{number}" for number in range(4)]
        self.times = dict.fromkeys(self.names, (0, 0))
        local.mkdir()

    def there(self) -> list[str]:
        """Names that stand for a file."""
        return [name for name in self.names if (self.local / name).exists()]

    def step(self, most: int) -> None:
        """One operation on a file of at most so many bytes."""
        name = self.chance.choice(self.names)
        path = self.local / name
        what = self.chance.choice(
            ["write", "write", "write", "read", "read", "truncate", "rename", "unlink", "append"]
        )
        if path.exists() and what in ("rename", "unlink"):
            getattr(self, what)(name, path)
        elif path.exists() or what in ("write", "append"):
            getattr(self, what)(name, path, most)

    def write(self, name: str, path: Path, most: int) -> None:
        """Somewhere, behind the end too."""
        offset, data = self.chance.randrange(most), os.urandom(self.chance.randrange(1, most))
        flags = self.chance.choice([0, NONBLOCKING])

        def work(client: Client) -> None:
            handle = client.open(name, CREATE | WRITE)
            client.write(handle, offset, data, flags=flags)
            assert client.commit(handle, 2) == []
            client.ask("release", handle)

        self.through.again(work)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY), "wb") as file:
            os.pwrite(file.fileno(), data, offset)

    def append(self, name: str, path: Path, most: int) -> None:
        """At the end."""
        if path.exists() and path.stat().st_size > 4 * most:
            return
        data = os.urandom(self.chance.randrange(1, most))
        size = path.stat().st_size if path.exists() else 0

        def work(client: Client) -> None:
            handle = client.open(name, CREATE | WRITE)
            client.write(handle, size, data)
            client.ask("release", handle)

        self.through.again(work)
        with path.open("ab") as file:
            file.write(data)

    def read(self, name: str, path: Path, most: int) -> None:
        """Some extents, and the whole."""
        content = path.read_bytes()
        some = [(self.chance.randrange(2 * most), self.chance.randrange(1, most)) for _ in range(3)]
        some.append((0, len(content) + 10))
        parts = self.through.again(lambda client: client.read(client.open(name, READ), *some))
        assert parts == [content[at : at + length] for at, length in some]

    def truncate(self, name: str, path: Path, most: int) -> None:
        """Shorter or longer; or by an open."""
        if self.chance.random() < 0.3:
            self.through.again(lambda client: client.open(name, WRITE | TRUNCATE))
            os.truncate(path, 0)
            return
        size = self.chance.randrange(2 * most)
        rest = [0, 0, 0, size, 0, 0, 0, 0]
        self.through.again(
            lambda client: client.ask("setattr", client.open(name, WRITE), SIZE, *rest)
        )
        os.truncate(path, size)

    def rename(self, name: str, path: Path) -> None:
        """Over another file, if it is there."""
        new = self.chance.choice(self.names)
        names = [name.encode(), ROOT_HANDLE, new.encode()]
        self.through.again(lambda client: client.ask("rename", ROOT_HANDLE, *names, 0))
        path.rename(self.local / new)
        if new != name:
            self.times[new] = (0, 0)

    def unlink(self, name: str, path: Path) -> None:
        """Its data goes, in a while."""
        self.through.again(lambda client: client.ask("unlink", ROOT_HANDLE, name.encode()))
        path.unlink()
        self.times[name] = (0, 0)

    def check(self) -> None:
        """The same names, sizes and bytes; times of change that never go back."""
        listed = self.through.again(lambda client: client.ask("readdir", ROOT_HANDLE, 0, 100))[0]
        names = {entry[3].decode() for entry in listed} - {".", ".."}
        assert names == set(self.there())
        for name in self.there():
            content = (self.local / name).read_bytes()
            self.read(name, self.local / name, 100)
            values = self.through.again(lambda client, name=name: attr(client, name))
            assert values[A_SIZE] == len(content) and values[A_NLINK] == 1
            now = values[A_MTIME], values[A_MTIME + 1]
            assert now >= self.times[name] and now[0] <= time.time() + 1, values
            self.times[name] = now


def walk(servers: Stripes, tmp: Path, seed: int, steps: int, most: int) -> None:
    model = Model(servers, tmp / f"local{seed}", seed)
    for step in range(steps):
        model.step(most)
        if step % 20 == 19:
            model.check()
    model.check()


@pytest.mark.parametrize(
    ("count", "stripe", "most"),
    [(1, 64 * KIB, 300_000), (2, 1024 * KIB, 3_000_000), (3, 7, 200), (4, 64 * KIB, 900_000)],
)
def test_random_operations_are_those_of_a_local_directory(
    tmp_path: Path, count: int, stripe: int, most: int
) -> None:
    with stripes(tmp_path, count, stripe) as servers:
        walk(servers, tmp_path, 1, 100, most)
        if count > 1:
            for server in servers.servers:
                assert server.client().status()["written_bytes"] > 0


@pytest.mark.full
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("stripe", [13, 64 * KIB, 256 * KIB, 1024 * KIB])
def test_many_random_operations(tmp_path: Path, count: int, stripe: int) -> None:
    with stripes(tmp_path, count, stripe) as servers:
        walk(servers, tmp_path, count * stripe, 1500, min(8 * stripe, 2_000_000))


def test_servers_that_are_killed_and_started_again_lose_nothing(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 16 * KIB) as servers:
        over, kills = threading.Event(), list[int]()

        def kill() -> None:
            chance = random.Random(5)
            while not over.wait(0.1):
                servers.restart(chance.randrange(3))
                kills.append(1)

        model = Model(servers, tmp_path / "local", 3)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            while len(kills) < 20:
                step = model.chance.choice(["write", "write", "append", "read", "truncate"])
                name = model.chance.choice(model.names)
                path = model.local / name
                if step in ("write", "append") or path.exists():
                    getattr(model, step)(name, path, 100_000)
        finally:
            over.set()
            killer.join()
        model.check()


def test_a_server_that_is_away_is_named_and_what_lies_elsewhere_goes_on(tmp_path: Path) -> None:
    with stripes(tmp_path, 2, 4 * KIB, "--patience", "0.5", "--deadline", "5") as servers:
        client = servers.servers[0].client()
        handle = client.open("f")
        content = os.urandom(64 * KIB)
        client.write(handle, 0, content)
        ends = {path.name for path in servers.data()}
        assert len(ends) == 1 and len(servers.data()) == 2
        first = int(next(iter(ends)), 16) % 2
        here, there = (0, 4 * KIB) if first == 0 else (4 * KIB, 0)
        for how in (signal.SIGSTOP, signal.SIGKILL):
            servers.servers[1].process.send_signal(how)
            named = rf"write f on server s0: server unix:.*/s1: .*\[{there}\+4096\]"
            with pytest.raises(Refused, match=named):
                client.write(handle, 0, bytes(8 * KIB))
            assert client.read(handle, (here, 4 * KIB)) == [bytes(4 * KIB)]
            with pytest.raises(Refused, match=r"read f on server s0: server unix:.*/s1: "):
                client.read(handle, (there, 4 * KIB))
            with pytest.raises(Refused, match=r"getattr f on server s0: server unix:.*/s1: "):
                client.size(handle)
            client.write(handle, 0, bytes(8 * KIB), flags=NONBLOCKING)
            failed = client.commit(handle, 2)
            assert [(entry[2], entry[3]) for entry in failed] == [(there, 4 * KIB)]
            if how == signal.SIGSTOP:
                servers.servers[1].process.send_signal(signal.SIGCONT)
                client.write(handle, 0, content)
                assert client.read(handle, (0, len(content))) == [content]
        servers.servers[1].process.wait()
        servers.servers[1] = servers.start(1)
        client.write(handle, 0, content)
        assert client.read(handle, (0, len(content))) == [content]


def settled(servers: Stripes, data: int, files: int) -> None:
    """So many data files and files by id are left, in a while."""
    end = time.time() + 15
    while (len(servers.data()), len(servers.by_id())) != (data, files):
        assert time.time() < end, (servers.data(), servers.by_id())
        time.sleep(0.1)


def test_data_of_what_is_removed_goes_on_all_servers(tmp_path: Path) -> None:
    with stripes(tmp_path, 2, 4 * KIB, "--patience", "0.5") as servers:
        one, other = (server.client() for server in servers.servers)
        for name in ("held", "replaced", "new", "linked"):
            one.write(one.open(name), 0, bytes(20_000))
        settled(servers, 8, 4)
        held = other.open("held", READ)
        one.ask("unlink", ROOT_HANDLE, b"held")
        one.ask("rename", ROOT_HANDLE, b"new", ROOT_HANDLE, b"replaced", 0)
        linked = one.open("linked")
        assert one.ask("link", linked, ROOT_HANDLE, b"second")[A_NLINK] == 2
        one.ask("unlink", ROOT_HANDLE, b"linked")
        for client in (one, other):  # who holds a replaced file has its bytes
            assert client.read(held, (0, 20_000)) == [bytes(20_000)]
        one.close()
        settled(servers, 6, 3)
        other.ask("release", held)
        settled(servers, 4, 2)
        assert other.size(other.open("second")) == 20_000
        servers.servers[1].stop(signal.SIGKILL)
        again = servers.servers[0].client()
        again.ask("unlink", ROOT_HANDLE, b"second")
        end = time.time() + 20
        while "is not freed yet: server unix:" not in servers.servers[0].log.read_text():
            assert time.time() < end
            time.sleep(0.1)
        servers.servers[1] = servers.start(1)
        servers.restart(0)
        settled(servers, 2, 1)


def test_names_and_modes_are_those_of_a_directory(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 4 * KIB) as servers:
        first, last = servers.servers[0].client(), servers.servers[2].client()
        directory = last.ask("mkdir", ROOT_HANDLE, 0o750, b"d")[0]
        handle = first.ask("open", ROOT_HANDLE, CREATE | WRITE, 0o640, b"d/f")[0]
        assert last.ask("lookup", directory, 0, b"f")[0] == handle
        assert attr(last, "d/f")[0] == 0o100640
        with pytest.raises(Refused, match=r"^status 17: open d/f on server s2"):
            last.open("d/f", CREATE | EXCLUSIVE | WRITE)
        with pytest.raises(Refused, match=r"^status 2: open nowhere/f on server s2"):
            last.open("nowhere/f")
        last.ask("symlink", ROOT_HANDLE, b"l", b"d/f")
        assert first.ask("readlink", first.ask("lookup", ROOT_HANDLE, 1, b"l")[0]) == [b"d/f"]
        assert first.ask("lookup", ROOT_HANDLE, 0, b"l")[0] == handle
        past = [0, 0, 0, 0, 1000, 7, 2000, 9]
        first.write(handle, 0, bytes(20_000))
        first.ask("setattr", handle, 16 | MTIME, *past)
        assert attr(last, "d/f")[A_SIZE] == 20_000
        assert attr(last, "d/f")[A_MTIME : A_MTIME + 2] == [2000, 9]
        first.write(handle, 0, b"x")
        assert attr(last, "d/f")[A_MTIME] > 2000
        assert first.commit(handle) == []
        first.ask("unlink", ROOT_HANDLE, b"d/f")
        last.ask("rmdir", ROOT_HANDLE, b"d")
        assert last.ask("statfs", ROOT_HANDLE)[2] > 0
        (servers.store(0) / "alien").write_text("of another")
        with pytest.raises(Refused, match="alien on server s2: it stands for no striped file"):
            last.open("alien", READ)


def test_appends_of_many_clients_tile_a_striped_file(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 1000) as servers:
        clients = [server.client() for server in servers.servers for _ in range(2)]
        appended: dict[int, bytes] = {}

        def append(number: int, client: Client) -> None:
            handle = client.open("log")
            for step in range(20):
                data = bytes([number * 20 + step]) * (number * 531 + step * 7 + 1)
                appended[client.append(handle, data)] = data

        threads = [threading.Thread(target=append, args=each) for each in enumerate(clients)]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
        content = b"".join(appended[offset] for offset in sorted(appended))
        assert len(appended) == 120
        client = clients[0]
        assert client.read(client.open("log"), (0, len(content) + 1)) == [content]


def test_what_was_accepted_is_written_when_all_are_ended_at_once(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 64 * KIB, "--throttle", "megabytes=20") as servers:
        content = os.urandom(6_000_000)
        client = servers.servers[0].client()
        handle = client.open("f")
        for at in range(0, len(content), 500_000):
            client.write(handle, at, content[at : at + 500_000], flags=NONBLOCKING)
        for server in servers.servers:
            server.process.send_signal(signal.SIGTERM)
        for number, server in enumerate(servers.servers):
            assert server.process.wait(60) == 0, server.log.read_text()
            assert "was not told" not in server.log.read_text()
            servers.servers[number] = servers.start(number)
        client = servers.servers[1].client()
        assert client.read(client.open("f", READ), (0, len(content))) == [content]


def test_what_is_written_together_on_another_server_names_all_callers_and_their_file(
    tmp_path: Path,
) -> None:
    run, stream = tmp_path / "r.fathom", 0x1122334455667788
    options = ["--patience", "100", "--record", str(run), "--mount", "/m"]
    with stripes(tmp_path, 2, KIB, *options) as servers:
        one, other = servers.servers
        asker, *clients = [one.client() for _ in range(5)]
        handle = asker.open("f")
        asker.write(handle, 0, bytes(2 * KIB))
        layout = dict(line.split() for line in servers.by_id()[0].read_text().splitlines()[1:])
        first = int(layout["first"])
        there = 0 if first == 1 else KIB
        before, asked = asker.status()["requests"], 0
        other.process.send_signal(signal.SIGSTOP)
        writes = []
        for client, at in zip(clients, (500, 0, 10, 20), strict=True):
            call = {"call": (stream, at + 1)}
            args = (handle, there + at, bytes(10))
            writes.append(threading.Thread(target=client.write, args=args, kwargs=call))
            writes[-1].start()
            arrived = (
                0  # the first one is under way then; the others wait for it, and are put together
            )
            while arrived < len(writes):
                asked += 1
                arrived = asker.status()["requests"] - before - asked
        other.process.send_signal(signal.SIGCONT)
        for write in writes:
            write.join()
        for server in servers.servers:
            server.process.terminate()
        assert [server.process.wait(60) for server in servers.servers] == [0, 0]
        links, paths = (
            [tuple(row.values()) for row in fathom.open(run).sql(text).to_pylist()]
            for text in (
                "select c.op, c.bytes as whole, l.to_seq, l.bytes, l.kind from links l"
                " join calls c on c.id = l.from_call"
                f" where c.op in ('pwritev', 'write') and l.to_stream = {stream} order by c.op, l.to_seq",
                "select distinct coalesce(f.path, o.name) as path from calls c left join files f using (file)"
                " left join objects o using (object) where c.layer in ('server', 'disk')"
                " and c.op not in ('ping', 'status', 'release') order by path",
            )
        )
        servers.servers.clear()
    of_each = [
        (30, 1, 10),
        (30, 11, 10),
        (30, 21, 10),
        (10, 501, 10),
    ]
    assert links == [
        *[("pwritev", *each, "carries") for each in of_each],
        *[("write", *each, "serves") for each in of_each],
    ]
    assert paths == [("/m/f",)]


def test_a_list_is_one_request_to_each_server(tmp_path: Path) -> None:
    """As of a strided view: 500 pieces here and there."""
    with stripes(tmp_path, 3, 4 * KIB) as servers:
        one = servers.servers[0].client()
        handle = one.open("f")
        one.write(handle, 0, bytes(600_000))
        watchers = [server.client() for server in servers.servers]
        before = [watcher.status()["requests"] for watcher in watchers]
        extents = [(1000 * number + 7, 100) for number in range(500)]
        data = os.urandom(50_000)
        assert one.ask("write", handle, extents, data=data)[0] == len(data)
        parts = one.read(handle, *extents, (599_990, 100))
        assert b"".join(parts) == data + bytes(10)
        after = [watcher.status()["requests"] for watcher in watchers]
        # Status itself; a write, a read; the size, as the last read came short. Nothing grows with the pieces.
        assert all(b - a <= 8 for a, b in zip(before, after, strict=True)), (before, after)
        expected = bytearray(600_000)
        for number, (at, length) in enumerate(extents):
            expected[at : at + length] = data[100 * number : 100 * number + length]
        assert one.read(handle, (0, 600_000)) == [bytes(expected)]


def shares(size: int, stripe: int, order: list[int]) -> dict[int, int]:
    """Length of each server's data file, byte by byte."""
    ends: dict[int, int] = {}
    for at in range(size):
        block = at // stripe
        server = order[block % len(order)]
        ends[server] = block // len(order) * stripe + at % stripe + 1
    return ends


def on_servers(servers: Stripes, path: str) -> dict[int, int]:
    """The same, as it is on the disks: of the one file there is."""
    assert len(servers.by_id()) == 1, path
    bytes_of = {}
    for number in range(servers.count):
        for one in (servers.store(number) / ".fathom-forward/data").iterdir():
            bytes_of[number] = one.stat().st_size
    return bytes_of


def test_a_file_lies_on_the_servers_that_were_wished(tmp_path: Path) -> None:
    striping = NUMBERS["hint"]["striping"]
    with stripes(tmp_path, 4, 4 * KIB) as servers:
        one, other = servers.servers[1].client(), servers.servers[2].client()
        wishes = [
            (0, 3, 3, 4 * KIB, [3, 0, 1]),
            (1000, 1, 2, 1000, [2]),
            (7, 0, 2**32 - 1, 7, None),
            (0, 9, 5, 4 * KIB, [1, 2, 3, 0]),
        ]
        for size, count, first, stripe, order in wishes:
            hints = {striping: struct.pack("<QII", size, count, first)}
            flags = CREATE | WRITE | READ
            handle = one.ask("open", ROOT_HANDLE, flags, 0o644, b"f", hints=hints)[0]
            content = os.urandom(30_001)
            one.write(handle, 0, content)
            assert other.read(other.open("f"), (0, 40_000)) == [content]
            assert other.size(handle) == len(content)
            first_server = int(next(iter(servers.by_id())).name, 16) % 4
            order = order or [(first_server + row) % 4 for row in range(4)]
            assert on_servers(servers, "f") == shares(len(content), stripe, order)
            other.ask("setattr", other.open("f"), SIZE, 0, 0, 0, 12_345, 0, 0, 0, 0)
            assert one.read(handle, (0, 40_000)) == [content[:12_345]]
            lengths = on_servers(servers, "f")
            assert {
                server: lengths[server] for server, length in lengths.items() if length
            } == shares(12_345, stripe, order)
            one.ask("release", handle)
            other.ask("unlink", ROOT_HANDLE, b"f")
            one.close()
            other.close()
            settled(servers, 0, 0)
            one, other = servers.servers[1].client(), servers.servers[2].client()


def test_programs_wish_by_the_environment(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 4 * KIB) as servers:
        (tmp_path / "in").write_bytes(os.urandom(50_000))
        env = {
            **os.environ,
            "LD_PRELOAD": str(paths.BUILD / "libfathom_fwd_preload.so"),
            "FATHOM_FORWARD_SERVERS": f"unix:{tmp_path}/s0",
            "FATHOM_FORWARD_PREFIX": "/fwd",
        }
        for wish, order in (("size=8k,servers=2,first=2", [2, 0]), ("servers=1,first=1", [1])):
            env["FATHOM_FORWARD_STRIPING"] = wish
            subprocess.run(["cp", str(tmp_path / "in"), "/fwd/f"], env=env, check=True)
            stripe = 8 * KIB if "8k" in wish else 4 * KIB
            assert on_servers(servers, "f") == shares(50_000, stripe, order)
            subprocess.run(["rm", "/fwd/f"], env=env, check=True)
            settled(servers, 0, 0)
        env["FATHOM_FORWARD_STRIPING"] = "servers=2,width=3"
        done = subprocess.run(
            ["cp", str(tmp_path / "in"), "/fwd/f"],
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        assert "FATHOM_FORWARD_STRIPING: 'servers=2,width=3' is not" in done.stderr
