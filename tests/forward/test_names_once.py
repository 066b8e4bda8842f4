"""A change of names that one server does for another is done once, whichever of them is killed."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness.paths import PYTHON

from .client import CREATE, EXCLUSIVE, ROOT_HANDLE, WRITE, Client, Refused
from .test_behind import behind
from .test_preload import PRELOAD
from .test_restarts import found_at, repeat
from .test_striped import stripes
from .wire import request

CHANGES: dict[str, Callable[[bytes], list[Any]]] = {
    "open": lambda _: [ROOT_HANDLE, CREATE | EXCLUSIVE | WRITE, 0o644, b"new"],
    "mkdir": lambda _: [ROOT_HANDLE, 0o755, b"new"],
    "mknod": lambda _: [ROOT_HANDLE, 0o010644, 0, b"new"],
    "symlink": lambda _: [ROOT_HANDLE, b"new", b"there"],
    "link": lambda file: [file, ROOT_HANDLE, b"new"],
    "rename": lambda _: [ROOT_HANDLE, b"f", ROOT_HANDLE, b"new", 0],
    "unlink": lambda _: [ROOT_HANDLE, b"f"],
    "rmdir": lambda _: [ROOT_HANDLE, b"d"],
}
# Of two servers the first has the names, and the second is asked.
KILLED = {"none": [], "that has the names": [0], "that is asked": [1], "both": [0, 1]}
NAMES = """
import os, sys, time
at, source, until = sys.argv[1], sys.argv[2], time.time() + float(sys.argv[3])
wrong, done, number = [], 0, 0

def change(*what):
    global done
    done += 1
    try:
        return what[0](*what[1:])
    except OSError as error:
        wrong.append((number, what[0].__name__, error.errno))

while time.time() < until:
    number += 1
    a, b = f"{at}/a{source}.{number}", f"{at}/b{source}.{number}"
    out = change(os.open, a, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    if out is not None:
        os.close(out)
    change(os.rename, a, b)
    change(os.link, b, a)
    change(os.unlink, a)
    change(os.unlink, b)
    change(os.mkdir, a)
    change(os.rmdir, a)
    change(os.symlink, "x", a)
    change(os.unlink, a)
print(done, wrong)
"""


@contextmanager
def striped(tmp: Path) -> Iterator[Any]:
    with stripes(tmp, 2, 64 << 10) as servers:
        yield servers


@contextmanager
def relayed(tmp: Path) -> Iterator[Any]:
    with behind(tmp, 2) as servers:
        yield servers


@pytest.mark.parametrize("killed", KILLED)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", [striped, relayed])
def test_what_was_done_is_answered_as_it_was(
    tmp_path: Path, way: Callable[[Path], Any], change: str, killed: str
) -> None:
    with way(tmp_path) as servers:
        client = servers.servers[1].client()
        file = client.open("f")
        client.ask("mkdir", ROOT_HANDLE, 0o755, b"d")
        values = CHANGES[change](file)
        seq = client.send(change, request(change, values))
        client.reply(seq)
        for number in KILLED[killed]:
            servers.restart(number)
        hints = found_at(file, b"f") if change == "link" else {}
        other = Client(servers.servers[1].addresses[0], like=client)
        repeat(other, change, request(change, values, hints), seq)
        if change in ("open", "mkdir", "mknod", "symlink", "link"):
            with pytest.raises(Refused) as refused:  # another request is another
                other.ask(change, *values, hints=hints)
            assert refused.value.status == errno.EEXIST


def test_what_was_refused_is_refused_and_what_others_did_since_stays(tmp_path: Path) -> None:
    with striped(tmp_path) as servers:
        first, second = (server.client() for server in servers.servers)
        first.ask("mkdir", ROOT_HANDLE, 0o755, b"d")
        body = request("mkdir", [ROOT_HANDLE, 0o755, b"d"])
        with pytest.raises(Refused):
            second.reply(refused := second.send("mkdir", body))
        removal = request("rmdir", [ROOT_HANDLE, b"d"])
        second.reply(removed := second.send("rmdir", removal))
        first.ask("mkdir", ROOT_HANDLE, 0o700, b"d")
        servers.restart(1)
        other = Client(servers.servers[1].addresses[0], like=second)
        with pytest.raises(Refused) as told:
            repeat(other, "mkdir", body, refused)
        assert told.value.status == errno.EEXIST
        repeat(other, "rmdir", removal, removed)
        assert (servers.store(0) / "d").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("way", [striped, relayed])
def test_a_directory_is_found_again_where_its_server_was_started_anew(
    tmp_path: Path, way: Callable[[Path], Any]
) -> None:
    with way(tmp_path) as servers:
        client = servers.servers[1].client()
        above = client.ask("mkdir", ROOT_HANDLE, 0o755, b"above")[0]
        client.ask("rename", ROOT_HANDLE, b"above", ROOT_HANDLE, b"moved", 0)
        servers.restart(0)
        client.ask("mkdir", above, 0o755, b"d", hints=found_at(above, b"moved"))
        assert (servers.servers[0].export / "moved/d").is_dir()


def test_a_client_cannot_ask_for_another(tmp_path: Path) -> None:
    with striped(tmp_path) as servers:
        first, second = servers.servers[0].client(), servers.servers[0].client()
        seq = next(first.seqs)
        forged = {21: first.id.to_bytes(8, "little") + seq.to_bytes(8, "little")}
        second.ask("mkdir", ROOT_HANDLE, 0o755, b"d", hints=forged)
        with pytest.raises(Refused) as told:
            first.reply(first.send("mkdir", request("mkdir", [ROOT_HANDLE, 0o755, b"d"]), seq=seq))
        assert told.value.status == errno.EEXIST


def names_beside_kills(servers: Any, kills: int, seed: int) -> None:
    """Programs that make, rename, link and remove names which nobody else touches."""
    chance, seconds = random.Random(seed), kills * 0.6 + 4
    environment = {
        **os.environ, "LD_PRELOAD": str(PRELOAD), "FATHOM_FORWARD_PREFIX": "/fwd", "FATHOM_FORWARD_TIMEOUT": "60",
    }  # fmt: skip
    started = []
    servers.servers[0].client().ask("mkdir", ROOT_HANDLE, 0o755, b"below")
    for source in range(4):
        address = servers.servers[source % len(servers.servers)].addresses[0]
        at = "/fwd/below" if source % 4 > 1 else "/fwd"
        words = [PYTHON, "-c", NAMES, at, str(source), str(seconds)]
        environment["FATHOM_FORWARD_SERVERS"] = address
        started.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True))
    time.sleep(1)
    for _ in range(kills):
        time.sleep(chance.uniform(0, 0.6))
        servers.restart(chance.randrange(len(servers.servers)))
    ended = [process.communicate(timeout=180)[0].strip() for process in started]
    assert all(text.endswith(" []") for text in ended), ended


@pytest.mark.parametrize("way", [striped, relayed])
def test_names_beside_kills_of_the_servers(tmp_path: Path, way: Callable[[Path], Any]) -> None:
    with way(tmp_path) as servers:
        names_beside_kills(servers, 6, 1)


@pytest.mark.full
@pytest.mark.parametrize("way", [striped, relayed])
def test_names_beside_many_kills_of_the_servers(tmp_path: Path, way: Callable[[Path], Any]) -> None:
    with way(tmp_path) as servers:
        names_beside_kills(servers, 60, 2)
