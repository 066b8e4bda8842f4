"""Several servers on one directory: the end of a file is one of theirs, whichever is asked."""

from __future__ import annotations

import itertools
import random
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from .client import CREATE, READ, WRITE, Client, Refused, Server, eventually
from .records import check_order, record, tiles
from .wire import NUMBERS, request

FLAG = NUMBERS["flag"]
RETRY, PULL, NONBLOCKING = FLAG["retry"], FLAG["pull"], FLAG["nonblocking"]


class Group:
    """Servers of tmp/store that know each other."""

    under: Sequence[str] = ()  # what those are run under that are started from now on

    def __init__(self, tmp: Path, count: int, *options: str) -> None:
        self.tmp = tmp
        self.names = [f"s{number}" for number in range(count)]
        listed = tmp / f"group{count}"
        listed.write_text("# servers\n" + "".join(f"unix:{tmp}/{name}\n" for name in self.names))
        self.options = ["--group", str(listed), "--lease", "1", *options]
        self.servers = [self.start(number) for number in range(count)]

    def start(self, number: int) -> Server:
        """One of them."""
        name = self.names[number]
        options = ["--unix", str(self.tmp / name), "--name", name, *self.options]
        log = self.tmp / f"{name}.log"
        return Server(self.exports(name), *options, log=log, under=self.under)

    def exports(self, _: str) -> Path:
        """What a server of that name exports."""
        return self.tmp / "store"

    def restart(self, number: int) -> None:
        """Killed, and started again on its socket."""
        self.servers[number].stop(signal.SIGKILL)
        self.servers[number] = self.start(number)

    def owner(self) -> int:
        """Number of the server that owns the end of the only file that is appended to."""
        owns = [bool(server.client().status()["ends"]) for server in self.servers]
        assert sum(owns) == 1
        return owns.index(True)

    def stop(self) -> None:
        """All of them."""
        for server in self.servers:
            if server.process.poll() is None:
                server.stop(signal.SIGKILL)


@contextmanager
def group(tmp: Path, count: int, *options: str) -> Iterator[Group]:
    started = Group(tmp, count, *options)
    try:
        yield started
        for server in started.servers:
            assert server.process.poll() is None, server.log.read_text()
    finally:
        started.stop()


class Source:
    """Appends records through one server, whatever happens to it, and asks again where it had no answer."""

    def __init__(self, number: int, group: Group) -> None:
        self.number, self.group = number, group
        self.address = f"unix:{group.tmp}/{group.names[number % len(group.names)]}"
        self.client: Client | None = None
        self.offsets: dict[tuple[int, int], int] = {}

    def _again(self, end: float) -> tuple[Client, bytes]:
        while True:
            try:
                self.client = Client(self.address, like=self.client)
                return self.client, self.client.open("log")
            except OSError:
                assert time.time() < end, "no server for a minute"
                time.sleep(0.02)

    def append(self, steps: range) -> None:
        """Records of these numbers, of random lengths."""
        chance, end = random.Random(self.number), time.time() + 60
        client, handle = self._again(end)
        for step in steps:
            data = record(self.number, step, chance.choice([20, 500, 9000, 60_000]))
            flags, seq = chance.choice([0, NONBLOCKING]), next(client.seqs)
            flags |= PULL if len(data) > client.inline else 0
            while True:
                body = request("append", [handle, len(data)]) + (b"" if flags & PULL else data)
                try:
                    client.send("append", body, seq=seq, flags=flags)
                    self.offsets[self.number, step] = client.reply(seq, data)[1][0]
                    if client.commit(handle, 2) == []:
                        break
                except OSError:
                    client, handle = self._again(end)
                    flags = flags & PULL | RETRY


def run(sources: list[Source], steps: range) -> list[threading.Thread]:
    threads = [threading.Thread(target=source.append, args=[steps]) for source in sources]
    [thread.start() for thread in threads]
    return threads


def check(group: Group, sources: list[Source], steps: int) -> None:
    """All that was told is there, once, in order; what is between is declared, by every server alike."""
    content = (group.tmp / "store/log").read_bytes()
    gaps_of_servers = []
    for server in group.servers:
        client = server.client()
        gaps_of_servers.append(
            [gap[:2] for gap in client.ask("gaps", client.open("log", READ), 0)[0]]
        )
    assert all(gaps == gaps_of_servers[0] for gaps in gaps_of_servers)
    in_file = tiles(content, gaps_of_servers[0])
    offsets = dict(itertools.chain.from_iterable(source.offsets.items() for source in sources))
    assert len(offsets) == len(sources) * steps
    assert in_file == offsets
    check_order(in_file)


@pytest.mark.parametrize(("clients", "servers"), [(1, 2), (6, 3), (8, 4), (5, 1)])
def test_appends_through_many_servers_tile_the_file(
    tmp_path: Path, clients: int, servers: int
) -> None:
    with group(tmp_path, servers) as g:
        sources = [Source(number, g) for number in range(clients)]
        [thread.join(120) for thread in run(sources, range(40))]
        check(g, sources, 40)


@pytest.mark.parametrize("victim", ["owner", "another"])
def test_a_server_that_is_killed_and_started_again_loses_no_append(
    tmp_path: Path, victim: str
) -> None:
    with group(tmp_path, 3) as g:
        sources = [Source(number, g) for number in range(6)]
        threads = run(sources, range(60))
        for _ in range(4):
            time.sleep(0.3)
            owner = max(range(3), key=lambda n: g.servers[n].client().status()["ends"])
            g.restart(owner if victim == "owner" else (owner + 1) % 3)
        [thread.join(120) for thread in threads]
        assert not any(thread.is_alive() for thread in threads)
        check(g, sources, 60)


def test_the_number_of_servers_may_change(tmp_path: Path) -> None:
    align = {NUMBERS["hint"]["append_align"]: (65536).to_bytes(4, "little")}
    offsets: dict[tuple[int, int], int] = {}
    for round_, count in enumerate([3, 1, 5]):
        with group(tmp_path, count) as g:
            for number, server in enumerate(g.servers):
                client = server.client()
                data = record(number, round_, 100)
                offsets[number, round_] = client.append(client.open("log"), data, hints=align)
            [client.close() for client in [server.client() for server in g.servers]]
            client = g.servers[-1].client()
            gaps = [gap[:2] for gap in client.ask("gaps", client.open("log"), 0)[0]]
            assert tiles((tmp_path / "store/log").read_bytes(), gaps) == offsets


def test_a_truncation_is_known_to_all_and_refused_while_another_appends(tmp_path: Path) -> None:
    with group(tmp_path, 2) as g:
        first, second = (server.client() for server in g.servers)
        handle, other = first.open("log"), second.open("log")
        first.append(handle, b"0123456789")
        cut = [8, 0, 0, 0, 4, 0, 0, 0, 0]
        with pytest.raises(Refused, match="busy"):
            second.ask("setattr", other, *cut)
        first.ask("release", handle)
        first.ask("gaps", handle, 0)
        second.ask("setattr", other, *cut)
        assert second.append(other, b"after") == 4
        assert first.append(first.open("log"), b"!") == 9
        assert (tmp_path / "store/log").read_bytes() == b"0123after!"


def test_a_truncation_after_the_last_close_waits_for_a_slow_owner(tmp_path: Path) -> None:
    with group(tmp_path, 2) as g:
        probe = g.servers[0].client()
        held = probe.open("log")
        probe.append(held, b"x" * 100)
        owner = g.owner()
        probe.ask("release", held)
        client = g.servers[1 - owner].client()
        handle = client.open("log")
        client.append(handle, b"x" * 100)
        g.servers[owner].process.send_signal(signal.SIGSTOP)
        client.ask("release", handle)  # the owner is told, and does not hear of it yet
        handle = client.open("log")
        seq = client.send("setattr", request("setattr", [handle, 8, 0, 0, 0, 7, 0, 0, 0, 0]))
        assert select.select([client.socket], [], [], 0.3) == ([], [], [])
        g.servers[owner].process.send_signal(signal.SIGCONT)
        client.reply(seq)
        assert (tmp_path / "store/log").read_bytes() == b"x" * 7


def test_what_a_dead_server_had_reserved_is_a_gap(tmp_path: Path) -> None:
    with group(tmp_path, 2) as g:
        first = g.servers[0].client()
        first.append(first.open("log"), b"first")
        owner = g.owner()
        mine, other = g.servers[owner].client(), g.servers[1 - owner].client()
        handle = mine.open("log")
        body = request("append", [other.open("log"), 100_000])
        other.send("append", body, flags=PULL)
        other.frame()  # the extent is reserved, the data asked for
        g.servers[1 - owner].stop(signal.SIGKILL)
        assert mine.append(handle, b"last") == 100_005
        end = time.time() + 20
        while not (gaps := mine.ask("gaps", handle, 0)[0]) and time.time() < end:
            time.sleep(0.1)
        assert [gap[:3] for gap in gaps] == [(5, 100_000, other.id)]
        g.servers[1 - owner] = g.start(1 - owner)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_owner_is_an_error_that_names_it_and_no_hang(
    tmp_path: Path, how: signal.Signals
) -> None:
    with group(tmp_path, 2, "--patience", "1") as g:
        client = g.servers[0].client()
        client.append(client.open("log"), b"x")
        owner = g.owner()
        client = g.servers[1 - owner].client()
        handle = client.open("log", CREATE | WRITE)
        g.servers[owner].process.send_signal(how)
        with pytest.raises(
            Refused, match=f"append log on server s{1 - owner}: server unix:.*/s{owner}: "
        ):
            client.append(handle, b"record")
        client.write(client.open("elsewhere"), 0, b"goes on")
        if how == signal.SIGSTOP:
            g.servers[owner].process.send_signal(signal.SIGCONT)
            assert eventually(lambda: client.append(handle, b"again")) >= 1
        else:
            g.servers[owner] = g.start(owner)


def test_a_server_must_be_in_its_group(tmp_path: Path) -> None:
    (tmp_path / "listed").write_text("unix:/elsewhere\n")
    with pytest.raises(AssertionError, match="this server is not in it; add a line unix:"):
        Server(
            tmp_path / "store", "--unix", str(tmp_path / "s"), "--group", str(tmp_path / "listed")
        )


def test_servers_on_tcp_prove_the_token_to_each_other(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef" * 4)
    token.chmod(0o600)
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        ports = [one.getsockname()[1], two.getsockname()[1]]
    listed = tmp_path / "listed"
    listed.write_text("".join(f"tcp:127.0.0.1:{port}\n" for port in ports))
    servers = [
        Server(
            tmp_path / "store", "--tcp", f"127.0.0.1:{port}", "--token", str(token),
            "--group", str(listed), log=tmp_path / f"{port}.log",
        )
        for port in ports
    ]  # fmt: skip
    try:
        clients = [server.client(token=token.read_bytes()) for server in servers]
        offsets = [client.append(client.open("log"), b"0123") for client in clients * 3]
        assert offsets == list(range(0, 24, 4))
    finally:
        [server.stop(signal.SIGKILL) for server in servers]
