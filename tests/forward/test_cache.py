"""A store that is slow per access: blocks that a server keeps, and questions that it asks once for many.

Takes some eight seconds.
"""

from __future__ import annotations

import errno
import os
import random
import signal
from pathlib import Path

import pytest

from .client import CREATE, EXCLUSIVE, READ, ROOT_HANDLE, WRITE, Client, Refused, server
from .wire import NUMBERS, REPLY, request, unpack

NONBLOCKING = NUMBERS["flag"]["nonblocking"]
SHARED = {NUMBERS["hint"]["append_shared"]: b""}
SLOW = ("--throttle", "latency=0.001")
MIB = 1 << 20


def stored(tmp_path: Path, name: str, size: int) -> bytes:
    """A file that is in the store before its server is."""
    (tmp_path / "store").mkdir()
    content = random.Random(size).randbytes(size)
    (tmp_path / "store" / name).write_bytes(content)
    os.utime(tmp_path / "store" / name, (1, 1))
    return content


@pytest.mark.parametrize("clients", [1, 4])
def test_small_reads_side_by_side_are_few_accesses(tmp_path: Path, clients: int) -> None:
    size = 3 * MIB - 8192  # nothing is read ahead behind the end
    content = stored(tmp_path, "f", size)
    with server(tmp_path, *SLOW) as served:
        everyone = [served.client() for _ in range(clients)]
        handles = [client.open("f", READ) for client in everyone]
        for turn, at in enumerate(range(0, size, 8192)):  # strided, if there are several
            client, handle = everyone[turn % clients], handles[turn % clients]
            assert client.read(handle, (at, 8192)) == [content[at : at + 8192]]
        counters = everyone[0].status()
    # the first is not known to be one of many, then each block is one
    assert (counters["store_reads"], counters["cache_blocks_read"]) == (4, 3)
    assert (counters["cache_reads"], counters["cache_read_bytes"]) == (382, 382 * 8192)
    assert counters["cache_bytes"] == size


@pytest.mark.parametrize("options", [(), (*SLOW, "--cache", "0")])
def test_nothing_is_kept_of_a_local_store_or_without_room(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    stored(tmp_path, "f", MIB)
    with server(tmp_path, *options) as served:
        client = served.client()
        handle = client.open("f", READ)
        for at in range(0, 100 * 4096, 4096):
            client.read(handle, (at, 4096))
        counters = client.status()
    assert (counters["store_reads"], counters["cache_reads"], counters["cache_bytes"]) == (
        100,
        0,
        0,
    )


def test_an_open_sees_what_something_else_has_written(tmp_path: Path) -> None:
    stored(tmp_path, "f", MIB)
    with server(tmp_path, *SLOW) as served:
        client = served.client()
        handle = client.open("f", READ)
        for at in range(4):
            client.read(handle, (at * 10, 10))
        assert client.status()["cache_bytes"] == MIB
        (served.export / "f").write_bytes(b"y" * MIB)
        handle = client.open("f", READ)
        assert client.read(handle, (20, 10)) == [b"y" * 10]


class Model:
    """What a file must be, and what pipelined requests on it must answer."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.expected: list[tuple[int, bytes | int | None]] = []

    def write(self, client: Client, handle: bytes, at: int, data: bytes, flags: int) -> None:
        body = request("write", [handle, [(at, len(data))]], SHARED) + data
        self.expected.append((client.send("write", body, flags=flags), None))
        self.content.extend(bytes(max(0, at - len(self.content))))
        self.content[at : at + len(data)] = data

    def cut(self, client: Client, handle: bytes, size: int) -> None:
        body = request("setattr", [handle, 8, 0, 0, 0, size, 0, 0, 0, 0], SHARED)
        self.expected.append((client.send("setattr", body), None))
        del self.content[size:]
        self.content.extend(bytes(size - len(self.content)))

    def append(self, client: Client, handle: bytes, data: bytes) -> None:
        body = request("append", [handle, len(data)], SHARED) + data
        self.expected.append((client.send("append", body), len(self.content)))
        self.content.extend(data)

    def read(self, client: Client, handle: bytes, at: int, length: int) -> None:
        seq = client.send("read", request("read", [handle, [(at, length)]]))
        self.expected.append((seq, bytes(self.content[at : at + length])))

    def check(self, client: Client, where: object) -> None:
        """Answers may come in any order."""
        expected = dict(self.expected)
        self.expected.clear()
        while expected:
            frame = client.frame()
            if frame.status:
                raise Refused(frame)
            answer = expected.pop(frame.seq)
            if isinstance(answer, bytes):
                fields, data = unpack(REPLY["read"], frame.body)
                assert (fields[0], data[2:]) == ([(len(answer),)], answer), where
            elif answer is not None:
                assert unpack(REPLY["append"], frame.body)[0][0] == answer, where


@pytest.mark.parametrize("seed", [1, 2])
def test_reads_are_what_was_written_by_whoever_whenever(tmp_path: Path, seed: int) -> None:
    """Batches of requests that are under way together, each of one of three clients."""
    chance, model = random.Random(seed), Model()
    with server(tmp_path, "--throttle", "latency=0.0002", "--cache", str(6 * MIB)) as served:
        everyone = [served.client() for _ in range(3)]
        handles = [client.open("f") for client in everyone]
        everyone[0].write(handles[0], 0, first := chance.randbytes(2 * MIB))
        model.content.extend(first)
        for step in range(500):
            client, handle = chance.choice([*zip(everyone, handles, strict=True)])
            at = chance.randrange(4) * (MIB // 2) + chance.randrange(3000)
            for turn in range(chance.randrange(1, 12)):
                match chance.randrange(30):
                    case 0 | 1:
                        data = chance.randbytes(chance.choice([1, 100, 3000]))
                        flags = chance.choice([0, NONBLOCKING])
                        model.write(client, handle, at + chance.randrange(5000), data, flags)
                    case 2 if chance.random() < 0.2:
                        model.cut(client, handle, at + chance.randrange(MIB))
                    case 3 if chance.random() < 0.3:
                        model.append(client, handle, chance.randbytes(700))
                    case _:
                        model.read(client, handle, at + turn * 500, 500)
                        if at + turn * 500 + 500 > len(model.content):
                            model.check(client, step)  # a later write may move the end before it
            model.check(client, step)
        counters = everyone[0].status()
        assert counters["cache_reads"] > 500, counters
        assert (served.export / "f").read_bytes() == model.content


def test_what_many_ask_at_once_is_asked_of_the_store_twice(tmp_path: Path) -> None:
    """Once for the first, once for all that came meanwhile: the server reads them all before it looks who is done."""
    with server(tmp_path, "--throttle", "latency=0.05") as served:
        everyone = [served.client() for _ in range(20)]
        handle = everyone[0].open("f")
        everyone[0].write(handle, 0, b"12345")
        requests = {
            "open": [ROOT_HANDLE, READ | WRITE | CREATE, 0o644, b"new"],
            "lookup": [ROOT_HANDLE, 0, b"f"],
            "getattr": [handle],
        }
        for op, fields in requests.items():
            before = everyone[0].status()["joined"]
            os.kill(served.process.pid, signal.SIGSTOP)
            seqs = [client.send(op, request(op, fields)) for client in everyone]
            os.kill(served.process.pid, signal.SIGCONT)
            answers = [client.reply(seq)[1] for client, seq in zip(everyone, seqs, strict=True)]
            assert everyone[0].status()["joined"] - before == 18
            if op == "open":
                assert len({answer[0] for answer in answers}) == 1
                assert sorted(answer[-1] for answer in answers) == [0] * 19 + [1]
            else:
                assert {answer[9 if op == "lookup" else 8] for answer in answers} == {5}
        for client in everyone:  # each holds it
            client.ask("release", everyone[0].open("new"))


def test_exclusive_opens_are_not_answered_together(tmp_path: Path) -> None:
    with server(tmp_path, "--throttle", "latency=0.02") as served:
        client = served.client()
        body = request("open", [ROOT_HANDLE, WRITE | CREATE | EXCLUSIVE, 0o644, b"mine"])
        for _ in range(10):
            client.send("open", body)
        statuses = sorted(client.frame().status for _ in range(10))  # in any order
        assert statuses == [0] + [errno.EEXIST] * 9
        assert client.status()["joined"] == 0
