"""What only servers ask one another is closed to clients, and servers with other lists do not work together."""

from __future__ import annotations

import errno
import struct
from pathlib import Path

import pytest

from .client import (
    CREATE,
    READ,
    ROOT_HANDLE,
    WRITE,
    Client,
    Refused,
    Server,
    a_server,
    reserved,
    server,
)
from .test_striped import stripes
from .wire import NUMBERS

FILE = struct.pack("<QQQQ", 1, 0, 5, 6)
RELAYED = NUMBERS["lock"]["relayed"]
CLAIM = [1, 1, RELAYED, 2, 1, 0, 0]
OPS: dict[str, list[object]] = {
    "reserve": [FILE, 0, 0, 0, [(1, 1, 10, 0)], []],
    "holders": [FILE, *CLAIM],
    "awaited": [[(1, 1)]],
    "lock": [FILE, *CLAIM],
    "unlock": [FILE, *CLAIM],
    "locked": [FILE, *CLAIM],
}
SERVERS_ROOT = struct.pack("<QQQQ", 3, 0, 0, 0)
ON_ITS_DIRECTORY: dict[str, list[object]] = {
    "lookup": [SERVERS_ROOT, 0, b""],
    "open": [SERVERS_ROOT, READ | WRITE | CREATE, 0o644, b"x"],
    "mkdir": [SERVERS_ROOT, 0o755, b"x"],
    "unlink": [SERVERS_ROOT, b"x"],
    "rmdir": [SERVERS_ROOT, b"files"],
    "rename": [ROOT_HANDLE, b"x", SERVERS_ROOT, b"x", 0],
    "symlink": [SERVERS_ROOT, b"x", b"y"],
    "readdir": [SERVERS_ROOT, 0, 4096],
    "getattr": [SERVERS_ROOT],
    "statfs": [SERVERS_ROOT],
    "seek": [SERVERS_ROOT, 0, 0],
    "allocate": [SERVERS_ROOT, 0, 0, 4096],
    "getxattr": [SERVERS_ROOT, b"user.a"],
    "setxattr": [SERVERS_ROOT, b"user.a", 0],
    "listxattr": [SERVERS_ROOT],
    "removexattr": [SERVERS_ROOT, b"user.a"],
}


def refused(client: Client, op: str, values: list[object]) -> Refused:
    with pytest.raises(Refused) as refusal:
        client.ask(op, *values)
    return refusal.value


@pytest.mark.parametrize("op", OPS)
def test_a_client_is_refused_what_servers_ask(tmp_path: Path, op: str) -> None:
    with server(tmp_path) as served:
        client = served.client()
        assert refused(client, op, OPS[op]).status == errno.EPERM
        client.ask("ping")
        assert client.append(client.open("log"), b"record") == 0


@pytest.mark.parametrize("op", ON_ITS_DIRECTORY)
def test_a_client_is_refused_the_directory_of_a_server_that_stripes(
    tmp_path: Path, op: str
) -> None:
    with stripes(tmp_path, 2, 64 << 10) as servers:
        client = servers.servers[0].client()
        assert refused(client, op, ON_ITS_DIRECTORY[op]).status == errno.EPERM
        client.write(client.open("f"), 0, b"right")


def test_a_server_before_this_one_may_ask(served: Server) -> None:
    handle = a_server(served).open("log")
    one = handle[:8] + bytes(8) + handle[16:]
    assert reserved(a_server(served), one, [(1, 1, 10, 0)]) == [(0,)]


def test_a_server_with_another_list_is_refused(served: Server) -> None:
    with pytest.raises(Refused, match="another list of servers"):
        a_server(served, b"0" * 64)


def test_servers_that_stripe_by_other_lists_refuse_each_other(tmp_path: Path) -> None:
    places = [tmp_path / f"s{number}" for number in range(2)]
    text = [f"unix:{place}\n" for place in places]
    lists = [tmp_path / f"list{number}" for number in range(2)]
    lists[0].write_text(text[0] + text[1])
    lists[1].write_text(text[1] + text[0])  # which server a stripe is on differs
    started = [
        Server(
            tmp_path / f"store{number}",
            "--unix",
            str(places[number]),
            "--stripe",
            str(lists[number]),
        )
        for number in range(2)
    ]
    try:
        with pytest.raises(Refused, match="another list of servers") as refusal:
            client = started[0].client()
            client.write(client.open("f"), 0, bytes(4 << 20), pull=True)
        assert refusal.value.status == errno.EACCES
    finally:
        assert [one.stop() for one in started] == [0, 0]
