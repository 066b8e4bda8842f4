"""Appends, with servers that are killed: no extent overlaps another, and no gap is silent."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from .client import CREATE, WRITE, Client, Refused, Server, a_server, server
from .records import check_order, record, tiles
from .wire import NUMBERS, OPS, Frame, pack, request

FLAG = NUMBERS["flag"]
RETRY, PULL, NONBLOCKING = FLAG["retry"], FLAG["pull"], FLAG["nonblocking"]
BEFORE = b"content of before"
LENGTHS = [100, 3000, 40_000, 20]  # the third is pulled


def gaps_of(client: Client, handle: bytes) -> list[tuple[int, int]]:
    return [(offset, length) for offset, length, *_ in client.ask("gaps", handle, 0)[0]]


def append_until_killed(clients: list[Client]) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """Offsets that were told, by source and step; and the seq of each source's append that has no answer."""
    offsets: dict[tuple[int, int], int] = {}
    lost: dict[int, int] = {}
    handles: dict[int, bytes] = {}
    for step, length in enumerate(LENGTHS):
        for source, client in enumerate(clients):
            if source in lost:
                continue
            data = record(source, step, length)
            try:
                if source not in handles:
                    handles[source] = client.open("log", WRITE)
                flags = PULL if length > client.inline else 0
                body = request("append", [handles[source], len(data)]) + (b"" if flags else data)
                lost[source] = next(client.seqs)
                client.send("append", body, seq=lost[source], flags=flags)
                offsets[source, step] = client.reply(lost[source], data)[1][0]
                del lost[source]
            except OSError:
                lost.setdefault(source, 0)
    return offsets, lost


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace: apt-get install strace")
@pytest.mark.parametrize(
    ("call", "when"),  # the first ones of write and sendto are of the server's start
    [("write", when) for when in range(2, 14)]
    + [("pwritev", when) for when in (1, 2, 3, 6)]
    + [("sendto", when) for when in (3, 4, 6, 9)],
)
def test_a_kill_at_any_system_call_leaves_records_and_declared_gaps(
    tmp_path: Path, call: str, when: int
) -> None:
    store, socket_path = tmp_path / "store", str(tmp_path / "s")
    store.mkdir()
    (store / "log").write_bytes(BEFORE)
    kill = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    kill += ["-e", f"inject={call}:signal=SIGKILL:when={when}"]
    killed = Server(store, "--unix", socket_path, "--workers", "1", under=kill)
    clients: list[Client] = []
    offsets: dict[tuple[int, int], int] = {}
    lost: dict[int, int] = {}
    try:
        clients = [killed.client() for _ in range(2)]
        offsets, lost = append_until_killed(clients)
    except OSError:
        pass  # so early that no client was greeted
    assert killed.process.wait(10) == -signal.SIGKILL  # by strace
    with server(tmp_path) as again:
        other = again.client()
        handle = other.open("log", WRITE)
        for source, client in enumerate(clients):  # who had no answer asks again
            if not lost.get(source):
                continue
            step = max((step for who, step in offsets if who == source), default=-1) + 1
            data = record(source, step, LENGTHS[step])
            like = again.client(like=client)
            flags = RETRY | (PULL if len(data) > like.inline else 0)
            body = request("append", [handle, len(data)]) + (b"" if flags & PULL else data)
            like.send("append", body, seq=lost[source], flags=flags)
            offsets[source, step] = like.reply(lost[source], data)[1][0]
        end = record(9, 0, 50)
        offsets[9, 0] = other.append(handle, end)
        in_file = tiles((store / "log").read_bytes(), gaps_of(other, handle), len(BEFORE))
        assert in_file == offsets  # each record once, where its source was told
        check_order(in_file)
        assert gaps_of(other, handle) == []  # as every append was repeated


def test_what_was_reserved_and_never_written_is_a_gap_after_a_kill(tmp_path: Path) -> None:
    store, socket_path = tmp_path / "store", str(tmp_path / "s")
    served = Server(store, "--unix", socket_path)
    client, second = served.client(), served.client()
    handle = client.open("log")
    client.append(handle, record(0, 0, 100))
    data = record(1, 0, 3 << 20)
    body = request("append", [handle, len(data)])
    seq = second.send("append", body, flags=PULL)
    second.frame()  # the first pull: the extent is reserved
    part = Frame(4, OPS["append"], second.id, seq, body=pack("Q", [0]) + data[: second.piece])
    second.socket.sendall(part.encode())
    second.frame()  # the second
    client.append(handle, record(0, 1, 100))
    served.stop(signal.SIGKILL)
    with server(tmp_path) as again:
        other = again.client()
        assert other.ask("readdir", bytes(32), 0, 100)[0][-1][3] != b".fathom-forward"
        handle = other.open("log", CREATE | WRITE)
        assert gaps_of(other, handle) == [(100, len(data))]
        assert other.append(handle, record(2, 0, 50)) == 200 + len(data)
        in_file = tiles((store / "log").read_bytes(), gaps_of(other, handle))
        assert in_file == {(0, 0): 0, (0, 1): 100 + len(data), (2, 0): 200 + len(data)}
        second = again.client(like=second)
        second.send("append", body, seq=seq, flags=PULL | RETRY)
        assert second.reply(seq, data)[1][0] == 100
        assert gaps_of(other, handle) == []
        tiles((store / "log").read_bytes(), [])


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace: apt-get install strace")
def test_a_commit_waits_until_the_journal_has_its_appends(tmp_path: Path) -> None:
    """Else a kill between the two makes a gap of what was acknowledged."""
    store, sock = tmp_path / "store", f"{tmp_path}/s"
    store.mkdir()
    first = Server(store, "--unix", sock)
    client = first.client()
    client.append(client.open("log"), b"first")
    (journal,) = (store / ".fathom-forward/appends").iterdir()
    first.stop(signal.SIGKILL)
    slow = ["-e", "trace=write", "-e", "inject=write:delay_enter=1s", "-P", str(journal)]
    under = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", *slow]
    served = Server(store, "--unix", sock, under=under)
    try:
        client = served.client()
        handle, seq = client.open("log"), next(client.seqs)
        client.send("append", request("append", [handle, 4]) + b"more", seq=seq, flags=NONBLOCKING)
        assert client.reply(seq)[1][0] == 5
        assert client.commit(handle, 2) == []
        assert f"done {client.id} {seq} " in journal.read_text()
    finally:
        served.stop(signal.SIGKILL)


def test_gaps_outlive_a_restart_and_a_truncation_ends_them(tmp_path: Path) -> None:
    store = tmp_path / "store"
    align = {NUMBERS["hint"]["append_align"]: (512).to_bytes(4, "little")}
    with server(tmp_path, "--lease", "0.1") as served:
        client = served.client()
        handle = client.open("log")
        client.append(handle, b"x" * 10)
        client.append(handle, b"y" * 10, hints=align)
        client.ask("release", handle)
        assert served.stop() == 0
        served.process = Server(store, "--unix", str(tmp_path / "s"), "--lease", "0.1").process
        client = served.client()
        handle = client.open("log", WRITE)
        assert gaps_of(client, handle) == [(10, 502)]
        client.ask("setattr", handle, 8, 0, 0, 0, 0, 0, 0, 0, 0)
        assert gaps_of(client, handle) == []
        assert client.append(handle, b"again") == 0
        client.ask("release", handle)
        client.close()
    assert (store / "log").read_bytes() == b"again"


def test_a_file_that_nobody_appends_to_any_more_has_no_journal(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        client = served.client()
        handle = client.open("log")
        for step in range(100):
            client.append(handle, b"%4d" % step)
        journals = served.export / ".fathom-forward/appends"
        assert len(list(journals.iterdir())) == 1
        client.ask("release", handle)
        client.ask("gaps", handle, 0)  # answered behind the journal's end
        assert list(journals.iterdir()) == []


def test_a_journal_that_cannot_be_written_fails_the_append_and_nothing_else(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        client = served.client()
        handle = client.open("log")
        (served.export / ".fathom-forward").write_text("no directory")
        with pytest.raises(Refused, match="append log on server server: Not a directory"):
            client.append(handle, b"record")
        client.write(handle, 0, b"fine")
        other = client.open("other")
        client.ask("setattr", other, 8, 0, 0, 0, 2, 0, 0, 0, 0)
        assert client.size(other) == 2


def test_appends_that_come_after_a_truncation_lie_behind_it(tmp_path: Path) -> None:
    """Their extents are handed out after it, whatever waits: no zeros are left where they would have been."""
    shared = {NUMBERS["hint"]["append_shared"]: b""}
    with server(tmp_path) as served:
        client, other, slow = served.client(), served.client(), served.client()
        handle = client.open("log")
        client.append(handle, b"x" * 1000, hints=shared)
        # a write whose data does not come yet holds the truncation up
        held = request("write", [handle, [(0, 100)]], shared)
        waiting = slow.send("write", held, flags=PULL)
        slow.frame()
        cut = other.send("setattr", request("setattr", [handle, 8, 0, 0, 0, 0, 0, 0, 0, 0], shared))
        other.status()  # answered at once, behind what was sent before it: it has come
        records = [client.send("append", request("append", [handle, 10], shared) + b"%010d" % step)
                   for step in range(5)]  # fmt: skip
        client.status()
        second = other.send(
            "setattr", request("setattr", [handle, 8, 0, 0, 0, 25, 0, 0, 0, 0], shared)
        )
        other.status()
        last = client.send("append", request("append", [handle, 4], shared) + b"last")
        client.status()
        part = Frame(4, OPS["write"], slow.id, waiting, body=pack("Q", [0]) + b"y" * 100)
        slow.socket.sendall(part.encode())
        slow.reply(waiting)
        other.reply(cut)
        assert [client.reply(seq)[1][0] for seq in records] == [0, 10, 20, 30, 40]
        other.reply(second)
        assert client.reply(last)[1][0] == 25
        data = b"".join(b"%010d" % step for step in range(5))[:25] + b"last"
        assert (served.export / "log").read_bytes() == data


def test_no_server_can_be_asked_for_more_than_an_append_may_have(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        client = served.client()
        handle = client.open("log")
        one = handle[:8] + bytes(8) + handle[16:]
        with pytest.raises(Refused):
            a_server(served).ask("reserve", one, 0, 0, 0, [(1, 1, 1 << 62, 0)], [])
        assert client.append(handle, b"still") == 0
