"""Writes with gaps between them, on servers that stripe over slow stores: gaps are read and written back, and nothing
else is seen of it."""

from __future__ import annotations

import errno
import os
import random
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fathom
import pytest

from .client import Client, Refused, server
from .test_striped import stripes

KIB = 1024
SLOW = ("--throttle", "latency=0.0005")
Extents = list[tuple[int, int]]


def strided(pieces: int, length: int, stride: int, first: int = 0) -> Extents:
    return [(first + stride * number, length) for number in range(pieces)]


def put(content: bytearray, extents: Extents, data: bytes) -> None:
    """What a write of a list does."""
    end = max(offset + length for offset, length in extents)
    content.extend(bytes(max(0, end - len(content))))
    at = 0
    for offset, length in extents:
        content[offset : offset + length] = data[at : at + length]
        at += length


def written(client: Client, handle: bytes, content: bytearray, extents: Extents) -> None:
    data = os.urandom(sum(length for _, length in extents))
    assert client.ask("write", handle, extents, data=data)[0] == len(data)
    put(content, extents, data)


def test_a_strided_list_is_few_accesses_and_keeps_what_lies_between(tmp_path: Path) -> None:
    run, stream = tmp_path / "r.fathom", 0x1122334455667788
    with stripes(tmp_path, 2, 64 * KIB, *SLOW, "--record", str(run), "--cache", "0") as servers:
        one = servers.servers[0].client()
        handle, content = one.open("f"), bytearray()
        written(one, handle, content, [(0, 15_000)])
        extents = strided(400, 100, 1000, 7)
        data = os.urandom(40_000)
        one.ask("write", handle, extents, data=data, call=(stream, 1))
        put(content, extents, data)
        assert one.size(handle) == len(content)
        assert one.read(handle, (0, len(content))) == [bytes(content)]
        for served in servers.servers:
            served.process.terminate()
        assert [served.process.wait(60) for served in servers.servers] == [0, 0]
        servers.servers.clear()
    links = (
        "select c.op, l.kind, count(distinct c.id) as calls, sum(l.bytes)::bigint as bytes"
        " from links l join calls c on c.id = l.from_call"
        " where c.layer = 'disk' and c.op in ('pread', 'pwritev')"
        f" and l.to_stream = {stream} group by all order by c.op"
    )
    accesses = [tuple(row.values()) for row in fathom.open(run).sql(links).to_pylist()]
    # one for each stretch of a stripe that came in one part of the data; it was one for each piece
    assert [row[:2] for row in accesses] == [("pread", "serves"), ("pwritev", "carries")]
    assert accesses[0][2] == accesses[1][2] <= 20
    assert accesses[1][3] == len(data)


def test_clients_that_write_into_each_others_gaps_lose_nothing(tmp_path: Path) -> None:
    """Each through a server of its own, so what one writes lies in the gaps of another's list, at the same time."""
    ranks, length = 4, 200
    chosen = random.Random(1)
    with stripes(tmp_path, 3, 16 * KIB, *SLOW) as servers, ThreadPoolExecutor(ranks) as pool:
        clients = [servers.servers[rank % 3].client() for rank in range(ranks)]
        handles = [client.open("f") for client in clients]
        content = bytearray()
        for _ in range(10):
            first, pieces = chosen.randrange(50_000), chosen.randrange(3, 150)
            lists = [
                strided(pieces, length, ranks * length, first + rank * length)
                for rank in range(ranks)
            ]
            data = [os.urandom(pieces * length) for _ in lists]

            def write(rank: int, lists: list[Extents] = lists, data: list[bytes] = data) -> None:
                clients[rank].ask("write", handles[rank], lists[rank], data=data[rank])

            list(pool.map(write, range(ranks)))
            for extents, each in zip(lists, data, strict=True):
                put(content, extents, each)
            assert clients[0].read(handles[0], (0, len(content) + 1)) == [bytes(content)]


def test_what_overlaps_is_written_in_its_order(tmp_path: Path) -> None:
    with stripes(tmp_path, 2, 64 * KIB, *SLOW) as servers:
        client = servers.servers[0].client()
        handle, content = client.open("f"), bytearray()
        written(
            client,
            handle,
            content,
            [*strided(20, 100, 300), (250, 400), (10, 5), *strided(9, 50, 99)],
        )
        assert client.read(handle, (0, len(content))) == [bytes(content)]


def test_of_what_fails_the_exact_range_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    """The store takes no byte beyond 10,000: that of a list, and of the gaps before it, is written all the same."""
    with stripes(tmp_path, 1, 1024 * KIB, *SLOW) as servers:
        client = servers.servers[0].client()
        handle, content = client.open("f"), bytearray()
        written(client, handle, content, [(0, 5_000)])
        pid = servers.servers[0].process.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
        extents = [*strided(10, 100, 1_000), (10_500, 100)]
        data = os.urandom(1_100)
        with pytest.raises(Refused) as refused:
            client.ask("write", handle, extents, data=data)
        assert refused.value.status == errno.EFBIG
        assert (refused.value.offset, refused.value.length) == (10_500, 100)
        put(content, extents[:-1], data[:-100])
        assert client.read(handle, (0, 20_000)) == [bytes(content)]


def test_where_others_may_write_gaps_are_left_alone(tmp_path: Path) -> None:
    """A server alone does not know who else has the directory."""
    with server(tmp_path, *SLOW) as served:
        client = served.client()
        handle, content = client.open("f"), bytearray()
        written(client, handle, content, strided(50, 100, 300))
        assert client.status()["store_writes"] == 50
        assert (served.export / "f").read_bytes() == content
