"""What a server was asked by another that has given up: it is not done unseen, and what was done is a gap at once."""

from __future__ import annotations

import errno
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from .client import CREATE, WRITE, Client, Refused, a_server, eventually, reserved, server
from .groups import Group, group
from .wire import NUMBERS, request

GIVEN_UP = NUMBERS["reserve"]["given_up"]
RELAYED = NUMBERS["lock"]["relayed"]
EXCLUSIVE = NUMBERS["mode"]["exclusive"]
NOWHERE = 2**64 - 1
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="no strace")


def gaps_of(client: Client, handle: bytes) -> list[tuple[Any, ...]]:
    return [gap[:5] for gap in client.ask("gaps", handle, 0)[0]]


def claim(owner: int, client: int = 0, flags: int = 0) -> list[int]:
    """Of the first ten bytes."""
    return [client, owner, flags, EXCLUSIVE, 1, 0, 10]


def begun(g: Group) -> tuple[int, Client, bytes]:
    """The owner's number, and a client of the other server that has appended to its file."""
    first = g.servers[0].client()
    first.append(first.open("log"), b"first")
    owner = g.owner()
    client = g.servers[1 - owner].client()
    handle = client.open("log", CREATE | WRITE)
    assert client.append(handle, b"second") == 5
    return owner, client, handle


def test_what_a_stopped_owner_finds_when_it_goes_on_is_not_done_for_nobody(tmp_path: Path) -> None:
    with group(tmp_path, 2, "--patience", "1") as g:
        owner, client, handle = begun(g)
        g.servers[owner].process.send_signal(signal.SIGSTOP)
        with pytest.raises(Refused) as refused:
            client.append(handle, b"in vain")
        assert refused.value.status == errno.ETIMEDOUT
        with pytest.raises(Refused):
            client.ask("lock", handle, *claim(7))
        g.servers[owner].process.send_signal(signal.SIGCONT)
        other = g.servers[owner].client()
        log = other.open("log")
        eventually(lambda: other.ask("lock", log, *claim(8)))
        offset = other.append(log, b"last")
        gaps = [gap[:2] for gap in gaps_of(other, log)]
        assert gaps == ([(11, 7)] if offset > 11 else [])


@needs_strace
def test_what_an_owner_has_done_and_could_tell_nobody_is_a_gap_at_once(tmp_path: Path) -> None:
    """The owner's journal is slower than the other server is patient; its lease is longer: nobody is taken for gone."""
    with group(tmp_path, 2, "--patience", "1", "--lease", "20") as g:
        owner, client, handle = begun(g)
        journal = next((tmp_path / "store/.fathom-forward/appends").iterdir())
        slow = ["-e", "trace=write", "-e", "inject=write:delay_enter=2s", "-P", str(journal)]
        g.servers[owner].stop(signal.SIGTERM)
        g.under = ["strace", "-D", "-f", "-qq", "-o", str(tmp_path / "trace"), *slow]
        g.servers[owner] = g.start(owner)
        with pytest.raises(Refused) as refused:
            client.append(handle, b"in vain")
        assert refused.value.status == errno.ETIMEDOUT
        end, told = time.time() + 20, []
        while not told and time.time() < end:
            time.sleep(0.2)
            told = gaps_of(g.servers[owner].client(), handle)
        assert [gap[:3] + gap[4:] for gap in told] == [(11, 7, client.id, errno.ETIMEDOUT)]


def test_an_owner_is_told_what_nobody_writes(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        client, asker = served.client(), a_server(served)
        handle = client.open("log")
        ident = handle[:8] + bytes(8) + handle[16:]
        wanted = [(7, seq, 10, 1) for seq in (1, 2, 3)]
        assert reserved(asker, ident, wanted) == [(0,), (10,), (20,)]
        done = [(0, 0, 7, 1, 0)]
        told = asker.ask("reserve", ident, GIVEN_UP, 0, 0, wanted[:2] + [(7, 9, 10, 1)], done)[1]
        assert told == [(NOWHERE,)] * 3
        assert gaps_of(client, handle) == [(10, 10, 7, 2, errno.ETIMEDOUT)]
        assert reserved(asker, ident, [(7, 4, 10, 1)]) == [(30,)]


def test_a_request_of_a_server_that_has_closed_its_connection_is_not_begun(tmp_path: Path) -> None:
    with server(tmp_path) as served:
        client, asker = served.client(), a_server(served)
        handle = client.open("log")
        ident = handle[:8] + bytes(8) + handle[16:]
        served.process.send_signal(signal.SIGSTOP)
        asker.send("reserve", request("reserve", [ident, 0, 0, 0, [(7, 1, 10, 1)], []]))
        asker.send("lock", request("lock", [ident, *claim(7, 5, RELAYED)]))
        asker.close()
        served.process.send_signal(signal.SIGCONT)
        client.ask("lock", handle, *claim(8))
        assert client.append(handle, b"x") == 0
