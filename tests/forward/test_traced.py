"""Servers that record themselves: requests, accesses to the store, and the client's calls behind both."""

from __future__ import annotations

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

from .client import READ, WRITE, Server

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
    found = rows(
        run,
        "select layer, op, c.kind, size, file_offset, bytes, f.path from calls c left join files f using (file)"
        " where op in ('write', 'read', 'pwritev', 'pread') order by start",
    )
    path = str(served.export / "f")
    both = {
        (r["layer"], r["op"], r["size"], r["file_offset"], r["bytes"], r["path"]) for r in found
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


def test_what_a_killed_server_had_recorded_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = subprocess.run(
        [paths.FATHOM, "env", "-o", tmp_path / "r"], capture_output=True, text=True, check=True
    )
    for line in made.stdout.splitlines():
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
