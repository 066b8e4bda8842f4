"""The protocol's page, Transport and Frame: by a client that was written from it alone."""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress

import pytest

from .client import Server
from .page_client import (
    APPEND,
    BODY_CRC,
    COMPRESS,
    COMPRESSED,
    DATA,
    DROP_IO,
    FORGOTTEN,
    GETATTR,
    HELLO,
    MUNGE,
    NEEDS_PROOF,
    NO_VERSION,
    PING,
    PULL,
    PULLED,
    READ,
    REFUSED,
    REPLY,
    REQUEST,
    RETRY,
    ROOT,
    STATUS,
    UNLOCKED,
    WRITE,
    Body,
    Client,
    Error,
    Frame,
    hints_of,
    numbers,
    records,
    text,
)

KIB = 1024
NO_HINTS = hints_of({})


def client_of(served: Server, **rest: object) -> Client:
    return Client(served.addresses[0], **rest)  # type: ignore[arg-type]


def test_a_session_is_as_it_says(served: Server) -> None:
    client = client_of(served)
    assert client.window == 64
    assert 0 < client.inline <= client.piece <= 1 << 20 <= client.most_data
    assert (client.server, client.servers) == (0, 1)
    assert UNLOCKED in client.hints
    other = client_of(served, like=client)
    assert other.epoch == client.epoch
    client.nothing(PING)
    other.nothing(PING)


WRONG = {
    "magic": {"magic": 1}, "version": {"version": 2}, "kind": {"kind": 9}, "kind 0": {"kind": 0},
    "flag": {"flags": 1 << 20}, "length": {"length": 1_114_113}, "checksum": {"header_crc": 1},
    "client 0": {"client": 0}, "status": {"status": 5}, "seq 0": {"seq": 0}, "seq of hello": {"op": HELLO},
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_header_ends_the_connection(served: Server, what: str) -> None:
    client = client_of(served)
    frame = Frame(REQUEST, PING, client.id, 1, NO_HINTS)
    client.socket.sendall(frame.encode(**WRONG[what]))
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            answer = client.frame()
            assert answer.status == errno.EPROTO
    client_of(served).nothing(PING)


BODIES = {
    "bytes behind the hints": (REQUEST, PING, NO_HINTS + b"x"),
    "fields that are cut off": (REQUEST, GETATTR, bytes(31)),
    "65 hints": (REQUEST, PING, hints_of(dict.fromkeys(range(100, 165), b""))),
    "a hint of 1025 bytes": (REQUEST, PING, hints_of({100: bytes(1025)})),
    "an unknown operation": (REQUEST, 999, NO_HINTS),
    "data that was not pulled": (DATA, WRITE, numbers("Q", 0) + b"x"),
    "a reply": (REPLY, PING, NO_HINTS),
    "a pull": (PULL, WRITE, numbers("QI", 0, 1)),
    "a body of more than 256 KiB": (REQUEST, WRITE, bytes(256 * KIB + 1)),
    "hello once more": (REQUEST, HELLO, numbers("HH", 1, 1) + bytes(48) + text("") + NO_HINTS),
}  # fmt: skip


LIMITS = {
    "a body of more than 256 KiB": "a body of 262145 bytes, the most is 262144",
    "data that was not pulled": "a body of 9 bytes, the most is 0",
}


@pytest.mark.parametrize("what", BODIES)
def test_a_wrong_body_is_answered_with_eproto_and_ends_it(served: Server, what: str) -> None:
    client = client_of(served)
    kind, op, body = BODIES[what]
    seq = 0 if op == HELLO else 1
    with suppress(BrokenPipeError):  # it does not read so much
        client.socket.sendall(Frame(kind, op, client.id, seq, body).encode())
    with pytest.raises(Error) as error:
        client.reply(seq)
    assert error.value.status == errno.EPROTO
    assert error.value.text
    if what in LIMITS:
        assert error.value.text == LIMITS[what]
    with pytest.raises((EOFError, ConnectionError)):
        client.frame()


def test_an_old_seq_and_one_request_too_many_end_it(served: Server) -> None:
    client = client_of(served)
    client.nothing(PING, seq=9)
    client.nothing(PING, seq=9, flags=RETRY)
    client.send(PING, seq=8)
    with pytest.raises(Error) as error:
        client.reply(8)
    assert error.value.status == errno.EPROTO
    client = client_of(served)
    handle = client.open("f")
    for _ in range(64):
        client.send(WRITE, handle + records("QQ", [(0, 1)]), b"x", flags=PULLED)
    client.send(PING)
    while (frame := client.frame()).kind == PULL:
        pass
    assert (frame.status, frame.seq) == (errno.EPROTO, client.seq)


def test_checksums_of_bodies_are_looked_at(served: Server) -> None:
    client = client_of(served)
    frame = Frame(REQUEST, PING, client.id, 1, NO_HINTS, BODY_CRC)
    client.socket.sendall(frame.encode())
    client.reply(1)
    client.seq = 1
    client.socket.sendall(Frame(REQUEST, PING, client.id, 2, NO_HINTS, BODY_CRC).encode(body_crc=7))
    with pytest.raises(Error) as error:
        client.reply(2)
    assert error.value.status == errno.EPROTO


def test_hints_that_nobody_knows_are_passed_over(served: Server) -> None:
    client = client_of(served)
    client.nothing(PING, hints={key: bytes(1024) for key in range(1000, 1064)})
    handle = client.open("f")
    client.write(handle, (0, b"dropped"), hints={DROP_IO: b""})
    assert client.getattr(handle).size == 0


@pytest.mark.parametrize("pulled", [False, True])
def test_data_comes_in_the_body_or_is_pulled_in_order(served: Server, pulled: bool) -> None:
    client = client_of(served)
    handle = client.open("f")
    data = os.urandom(3 * client.piece + 5 if pulled else client.inline)
    assert client.write(handle, (7, data)) == (len(data), 2)
    assert bool(client.pulls) == pulled
    at = 0
    for begin, length in client.pulls:
        assert begin == at
        at += length
    assert at == (len(data) if pulled else 0)
    assert (served.export / "f").read_bytes() == bytes(7) + data
    assert client.read(handle, (7, len(data))) == [data]


def test_compressed_data_is_the_same_data(served: Server) -> None:
    client = client_of(served, hints={COMPRESS: b"\x07\x01"})
    assert client.zstandard
    handle = client.open("f")
    data = os.urandom(1000) * 3000 + b"end"
    assert client.write(handle, (0, data)) == (len(data), 2)
    assert (served.export / "f").read_bytes() == data
    assert client.read(handle, (0, len(data)), (5, 10)) == [data, data[5:15]]
    assert client.read(handle, (0, 4000)) == [data[:4000]]
    came = sum(length for _, length in client.pulls)
    assert came == len(data)


def test_compressed_data_of_another_length_ends_it(served: Server) -> None:
    client = client_of(served, hints={COMPRESS: b"\x01"})
    handle = client.open("f")
    seq = client.send(APPEND, handle + numbers("Q", 30_000), bytes(30_000))
    pull = client.frame()
    assert pull.kind == PULL
    assert client.zstandard
    part = struct.pack("<I", 29_999) + client.zstandard.wrap(bytes(30_000))[4:]
    client.socket.sendall(
        Frame(DATA, APPEND, client.id, seq, numbers("Q", 0) + part, COMPRESSED).encode()
    )
    with pytest.raises((Error, EOFError)):
        client.reply(seq)
    with pytest.raises((EOFError, ConnectionError)):
        client.frame()


def test_before_hello_nothing_else_is_answered(served: Server) -> None:
    for op in (PING, STATUS, READ):
        client = client_of(served, greet=False)
        fields = ROOT + records("QQ", []) if op == READ else b""
        seq = client.send(op, fields)
        with pytest.raises(Error) as error:
            client.reply(seq)
        assert error.value.status == NEEDS_PROOF
        with pytest.raises((EOFError, ConnectionError)):
            client.frame()
    client = client_of(served, greet=False)
    client.socket.sendall(Frame(REQUEST, HELLO, client.id, 0, bytes(8 * KIB + 1)).encode())
    with pytest.raises((EOFError, ConnectionError, Error)):
        client.reply(0)
        client.frame()


def test_another_key_and_another_version_are_refused(served: Server) -> None:
    client = client_of(served)
    thief = client_of(served, greet=False)
    thief.id = client.id
    with pytest.raises(Error) as error:
        thief.greet(b"", {})
    assert error.value.status == REFUSED
    modern = client_of(served, greet=False)
    with pytest.raises(Error) as error:
        modern.greet(b"", {}, (2, 3))
    assert error.value.status == NO_VERSION
    older = client_of(served, greet=False)
    older.greet(b"", {}, (0, 9))
    older.nothing(PING)


def test_a_retry_that_is_too_old_is_not_known(served: Server) -> None:
    client = client_of(served)
    for _ in range(70):
        client.nothing(PING)
    client.seq = 0
    client.send(APPEND, ROOT + numbers("Q", 0), seq=3, flags=RETRY)
    with pytest.raises(Error) as error:
        client.reply(3)
    assert error.value.status == FORGOTTEN


def test_munge_is_refused_where_it_was_not_offered(served: Server) -> None:
    client = client_of(served, greet=False)
    frame = client.exchange(MUNGE, text("x"), {})
    assert frame.status == REFUSED
    assert Body(frame.body).numbers("QQ") == (0, 0)
