"""An unmodified program, its servers and their disk as one chain: real calls, real servers, IOPro's queries on them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.analysis.own import own
from fathom.catalog.layers import catalog_path
from harness import paths

from .test_command import PRELOAD, forward, up
from .test_ofi import free_port

BLOCKS, BLOCK = 20, 65536
LATENCY = 0.03


def pass_on(source: socket.socket, sink: socket.socket, delay: float) -> None:
    with suppress(OSError):  # an end is gone
        while data := source.recv(1 << 20):
            time.sleep(delay)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def way_to(address: str, delay: float) -> Iterator[str]:
    """A way to a TCP server on which all that is sent lies for `delay` seconds; the address that it begins at."""
    _, host, port = address.split(":")
    begin = socket.create_server(("127.0.0.1", 0))
    with ExitStack() as ends, ThreadPoolExecutor(32) as pool:

        def carry() -> None:
            with suppress(OSError):  # shut down: the end
                while True:
                    client = ends.enter_context(begin.accept()[0])
                    server = ends.enter_context(socket.create_connection((host, int(port))))
                    pool.submit(pass_on, client, server, delay)
                    pool.submit(pass_on, server, client, delay)

        ends.enter_context(begin)
        pool.submit(carry)
        yield f"tcp:127.0.0.1:{begin.getsockname()[1]}"
        begin.shutdown(socket.SHUT_RDWR)


def copied(place: Path, servers: str, delays: Sequence[float] = ()) -> Any:
    """The run of two ranks that write and read, each through a server of its own; `delays`: on the way to each."""
    (place / "x").mkdir()
    (place / "data").write_bytes(os.urandom(BLOCKS * BLOCK))
    (place / "servers.toml").write_text(f"path = '{place}/x'\n{servers}")
    env_command = subprocess.run(
        [paths.FATHOM, "env", "-o", place / "r", "--shell", "json"], capture_output=True, check=True
    )
    environment = {k: v for k, v in json.loads(env_command.stdout).items() if v is not None}
    rings = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    with pytest.MonkeyPatch.context() as patch, ExitStack() as open_ways:
        for name, value in rings.items():
            patch.setenv(name, value)
        clients = up(place, "servers.toml", "--record", "r")
        if delays:
            ends = clients["FATHOM_FORWARD_SERVERS"].split(";")
            ways = [way_to(end, delay) for end, delay in zip(ends, delays, strict=True)]
            clients["FATHOM_FORWARD_SERVERS"] = ";".join(map(open_ways.enter_context, ways))
        for rank in range(2):
            ranked = {"PMI_RANK": str(rank), "PMI_SIZE": "2"}
            preload = {"LD_PRELOAD": f"{environment['LD_PRELOAD']}:{PRELOAD}"}
            copy = ["dd", f"if={place}/data", f"of={place}/x/copy{rank}", f"bs={BLOCK}"]
            subprocess.run(
                [*copy, "status=none"], env=os.environ | clients | ranked | preload, check=True
            )
        assert forward(place, "down").returncode == 0
    return fathom.open(place / "r.fathom")


def slow_servers(run: Any) -> list[dict[str, Any]]:
    rule = findings.read(catalog_path("findings", "slow-server.sql"))
    return findings.Questions(run).rows(rule)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The second server's store is slow."""
    slow = f"name = 'slow'\nthrottle = 'latency={LATENCY}'\n"
    return copied(tmp_path_factory.mktemp("chain"), f"[[server]]\n[[server]]\n{slow}")


def ask(run: Any, text: str) -> dict[str, list[dict[str, Any]]]:
    answer = model.answer(run, language.parse(text), Segment(), 0)
    return {name: table.to_pylist() for name, table in answer.views.items()}


def test_every_write_is_one_request_whose_bytes_one_disk_write_carries(run: Any) -> None:
    writes = run.sql(
        """
        select w.bytes, count(*) filter (l.kind = 'serves' and c.layer = 'server') as requests,
            sum(l.bytes) filter (l.kind = 'carries')::bigint as carried,
            bool_and(c.start >= w.start and c.start + c.duration <= w.start + w.duration) as within
        from calls w join links l on l.to_call = w.id join calls c on c.id = l.from_call
        where w.layer = 'posix' and w.kind = 'write' group by w.id, w.bytes"""
    ).to_pylist()
    assert (
        writes == [{"bytes": BLOCK, "requests": 1, "carried": BLOCK, "within": True}] * 2 * BLOCKS
    )


def test_a_breakdown_goes_down_to_the_disk(run: Any) -> None:
    calls = ask(run, "latency breakdown inclusive")["call"]
    written = [call for call in calls if call["function"] == "write"]
    assert len(written) == 2 * BLOCKS
    for call in written:
        assert call["posix_seconds"] > call["server_seconds"] > call["disk_seconds"] > 0
        assert call["rank"] == 0 or call["disk_seconds"] >= LATENCY
    apart = ask(run, "latency breakdown exclusive [1]")["layer"]
    assert max(apart, key=lambda layer: layer["seconds"])["layer"] == "disk"


def test_the_slow_server_is_named(run: Any) -> None:
    slowest = {call["rank"]: call["server"] for call in ask(run, "latency operation max")["call"]}
    assert sorted(slowest.values()) == [0, 1]
    (row,) = slow_servers(run)
    assert row["server"].endswith("/slow") and slowest[1] == 1
    assert row["why"].startswith("its disk")


@pytest.mark.parametrize("delay", [3 * LATENCY, 0])
def test_a_long_way_to_a_server_is_named(tmp_path: Path, delay: float) -> None:
    """Stores and ways are alike but for the delay: a busy machine makes neither server twice as slow as the other."""
    server = f"[[server]]\nprotocol = 'tcp'\nthrottle = 'latency={LATENCY}'\n"
    ports = [f"port = {free_port()}\n" for _ in range(2)]  # so that they can be a group
    run = copied(tmp_path, f"{server}{ports[0]}{server}{ports[1]}name = 'far'\n", (0, delay))
    slow = slow_servers(run)
    assert [row["server"].split("/")[-1] for row in slow] == (["far"] if delay else [])
    assert all(row["why"].startswith("the network: ") for row in slow)
    waits = run.sql(
        "select a.value / 1e9 as seconds"
        " from args a join links l on l.from_call = a.call join calls c on c.id = l.to_call"
        " where a.name = 'pulled' and c.rank = 1 and c.kind = 'write'"
    )["seconds"].to_pylist()
    assert len(waits) == BLOCKS and min(waits) >= 2 * delay


def test_what_servers_do_is_not_the_programs_own(run: Any) -> None:
    assert not {"server", "disk"} & {row["layer"] for row in own(run).to_pylist()}
