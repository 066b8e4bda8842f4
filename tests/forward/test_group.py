"""Several servers on one directory: the end of a file is one of theirs, whichever is asked."""

from __future__ import annotations

import select
import signal
import socket
import time
from pathlib import Path

import pytest

from .client import CREATE, WRITE, Refused, Server, eventually
from .groups import SHARED, TO_NOTHING, Source, check, check_cut, cut, finish, group, run
from .records import record, tiles
from .wire import NUMBERS, request

PULL = NUMBERS["flag"]["pull"]


@pytest.mark.parametrize(("clients", "servers"), [(1, 2), (6, 3), (8, 4), (5, 1)])
def test_appends_through_many_servers_tile_the_file(
    tmp_path: Path, clients: int, servers: int
) -> None:
    with group(tmp_path, servers) as g:
        sources = [Source(number, g) for number in range(clients)]
        finish(run(sources, range(40)))
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
        finish(threads)
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


def test_a_truncation_waits_for_extents_of_other_servers(tmp_path: Path) -> None:
    with group(tmp_path, 2) as g:
        one, two = (server.client() for server in g.servers)
        handle, other = one.open("log"), two.open("log")
        one.append(handle, b"first", hints=SHARED)
        two.append(other, b"second", hints=SHARED)
        data = b"x" * 100_000
        late = two.send("append", request("append", [other, len(data)], SHARED), flags=PULL)
        # it has its extent once the data is asked for
        assert two.socket in select.select([two.socket], [], [], 20)[0]
        cut = one.send("setattr", request("setattr", [handle, *TO_NOTHING], SHARED))
        waiting = one.send("append", request("append", [handle, 5], SHARED) + b"third")
        assert select.select([one.socket], [], [], 0.3) == ([], [], [])
        assert two.reply(late, data)[1][0] == 11
        one.reply(cut)
        assert one.reply(waiting)[1][0] == 0
        assert two.append(other, b"fourth", hints=SHARED) == 5
        assert (tmp_path / "store/log").read_bytes() == b"thirdfourth"


@pytest.mark.parametrize("victim", ["owner", "another"])
def test_truncations_beside_kills_leave_records_and_declared_gaps(
    tmp_path: Path, victim: str
) -> None:
    with group(tmp_path, 2) as g:
        sources = [Source(number, g) for number in range(4)]
        threads = run(sources, range(60))
        for number in range(6):
            time.sleep(0.15)
            cut(g, number % 2)
            if number % 2:
                owner = max(range(2), key=lambda n: g.servers[n].client().status()["ends"])
                g.restart(owner if victim == "owner" else 1 - owner)
        finish(threads)
        check_cut(g)


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
