"""The protocol's page: holes, space, extended attributes, files without a name; by a client written from it alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .client import Server
from .page_client import (
    ALLOCATE,
    APPEND_SHARED,
    CREATE,
    EXCLUSIVE,
    FOR_READ,
    FOR_WRITE,
    FOUND_AT,
    GETXATTR,
    KEEP_ATIME,
    LINK,
    LISTXATTR,
    NOATIME,
    OPEN,
    READ,
    REMOVEXATTR,
    RETRY,
    ROOT,
    SEEK,
    SETXATTR,
    TMPFILE,
    Client,
    Error,
    numbers,
    records,
    text,
)
from .test_striped import stripes

BLOCK, MIB = 4096, 1 << 20
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO_RANGE = 1, 2, 8, 16


@pytest.fixture
def client(served: Server) -> Client:
    return Client(served.addresses[0])


def status(client: Client, op: int, fields: bytes, data: bytes = b"", **rest: object) -> int:
    """0, or why not."""
    try:
        client.ask(op, fields, data, **rest)
    except Error as error:
        return error.status
    return 0


def value(client: Client, op: int, fields: bytes) -> bytes:
    """The data of a reply that has no fields."""
    body = client.ask(op, fields)
    body.hints()
    return body.data


def test_data_and_holes_are_those_of_the_file(served: Server, client: Client) -> None:
    handle = client.open("f")
    client.write(handle, (0, b"begin"), (MIB, b"end"))
    with (served.export / "f").open("rb") as file:
        for what, whence in ((0, os.SEEK_DATA), (1, os.SEEK_HOLE)):
            for offset in (0, 10, BLOCK, MIB, MIB + 2):
                there = client.ask(SEEK, handle + numbers("QB", offset, what)).number("Q")
                assert there == os.lseek(file.fileno(), offset, whence)
    for offset, what in ((MIB + 3, 0), (1 << 63, 1)):
        assert status(client, SEEK, handle + numbers("QB", offset, what)) == errno.ENXIO


def test_space_is_set_aside_and_given_back(served: Server, client: Client) -> None:
    handle, file = client.open("f"), served.export / "f"
    client.write(handle, (0, b"x" * 3 * BLOCK))
    client.nothing(ALLOCATE, handle + numbers("IQQ", KEEP_SIZE, 0, MIB))
    assert (file.stat().st_size, file.stat().st_blocks * 512 >= MIB) == (3 * BLOCK, True)
    client.nothing(ALLOCATE, handle + numbers("IQQ", PUNCH_HOLE | KEEP_SIZE, BLOCK, BLOCK))
    client.nothing(ALLOCATE, handle + numbers("IQQ", ZERO_RANGE, 0, 1))
    assert file.read_bytes() == b"\0" + b"x" * (BLOCK - 1) + bytes(BLOCK) + b"x" * BLOCK
    for mode in (COLLAPSE, 32, PUNCH_HOLE, 1 << 31):
        shifted = status(client, ALLOCATE, handle + numbers("IQQ", mode, 0, BLOCK))
        assert shifted == errno.EOPNOTSUPP
    assert file.stat().st_size == 3 * BLOCK


def test_what_is_appended_lies_behind_what_is_set_aside(served: Server, client: Client) -> None:
    handle, grows = client.open("log"), numbers("IQQ", 0, 0, 10)
    assert client.append(handle, b"one") == 0
    assert status(client, ALLOCATE, handle + grows) == errno.EBUSY
    client.nothing(ALLOCATE, handle + numbers("IQQ", KEEP_SIZE, 0, MIB))
    assert client.append(handle, b"two") == 3
    client.nothing(ALLOCATE, handle + grows, hints={APPEND_SHARED: b""})
    assert client.append(handle, b"three") == 10
    assert (served.export / "log").read_bytes() == b"onetwo" + bytes(4) + b"three"
    client.nothing(ALLOCATE, handle + grows, hints={APPEND_SHARED: b""})  # never shorter
    assert (served.export / "log").stat().st_size == 15


def test_extended_attributes_are_the_files(served: Server, client: Client) -> None:
    handle, file = client.open("f"), served.export / "f"
    client.ask(SETXATTR, handle + text("user.a") + numbers("I", 0), b"some")
    assert os.getxattr(file, "user.a") == b"some"
    os.setxattr(file, "user.b", b"\0" * 2000)
    assert value(client, GETXATTR, handle + text("user.b")) == b"\0" * 2000
    assert value(client, LISTXATTR, handle).split(b"\0") == [b"user.a", b"user.b", b""]
    client.nothing(REMOVEXATTR, handle + text("user.a"))
    assert os.listxattr(file) == ["user.b"]
    assert status(client, GETXATTR, handle + text("user.a")) == errno.ENODATA
    assert status(client, SETXATTR, handle + text("user.b") + numbers("I", 1), b"") == errno.EEXIST
    long = status(client, SETXATTR, handle + text("user.c") + numbers("I", 0), bytes(65537))
    assert long == errno.E2BIG


def test_after_a_restart_attributes_are_not_changed_twice(
    restarts: Callable[..., Server],
) -> None:
    served = restarts()
    client = Client(served.addresses[0])
    handle = client.open("f")
    os.setxattr(served.export / "f", "user.old", b"1")
    requests = [
        (SETXATTR, handle + text("user.new") + numbers("I", 1), b"value"),
        (REMOVEXATTR, handle + text("user.old"), b""),
    ]
    seqs = [client.send(op, fields, data) for op, fields, data in requests]
    for seq in seqs:
        client.reply(seq)
    served = restarts()
    other = Client(served.addresses[0], like=client)
    for seq, (op, fields, data) in zip(seqs, requests, strict=True):
        hints = {FOUND_AT: handle + b"f"}
        other.send(op, fields, data, seq=seq, flags=RETRY, hints=hints)
        other.reply(seq)
    assert os.listxattr(served.export / "f") == ["user.new"]
    assert status(other, *requests[0]) == errno.EEXIST
    assert status(other, *requests[1]) == errno.ENODATA


def test_a_file_without_a_name_may_get_one(served: Server, client: Client) -> None:
    flags = TMPFILE | FOR_READ | FOR_WRITE
    handle = client.ask(OPEN, ROOT + numbers("II", flags, 0o600) + text("")).take(32)
    client.write(handle, (0, b"text"))
    assert client.getattr(handle).nlink == 0
    client.ask(LINK, handle + ROOT + text("f"))
    assert (served.export / "f").read_bytes() == b"text"
    alone = client.ask(OPEN, ROOT + numbers("II", flags | EXCLUSIVE, 0o600) + text(""))
    assert status(client, LINK, alone.take(32) + ROOT + text("g")) == errno.ENOENT
    two = [client.send(OPEN, ROOT + numbers("II", flags, 0o600) + text("")) for _ in range(2)]
    one, another = (client.reply(seq)[0].take(32) for seq in two)
    assert one != another


def test_a_read_may_leave_the_time_of_reading(served: Server, client: Client) -> None:
    file = served.export / "f"
    handle = client.open("f", CREATE | FOR_READ | FOR_WRITE)
    client.write(handle, (0, b"text"))
    client.open("f", FOR_READ | NOATIME)
    os.utime(file, (1000, 2000))
    client.reply(client.send(READ, handle + records("QQ", [(0, 4)]), hints={KEEP_ATIME: b""}))
    assert file.stat().st_atime == 1000
    client.read(handle, (0, 4))
    assert file.stat().st_atime > 1000


def test_a_server_that_stripes_says_what_it_has_not(tmp_path: Path) -> None:
    with stripes(tmp_path, 2, 64 << 10) as servers:
        client = Client(servers.servers[0].addresses[0])
        handle = client.open("f")
        client.write(handle, (0, b"text"), (MIB, b"end"))
        nameless = ROOT + numbers("II", TMPFILE | FOR_WRITE, 0o600) + text("")
        space = handle + numbers("IQQ", 0, 0, MIB)
        for op, fields in ((ALLOCATE, space), (LISTXATTR, handle), (OPEN, nameless)):
            assert status(client, op, fields) == errno.EOPNOTSUPP
        assert client.ask(SEEK, handle + numbers("QB", 10, 0)).number("Q") == 10
        assert client.ask(SEEK, handle + numbers("QB", 10, 1)).number("Q") == MIB + 3
