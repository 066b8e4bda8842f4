"""The protocol's page, locks and what servers ask each other: by a client that was written from it alone."""

from __future__ import annotations

import errno
import select
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .client import Server, server
from .page_client import (
    AWAITED,
    CLAIM,
    HOLDERS,
    LIST,
    LOCK,
    LOCKED,
    NEEDS_PROOF,
    NONCE,
    PING,
    REFUSED,
    RESERVE,
    ROOT,
    UNLOCK,
    UNLOCKED,
    Claim,
    Client,
    Error,
    numbers,
    records,
)

WAIT, WHOLE, PROCESS, RELAYED, ALL = 1, 2, 4, 8, 16
NONE, SHARED, EXCLUSIVE = 0, 1, 2


def two(served: Server) -> tuple[Client, Client, bytes]:
    first, second = (Client(served.addresses[0]) for _ in range(2))
    return first, second, first.open("f")


def refused(client: Client, op: int, handle: bytes, claim: Claim, **rest: int) -> int:
    with pytest.raises(Error) as error:
        client.claim(op, handle, claim, **rest)
    return error.value.status


def test_ranges_and_whole_locks(served: Server) -> None:
    first, second, handle = two(served)
    first.claim(LOCK, handle, Claim(mode=EXCLUSIVE, start=10, length=20, pid=77))
    first.claim(LOCK, handle, Claim(mode=SHARED, start=15, length=5, pid=77))  # in its place
    assert refused(second, LOCK, handle, Claim(mode=SHARED, start=0, length=11)) == errno.EAGAIN
    second.claim(LOCK, handle, Claim(mode=SHARED, start=15, length=5))
    assert refused(second, LOCK, handle, Claim(mode=EXCLUSIVE, start=15, length=5)) == errno.EAGAIN
    way = second.locked(handle, Claim(mode=EXCLUSIVE, start=0, length=0))
    assert (way.client, way.mode, way.start, way.length, way.pid) == (
        first.id,
        EXCLUSIVE,
        10,
        5,
        77,
    )
    assert second.locked(handle, Claim(mode=EXCLUSIVE, start=30, length=0)).mode == NONE
    assert refused(second, LOCK, handle, Claim(owner=2, mode=EXCLUSIVE, start=15, length=1))
    second.claim(LOCK, handle, Claim(flags=WHOLE, mode=EXCLUSIVE))  # in no range's way
    assert refused(first, LOCK, handle, Claim(flags=WHOLE, mode=SHARED)) == errno.EAGAIN
    second.claim(UNLOCK, handle, Claim(flags=WHOLE, mode=NONE))
    second.claim(UNLOCK, handle, Claim(flags=WHOLE, mode=NONE))  # nothing need be locked
    first.claim(LOCK, handle, Claim(flags=WHOLE, mode=SHARED))
    first.claim(UNLOCK, handle, Claim(mode=NONE))
    second.claim(LOCK, handle, Claim(mode=EXCLUSIVE))
    assert refused(second, LOCK, handle, Claim(start=2**63, mode=EXCLUSIVE)) == errno.EINVAL


def test_a_lock_is_waited_for(served: Server) -> None:
    first, second, handle = two(served)
    first.claim(LOCK, handle, Claim(mode=EXCLUSIVE))
    wanted = Claim(flags=WAIT, mode=EXCLUSIVE)
    assert refused(second, LOCK, handle, wanted, deadline=100) == errno.EAGAIN
    seq = second.send(LOCK, handle + numbers(CLAIM, *wanted))
    assert select.select([second.socket], [], [], 0.2)[0] == []
    first.claim(UNLOCK, handle, Claim(mode=NONE))
    second.reply(seq)
    seq = first.send(LOCK, handle + numbers(CLAIM, *wanted))
    for _ in range(32):
        first.nothing(PING)
    with pytest.raises(Error) as error:  # it would close the window
        first.reply(seq)
    assert error.value.status == errno.EAGAIN


def test_a_circle_of_processes_is_told(served: Server) -> None:
    first, second, handle = two(served)
    first.claim(LOCK, handle, Claim(flags=PROCESS, start=0, length=1))
    second.claim(LOCK, handle, Claim(flags=PROCESS, start=1, length=1))
    wanted = Claim(flags=PROCESS | WAIT, start=1, length=1)
    seq = first.send(LOCK, handle + numbers(CLAIM, *wanted))
    first.nothing(PING)  # it waits by now
    wanted = Claim(flags=PROCESS | WAIT, start=0, length=1)
    assert refused(second, LOCK, handle, wanted) == errno.EDEADLK
    second.claim(UNLOCK, handle, Claim(mode=NONE))
    first.reply(seq)


def test_locks_end_with_who_they_are_for(served: Server) -> None:
    first, second, handle = two(served)
    other = Client(served.addresses[0], like=first)
    second.claim(LOCK, handle, Claim(client=first.id, owner=5, mode=EXCLUSIVE))
    assert UNLOCKED not in Client(served.addresses[0], like=first).hints
    assert refused(second, LOCK, handle, Claim(mode=EXCLUSIVE)) == errno.EAGAIN
    assert (
        refused(second, LOCK, handle, Claim(client=12345, mode=EXCLUSIVE, start=1)) == errno.ENOLCK
    )
    first.socket.close()
    other.socket.close()
    second.claim(LOCK, handle, Claim(flags=WAIT, mode=EXCLUSIVE))
    assert UNLOCKED in Client(served.addresses[0], like=first).hints


def test_what_only_servers_ask(served: Server) -> None:
    first, second, handle = two(served)
    ident = handle[:8] + bytes(8) + handle[16:]
    reserve = ident + numbers("IQQ", 0, 0, 0) + records("QQQI", [(7, 1, 10, 1)]) + records("", [])
    relayed = ident + numbers(CLAIM, *Claim(client=9, flags=RELAYED))
    awaited = records("QQ", [(first.id, 1)])
    for op, fields in ((RESERVE, reserve), (HOLDERS, relayed), (AWAITED, awaited), (LOCK, relayed)):
        with pytest.raises(Error) as error:
            first.ask(op, fields)
        assert error.value.status == errno.EPERM
    with pytest.raises(Error) as error:
        Client(served.addresses[0], hints={LIST: b"0" * 64})
    assert error.value.status == REFUSED
    peer = Client(served.addresses[0], hints={LIST: b""})
    nowhere = [(2**64 - 1,)]
    answer = peer.ask(RESERVE, reserve)
    stamp = answer.number("Q")
    assert answer.records("Q") == nowhere  # asked for with another stamp

    def ask(
        flags: int, size: int, *wanted: Sequence[int], gaps: Sequence[Sequence[int]] = ()
    ) -> Any:
        """The offsets, with the stamp."""
        fields = ident + numbers("IQQ", flags, size, stamp) + records("QQQI", wanted)
        answer = peer.ask(RESERVE, fields + records("QQQQI", gaps))
        return answer.number("Q"), answer.records("Q")

    assert ask(0, 0, (7, 1, 10, 1)) == (stamp, [(0,)])
    assert ask(0, 0, (7, 1, 10, 1)) == (stamp, [(0,)])  # the same
    assert ask(0, 0, (7, 2, 5, 8), gaps=[(4, 6, 7, 1, 5)]) == (stamp, [(16,)])
    assert ask(8, 0, (7, 1, 10, 1), gaps=[(0, 0, 7, 2, 0)]) == (stamp, nowhere)
    gaps = [(4, 6, 7, 1, 5), (10, 6, 0, 0, 0)]
    assert first.gaps(handle) == gaps
    assert ask(16, 0, (7, 2, 5, 8)) == (stamp, nowhere)
    assert first.gaps(handle)[:2] == gaps
    assert ask(1 | 2, 12, (7, 3, 0, 1)) == (stamp, nowhere)  # the first one's extent is out
    # what waits for the truncation
    assert ask(0, 0, (7, 4, 5, 1), gaps=[(0, 0, 7, 1, 0)]) == (stamp, nowhere)
    assert ask(1 | 2, 12, (7, 3, 0, 1)) == (stamp, [(0,)])
    assert ask(0, 0, (7, 1, 10, 1)) == (stamp, nowhere)
    assert first.gaps(handle)[:2] == gaps
    assert ask(1 | 32, 12, (7, 3, 0, 1)) == (stamp + 1, [(0,)])
    assert ask(1 | 32, 12, (7, 3, 0, 1)) == (stamp + 1, nowhere)
    stamp += 1
    assert ask(0, 12, (7, 4, 5, 1)) == (stamp, [(12,)])
    assert first.gaps(handle) == [(4, 6, 7, 1, 5), (10, 2, 0, 0, 0)]
    peer.nothing(LOCK, relayed)
    assert refused(second, LOCK, handle, Claim()) == errno.EAGAIN
    waiting = first.send(LOCK, handle + numbers(CLAIM, *Claim(flags=WAIT | PROCESS)))
    first.nothing(PING)
    fields = ident + numbers(CLAIM, *Claim(client=first.id, flags=RELAYED))
    first_owner = (first.id, 1)
    assert peer.ask(HOLDERS, fields).records("QQ") == [(9, 1)]
    body = peer.ask(AWAITED, awaited)
    assert body.number("I") == 1
    assert body.take(32)[16:] == handle[16:]
    claim = Claim(*body.numbers(CLAIM))
    assert ((claim.client, claim.owner), body.number("Q")) == (first_owner, waiting)
    peer.nothing(UNLOCK, ident + numbers(CLAIM, *Claim(client=9, flags=RELAYED | ALL, mode=NONE)))
    first.reply(waiting)
    body = peer.ask(LOCKED, ident + numbers(CLAIM, *Claim(client=9, flags=RELAYED)))
    assert Claim(*body.numbers(CLAIM)).client == first.id


def test_on_tcp_both_sides_prove_the_token(tmp_path: Path, token: Path) -> None:
    secret = token.read_bytes()
    with server(tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token)) as served:
        place = served.addresses[1]
        client = Client(place, token=secret)
        client.write(client.open("f"), (0, b"over TCP"))
        assert (served.export / "f").read_bytes() == b"over TCP"
        with pytest.raises(Error) as error:
            Client(place, token=secret + b"x")
        assert error.value.status == REFUSED
        mute = Client(place, greet=False)
        with pytest.raises(Error) as error:
            mute.reply(mute.send(PING))
        assert error.value.status == NEEDS_PROOF
        asked = Client(place, greet=False)
        frame = asked.exchange(1, numbers("HH", 1, 1) + bytes(48) + numbers("H", 0), {})
        assert (frame.status, len(Error(frame).hints[NONCE])) == (NEEDS_PROOF, 32)
        with pytest.raises(Error) as error:
            client.ask(6, b"\x01", b"A=B\0\0")  # record: only on a Unix socket
        assert error.value.status == errno.EPERM
        assert client.lookup("")[1] == client.getattr(ROOT)
