"""Servers that record themselves: requests, accesses to the store, and the client's calls behind both."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fathom
import pytest
from harness import paths

from .client import READ, ROOT_HANDLE, WRITE, Client, Refused, Server, server
from .wire import NUMBERS, request

#: A client's calls, as a trace would name them: stream and seq.
STREAM = 0x1122334455667788

LINKS = """
    select c.layer, c.op, l.kind, l.to_seq, l.bytes
    from links l join calls c on c.id = l.from_call
    where l.to_stream = 1234605616436508552 order by c.layer, c.op, l.to_seq"""


def rows(run: Path, text: str) -> list[dict[str, Any]]:
    return fathom.open(run).sql(text).to_pylist()


@contextmanager
def recorded(run: Path | None, place: Path, *options: str) -> Iterator[Server]:
    """A server that records itself, without a run into that of its environment; ended afterwards."""
    into = ("--record", str(run)) if run else ()
    served = Server(place / "store", "--unix", str(place / "s"), *into, *options)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.stop()


def called(seq: int) -> dict[str, tuple[int, int]]:
    return {"call": (STREAM, seq)}


def test_a_request_and_its_accesses_are_rows_that_name_the_clients_call(tmp_path: Path) -> None:
    run = tmp_path / "r.fathom"
    with recorded(run, tmp_path) as served:
        client = served.client()
        handle = client.open("f")
        client.write(handle, 100, b"x" * 50, **called(7))
        client.ask("read", handle, [(100, 50)], **called(8))
        client.ask("commit", handle, 3, **called(9))
    accesses = rows(
        run,
        "select layer, op, c.kind, size, file_offset, bytes, f.path from calls c left join files f using (file)"
        " where op in ('write', 'read', 'pwritev', 'pread') order by start",
    )
    path = str(served.export / "f")
    both = {
        (r["layer"], r["op"], r["size"], r["file_offset"], r["bytes"], r["path"]) for r in accesses
    }
    assert both == {
        ("server", "write", 50, 100, 50, path),
        ("disk", "pwritev", 50, 100, 50, path),
        ("server", "read", 50, 100, 50, path),
        ("disk", "pread", 50, 100, 50, path),
    }
    links = [tuple(row.values()) for row in rows(run, LINKS)]
    assert links == [
        ("disk", "fsync", "serves", 9, 0),
        ("disk", "pread", "serves", 8, 50),
        ("disk", "pwritev", "carries", 7, 50),
        ("server", "commit", "serves", 9, 0),
        ("server", "read", "serves", 8, 50),
        ("server", "write", "serves", 7, 50),
    ]


def test_one_write_for_three_clients_is_one_row_with_three_links(tmp_path: Path) -> None:
    run = tmp_path / "r.fathom"
    with recorded(run, tmp_path, "--workers", "1", "--throttle", "latency=1") as served:
        clients = [served.client() for _ in range(4)]
        handle = clients[0].open("f")
        threads = [
            threading.Thread(
                target=client.write,
                args=(handle, 1000 if n == 0 else n * 10, b"y" * 10),
                kwargs=called(n),
            )
            for n, client in enumerate(clients)
        ]
        asked = clients[1].status()["requests"]
        threads[0].start()  # the store is busy with this one: the others wait, and are put together
        while clients[1].status()["requests"] == (asked := asked + 1):  # which counts itself
            time.sleep(0.01)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join()
    written = rows(
        run, "select id, bytes, file_offset from calls where op = 'pwritev' order by start"
    )
    assert [(row["file_offset"], row["bytes"]) for row in written] == [(1000, 10), (10, 30)]
    links = rows(
        run,
        f"select to_seq, bytes, kind from links where from_call = {written[1]['id']} order by to_seq",
    )
    assert [tuple(link.values()) for link in links] == [(n, 10, "carries") for n in (1, 2, 3)]
    waited = rows(
        run,
        "select a.value as queued, c.duration from args a join calls c on c.id = a.call"
        " where c.layer = 'server' and c.op = 'write' and a.name = 'queued' order by c.start",
    )
    assert all(waited[0]["queued"] < row["queued"] < row["duration"] for row in waited[1:])


#: Accesses to the store, with the client's calls that each serves.
SERVED = """
    select c.op, c.file_offset, c.bytes, list(l.to_seq order by l.to_seq) as calls
    from calls c join links l on c.id = l.from_call
    where c.layer = 'disk' and l.kind = 'serves' and l.to_stream = 1234605616436508552
    group by c.id, c.op, c.file_offset, c.bytes, c.start order by c.start"""


def test_an_access_that_answers_many_names_each_call(tmp_path: Path) -> None:
    """What comes while the store is asked for the first is answered by the next access, all of it."""
    run = tmp_path / "r.fathom"
    with recorded(run, tmp_path, "--throttle", "latency=0.05") as served:
        clients = [served.client() for _ in range(6)]
        handle = clients[0].open("f")
        asked = {"lookup": [ROOT_HANDLE, 0, b"f"], "open": [ROOT_HANDLE, READ, 0, b"f"]}
        asked["getattr"] = [handle]
        for turn, (op, fields) in enumerate(asked.items()):
            served.process.send_signal(signal.SIGSTOP)
            seqs = [
                client.send(op, request(op, fields), **called(10 * turn + n))
                for n, client in enumerate(clients)
            ]
            served.process.send_signal(signal.SIGCONT)
            for client, seq in zip(clients, seqs, strict=True):
                client.reply(seq)
    answered = [(row["op"], row["calls"]) for row in rows(run, SERVED)]
    for turn, (op, (first, rest)) in enumerate(
        zip(("stat", "open", "stat"), zip(answered[::2], answered[1::2], strict=True), strict=True)
    ):
        assert (first[0], rest[0]) == (op, op)
        assert (len(first[1]), len(rest[1])) == (1, 5)
        assert sorted(first[1] + rest[1]) == [10 * turn + n for n in range(6)]


def test_a_block_that_is_kept_is_one_access_of_the_call_for_which_it_was_read(
    tmp_path: Path,
) -> None:
    run, size = tmp_path / "r.fathom", 500_000
    (tmp_path / "store").mkdir()
    (tmp_path / "store/f").write_bytes(bytes(size))
    os.utime(tmp_path / "store/f", (1, 1))
    with recorded(run, tmp_path, "--throttle", "latency=0.001") as served:
        client = served.client()
        handle = client.open("f", READ)
        for n in range(10):
            client.ask("read", handle, [(n * 1000, 1000)], **called(n))
    # the first read is not known to be one of many, the second has the block read, the others find their bytes there
    assert [tuple(row.values()) for row in rows(run, SERVED)] == [
        ("pread", 0, 1000, [0]),
        ("pread", 0, size, [1]),
    ]
    own = rows(run, "select count(*) as n from calls where layer = 'server' and op = 'read'")
    assert own == [{"n": 10}]


def test_what_a_killed_server_had_recorded_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_command = subprocess.run(
        [paths.FATHOM, "env", "-o", tmp_path / "r"], capture_output=True, text=True, check=True
    )
    for line in env_command.stdout.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        if name.startswith("FATHOM_"):
            monkeypatch.setenv(name, shlex.split(value)[0])
    with recorded(None, tmp_path) as served:
        client = served.client()
        handle = client.open("f", READ | WRITE | 1)
        for n in range(100):
            client.write(handle, n * 8, b"12345678", **called(n))
        served.process.send_signal(signal.SIGKILL)
        served.process.wait()
    run = tmp_path / "r.fathom"
    assert rows(run, "select count(*) as n from calls where op = 'pwritev'") == [{"n": 100}]
    assert len(rows(run, LINKS)) == 200


def outcome(client: Client, begin: bool, data: bytes = b"") -> tuple[str, str]:
    """What came of asking the server to begin or to end."""
    number, run = client.ask("record", int(begin), data=data)
    (name,) = (name for name, value in NUMBERS["record"].items() if value == number)
    return name, run.decode()


def test_recording_begins_and_ends_while_requests_last(tmp_path: Path) -> None:
    """Of a request that lasts from before the beginning, or beyond the end, its run has no row; its links are right."""
    runs = [tmp_path / f"{n}.fathom" for n in range(2)]
    settings = [f"FATHOM_RUN={run}\0\0".encode() for run in runs]
    with server(tmp_path, "--workers", "1") as served:
        asking, locking = served.client(), [served.client() for _ in range(2)]
        handle = asking.open("f")
        claim = [handle, 0, 1, NUMBERS["lock"]["wait"], 2, 1, 0, 8]
        asking.ask("lock", handle, 0, 1, 0, 2, 1, 0, 8)
        waits = [locking[0].send("lock", request("lock", claim), **called(1))]
        asking.status()  # it has come, and waits for the lock
        assert outcome(asking, True, settings[0]) == ("done", str(runs[0]))
        assert outcome(asking, True, settings[1]) == ("recorded_already", str(runs[0]))
        waits.append(locking[1].send("lock", request("lock", claim), **called(2)))
        asking.write(handle, 0, b"first", **called(3))
        assert outcome(asking, False) == ("done", str(runs[0]))
        assert outcome(asking, False) == ("not_recorded", "")
        asking.write(handle, 0, b"unseen", **called(4))
        assert outcome(asking, True, settings[1]) == ("done", str(runs[1]))
        asking.ask("unlock", handle, 0, 1, 0, 2, 1, 0, 8)
        locking[0].reply(waits[0])
        locking[0].ask("unlock", handle, 0, 1, 0, 2, 1, 0, 8)
        locking[1].reply(waits[1])
        asking.write(handle, 0, b"second", **called(5))
        assert outcome(asking, False) == ("done", str(runs[1]))
    seen = [[tuple(row.values()) for row in rows(run, LINKS)] for run in runs]
    assert seen == [
        [("disk", "pwritev", "carries", n, size), ("server", "write", "serves", n, size)]
        for n, size in ((3, 5), (5, 6))
    ]
    for run in runs:
        assert rows(run, "select op from calls where op = 'lock' or duration < 0") == []


def test_what_recording_does_not_begin_by(tmp_path: Path, token: Path) -> None:
    with recorded(None, tmp_path, "--tcp", "127.0.0.1:0", "--token", str(token)) as served:
        local = served.client()
        assert outcome(local, True, b"") == ("left_out", "")
        assert outcome(local, True, b"FATHOM_RUN=relative\0\0") == ("left_out", "")
        with pytest.raises(Refused) as large:
            outcome(local, True, b"x" * 20000)
        assert large.value.status == errno.EMSGSIZE
        away = Client(served.addresses[1], token=token.read_bytes())
        with pytest.raises(Refused) as refused:
            outcome(away, True, f"FATHOM_RUN={tmp_path}/r.fathom\0\0".encode())
        assert refused.value.status == errno.EPERM
        assert outcome(local, False) == ("not_recorded", "")
    assert not (tmp_path / "r.fathom").exists()
