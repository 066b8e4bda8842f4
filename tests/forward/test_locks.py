"""Locks that a server keeps: against the kernel's own, with clients that wait, end and come back. Few seconds."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import select
import signal
import struct
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from .client import Client, Refused, Server, eventually, server
from .groups import Group, group
from .test_striped import stripes
from .wire import NUMBERS, request

LOCK, MODE, STATUS = NUMBERS["lock"], NUMBERS["mode"], NUMBERS["status"]
NONE, SHARED, EXCLUSIVE = MODE["none"], MODE["shared"], MODE["exclusive"]
WAIT, WHOLE, PROCESS = LOCK["wait"], LOCK["whole"], LOCK["process"]
TOKEN = b"0123456789abcdef" * 4
STEPS = int(os.environ.get("FORWARD_LOCK_STEPS", "1500"))
FLOCK = struct.Struct("hhqqi4x")  # struct flock of x86-64
KINDS = {NONE: fcntl.F_UNLCK, SHARED: fcntl.F_RDLCK, EXCLUSIVE: fcntl.F_WRLCK}


def claim(
    mode: int = EXCLUSIVE, start: int = 0, length: int = 0, *, flags: int = 0, owner: int = 0, of: int = 0
) -> list[int]:  # fmt: skip
    return [of, owner, flags, mode, os.getpid(), start, length]


def code(client: Client, op: str, handle: bytes, fields: list[int], **head: int) -> int:
    """0, or the status with which it was refused."""
    try:
        client.ask(op, handle, *fields, **head)
    except Refused as refused:
        return refused.status
    return 0


def kernel(fd: int, command: int, mode: int, start: int, length: int) -> tuple[int, ...]:
    """What the kernel says of a lock: errno, or the lock as it is left."""
    try:
        lock = FLOCK.pack(KINDS[mode], os.SEEK_SET, start, length, 0)
        return FLOCK.unpack(fcntl.fcntl(fd, command, lock))
    except OSError as error:
        return (error.errno or -1,)


def test_locks_are_those_of_the_kernel(served: Server, tmp_path: Path) -> None:
    """Open files of a local file are owners as clients' numbers are: the same steps get the same answers."""
    chance = random.Random(4)
    clients = [served.client() for _ in range(3)]
    handle = clients[0].open("f")
    owners = [(client, number) for client in clients for number in (5, 6)]
    fds = [os.open(tmp_path / "local", os.O_CREAT | os.O_RDWR) for _ in owners]
    refused = 0
    for step in range(STEPS):
        at = chance.randrange(len(owners))
        (client, owner), fd = owners[at], fds[at]
        mode = chance.choice([NONE, NONE, SHARED, EXCLUSIVE])
        start = chance.choice([chance.randrange(40), chance.randrange(40), 1 << 62])
        length = chance.choice([0, 1, 2, 7, 20])
        fields = claim(mode, start, length, owner=owner)
        if chance.random() < 0.2:
            whole = claim(mode, owner=owner, flags=WHOLE)
            ours = code(client, "lock" if mode else "unlock", handle, whole)
            how = {NONE: fcntl.LOCK_UN, SHARED: fcntl.LOCK_SH, EXCLUSIVE: fcntl.LOCK_EX}[mode]
            try:
                fcntl.flock(fd, how | fcntl.LOCK_NB)
                theirs = 0
            except BlockingIOError:
                theirs = errno.EAGAIN
            assert ours == theirs, step
        elif mode and chance.random() < 0.3:
            theirs_by_server = client.ask("locked", handle, *fields)
            theirs_found = kernel(fd, fcntl.F_OFD_GETLK, mode, start, length)
            assert (theirs_by_server[3] == NONE) == (theirs_found[0] == fcntl.F_UNLCK), step
        else:
            ours = code(client, "lock" if mode else "unlock", handle, fields)
            (*_, last) = kernel(fd, fcntl.F_OFD_SETLK, mode, start, length)
            assert ours == (last if last == errno.EAGAIN else 0), step
            refused += bool(ours)
    assert STEPS / 20 < refused < STEPS / 2


def test_a_lock_that_waits_is_granted_when_it_is_free_and_keeps_nobody_else(served: Server) -> None:
    holder, waiter = served.client(), served.client()
    handle = holder.open("f")
    holder.ask("lock", handle, *claim(EXCLUSIVE, 10, 10))
    seqs = [
        waiter.send("lock", request("lock", [handle, *claim(mode, start, 5, flags=WAIT)]))
        for mode, start in ((SHARED, 8), (EXCLUSIVE, 15))
    ]
    waiter.ask("ping")  # answered though those wait
    assert waiter.ask("locked", handle, *claim(EXCLUSIVE, 0, 0))[3:] == [
        EXCLUSIVE,
        os.getpid(),
        10,
        10,
    ]
    holder.ask("unlock", handle, *claim(NONE, 14, 2))
    holder.ask("unlock", handle, *claim(NONE, 16, 4))
    waiter.reply(seqs[1])
    holder.ask("unlock", handle, *claim(NONE))
    waiter.reply(seqs[0])
    assert code(holder, "lock", handle, claim(SHARED, 0, 13)) == 0
    assert code(holder, "lock", handle, claim(EXCLUSIVE, 12, 1)) == errno.EAGAIN


def test_what_waits_is_answered_at_its_deadline_and_before_the_window_closes(
    served: Server,
) -> None:
    holder, waiter = served.client(), served.client()
    handle = holder.open("f")
    holder.ask("lock", handle, *claim())
    assert code(waiter, "lock", handle, claim(flags=WAIT), deadline=50) == errno.EAGAIN
    seq = waiter.send("lock", request("lock", [handle, *claim(flags=WAIT)]))
    for _ in range(waiter.window // 2):
        waiter.send("ping", request("ping", []))
    with pytest.raises(Refused, match="lock f on server"):
        waiter.reply(seq)


def test_processes_that_wait_for_each_other_are_told(served: Server) -> None:
    one, other = served.client(), served.client()
    handle = one.open("f")
    one.ask("lock", handle, *claim(EXCLUSIVE, 0, 1))
    other.ask("lock", handle, *claim(EXCLUSIVE, 1, 1))
    waits = [handle, *claim(EXCLUSIVE, 1, 1, flags=WAIT | PROCESS)]
    seq = one.send("lock", request("lock", waits))
    circle = claim(EXCLUSIVE, 0, 1, flags=WAIT | PROCESS)
    one.ask("ping")
    assert code(other, "lock", handle, circle) == errno.EDEADLK
    other.ask("unlock", handle, *claim(NONE))
    one.reply(seq)


@pytest.mark.parametrize("how", ["unix", "tcp"])
def test_locks_end_with_their_client_and_who_comes_back_hears_of_it(
    tmp_path: Path, how: str
) -> None:
    token = tmp_path / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o600)
    options = ["--tcp", "127.0.0.1:0", "--token", str(token)] if how == "tcp" else []
    with server(tmp_path, *options) as served:
        address = next(a for a in served.addresses if a.startswith(how))
        ended, other = (Client(address, token=TOKEN) for _ in range(2))
        handle = ended.open("f")
        ended.ask("lock", handle, *claim(EXCLUSIVE, 0, 5))
        assert Client(address, token=TOKEN, like=ended).is_locking
        waits = request("lock", [handle, *claim(SHARED, 4, 1, flags=WAIT)])
        ended.close()
        other.reply(other.send("lock", waits))
        assert not Client(address, token=TOKEN, like=ended).is_locking


def test_a_lock_lives_as_long_as_the_session_that_it_is_of(served: Server) -> None:
    life, child, other = served.client(), served.client(), served.client()
    handle = child.open("f")
    fields = claim(EXCLUSIVE, flags=WHOLE, of=life.id)
    child.ask("lock", handle, *fields)
    child.close()
    assert code(other, "lock", handle, fields) == 0  # the same owner, whoever asks
    assert code(other, "lock", handle, claim(SHARED, flags=WHOLE)) == errno.EAGAIN
    waits = request("lock", [handle, *claim(SHARED, flags=WHOLE | WAIT)])
    seq = other.send("lock", waits)
    life.close()
    other.reply(seq)
    assert code(other, "lock", handle, fields) == errno.ENOLCK  # nobody's any more


def test_what_cannot_be_is_refused(served: Server) -> None:
    client = served.client()
    handle = client.open("f")
    most = (1 << 63) - 1
    for wrong in (
        claim(NONE),
        claim(3),
        claim(start=most + 1),
        claim(start=2, length=most),
        claim(flags=64),
    ):
        assert code(client, "lock", handle, wrong) == errno.EINVAL
    assert code(client, "lock", handle, claim(start=most, length=1)) == 0
    assert code(client, "lock", bytes([1]) * 32, claim()) == errno.ESTALE


def owner_of(servers: Group, handle: bytes) -> int:
    """Number of the server that keeps a file's locks: it alone answers without asking another."""
    ends = [server.client().status()["ends"] for server in servers.servers]
    assert not any(ends)
    servers.servers[0].client().append(handle, b"x")
    return servers.owner()


def test_locks_of_a_group_are_its_owners(tmp_path: Path) -> None:
    with group(tmp_path, 3) as servers:
        clients = [server.client() for server in servers.servers]
        handle, *_ = (client.open("f") for client in clients)
        owner = owner_of(servers, handle)
        one, other = (client for at, client in enumerate(clients) if at != owner)
        one.ask("lock", handle, *claim(EXCLUSIVE, 0, 10))
        for client in (clients[owner], other):
            assert code(client, "lock", handle, claim(SHARED, 9, 1)) == errno.EAGAIN
            assert client.ask("locked", handle, *claim(SHARED))[5:] == [0, 10]
            assert code(client, "lock", handle, claim(flags=WAIT), deadline=50) == errno.EAGAIN
        waits = request("lock", [handle, *claim(EXCLUSIVE, flags=WAIT)])
        seq = other.send("lock", waits)
        one.ask("unlock", handle, *claim(NONE, 0, 10))
        other.reply(seq)
        seq = one.send("lock", waits)
        other.close()  # its server says so to the owner
        one.reply(seq)
        # that server dies, and what it asked for ends with the lease
        servers.restart(clients.index(one))
        clients[owner].reply(clients[owner].send("lock", waits))


def test_a_client_hears_that_the_owner_has_lost_its_lock(tmp_path: Path) -> None:
    with group(tmp_path, 2) as servers:
        clients = [server.client() for server in servers.servers]
        handle, *_ = (client.open("f") for client in clients)
        owner = owner_of(servers, handle)
        holder = clients[1 - owner]
        holder.ask("lock", handle, *claim())
        assert servers.servers[1 - owner].client(like=holder).is_locking
        servers.restart(owner)
        with pytest.raises(ConnectionError):
            holder.frame()  # until its server has found out
        assert not servers.servers[1 - owner].client(like=holder).is_locking


def keeper(servers: Group, handle: bytes) -> int:
    """Number of the server that keeps a file's locks, as the document has it."""
    file = handle[:8] + bytes(8) + handle[16:]
    addresses = [server.addresses[0].encode() for server in servers.servers]
    return max(range(len(addresses)), key=lambda at: sha256(addresses[at] + file).digest())


def kept_by(servers: Group, number: int, stem: str) -> bytes:
    """The handle of a new file whose locks that server keeps; all servers know it."""
    client = servers.servers[0].client()
    names = (f"{stem}.{i}" for i in range(1000))
    name = next(name for name in names if keeper(servers, client.open(name)) == number)
    first, *_ = (server.client().open(name) for server in servers.servers)
    return first


@pytest.mark.parametrize("away", [0, 1])
@pytest.mark.parametrize(("count", "circle"), [(2, 2), (3, 2), (3, 3), (2, 5)])
def test_processes_that_wait_for_each_other_by_way_of_servers_are_told(
    tmp_path: Path, count: int, circle: int, away: int
) -> None:
    """Each has what the one before it wants: kept by that one's own server, or by the next."""
    with group(tmp_path, count) as servers:
        clients = [servers.servers[at % count].client() for at in range(circle)]
        wants = [kept_by(servers, (at + away) % count, f"f{at}") for at in range(circle)]
        for at, client in enumerate(clients):
            client.ask("lock", wants[at - 1], *claim())
        seqs = {}
        for at, client in enumerate(clients):
            waits = request("lock", [wants[at], *claim(flags=WAIT | PROCESS)])
            seqs[client.socket] = at, client.send("lock", waits)
        refused_count = 0
        while seqs:
            ready, _, _ = select.select(list(seqs), [], [], 60)
            assert ready, "they wait for each other"
            at, seq = seqs.pop(ready[0])
            try:
                clients[at].reply(seq)
            except Refused as refused:
                assert refused.status == errno.EDEADLK
                refused_count += 1
            for handle in (wants[at], wants[at - 1]):
                clients[at].ask("unlock", handle, *claim(NONE))
        assert 0 < refused_count < circle


def takes_turns(
    client: Client, handles: list[bytes], seed: int, ordered: bool, codes_so_far: list[int]
) -> None:
    """Locks some of these files, at last all at once, and gives them back: so many times."""
    chance = random.Random(seed)
    for _ in range(12):
        wanted = chance.sample(handles, 2)
        wanted = sorted(wanted, key=handles.index) if ordered else wanted
        while True:
            codes = []
            for handle in wanted:
                codes.append(code(client, "lock", handle, claim(flags=WAIT | PROCESS)))
                if codes[-1]:
                    break
                time.sleep(0.01)
            for handle in wanted:
                client.ask("unlock", handle, *claim(NONE))
            codes_so_far += codes
            if not any(codes):
                break


@pytest.mark.parametrize("ordered", [True, False])
def test_processes_that_take_locks_of_many_servers_go_on(tmp_path: Path, ordered: bool) -> None:
    """In one order nobody is ever refused; in any order nobody waits for ever."""
    with group(tmp_path, 3) as servers:
        clients = [servers.servers[at % 3].client() for at in range(5)]
        opened = [[client.open(f"f{n}") for n in range(4)] for client in clients]
        codes: list[int] = []
        threads = [
            threading.Thread(target=takes_turns, args=[client, handles, at, ordered, codes])
            for at, (client, handles) in enumerate(zip(clients, opened, strict=True))
        ]
        [thread.start() for thread in threads]
        [thread.join(120) for thread in threads]
        assert not any(thread.is_alive() for thread in threads)
        assert set(codes) == {0} if ordered else set(codes) <= {0, errno.EDEADLK}


def test_locks_of_striped_files_hold_whichever_server_is_asked(tmp_path: Path) -> None:
    with stripes(tmp_path, 3, 1 << 16) as servers:
        clients = [server.client() for server in servers.servers]
        for number in range(6):  # owned by this server or that
            path = f"f{number}"
            handle, *_ = (client.open(path) for client in clients)
            holder, *others = clients[number % 3 :] + clients[: number % 3]
            holder.ask("lock", handle, *claim(EXCLUSIVE, 5, 5))
            assert [code(client, "lock", handle, claim(SHARED)) for client in others] == [
                errno.EAGAIN
            ] * 2
            waits = request("lock", [handle, *claim(SHARED, flags=WAIT)])
            seqs = [client.send("lock", waits) for client in others]
            holder.ask("unlock", handle, *claim(NONE))
            for client, seq in zip(others, seqs, strict=True):
                client.reply(seq)
            assert code(holder, "lock", handle, claim()) == errno.EAGAIN


def test_of_several_locks_in_the_way_the_first_in_the_file_is_named(served: Server) -> None:
    """Whoever looks for all of them asks again behind each."""
    holder, other = served.client(), served.client()
    handle = holder.open("f")
    other.open("f")
    holder.ask("lock", handle, *claim(SHARED, 1, 30))
    holder.ask("lock", handle, *claim(EXCLUSIVE, 10, 5))
    assert other.ask("locked", handle, *claim(EXCLUSIVE, 10, 90))[3:] == [
        EXCLUSIVE,
        os.getpid(),
        10,
        5,
    ]
    assert other.ask("locked", handle, *claim(EXCLUSIVE, 0, 0))[5:] == [1, 9]
    assert other.ask("locked", handle, *claim(EXCLUSIVE, 15, 0))[5:] == [15, 16]


def test_locks_of_a_server_that_hangs_end_as_those_of_one_that_died(tmp_path: Path) -> None:
    with group(tmp_path, 2) as servers:
        clients = [server.client() for server in servers.servers]
        handle, *_ = (client.open("f") for client in clients)
        owner = owner_of(servers, handle)
        clients[1 - owner].ask("lock", handle, *claim())
        other = clients[owner]
        assert code(other, "lock", handle, claim()) == errno.EAGAIN
        servers.servers[1 - owner].process.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: other.ask("lock", handle, *claim()))
        finally:
            servers.servers[1 - owner].process.send_signal(signal.SIGCONT)
        with pytest.raises(ConnectionError):
            clients[1 - owner].frame()  # it hears that it has lost them


def test_an_older_request_of_another_connection_does_not_end_a_wait(served: Server) -> None:
    holder, waiter = served.client(), served.client()
    handle = holder.open("f")
    waiter.open("f")
    holder.ask("lock", handle, *claim())
    second = served.client(like=waiter)
    waits = request("lock", [handle, *claim(flags=WAIT)])
    waiter.send("lock", waits, seq=1000, deadline=60_000)
    [holder.ask("ping") for _ in range(2)]  # it waits by now
    second.reply(second.send("ping", request("ping", []), seq=5))
    holder.ask("unlock", handle, *claim(NONE))
    waiter.reply(1000)
