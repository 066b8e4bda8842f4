"""Connections of others on the machine: they keep nobody out, cost little, and say nothing on the owner's terminal."""

import re
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from fathom.webapi.serve.connections import LONGEST_HEAD, SILENCE, STRANGERS
from serve.served import Server, served
from serve.test_confined import LARGE

MOST = 2000  # connections; the server has descriptors for 1024 files


@pytest.fixture
def server(shared_run: Path) -> Iterator[Server]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    with ExitStack() as stack:
        try:
            one = stack.enter_context(served(shared_run))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], MOST + 400), before[1]))
        yield one
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(server: Server) -> socket.socket:
    assert isinstance(server.where, int)
    return socket.create_connection(("127.0.0.1", server.where), timeout=100)


def printed(server: Server) -> list[str]:
    """What it wrote on stderr, when it has ended."""
    server.process.send_signal(signal.SIGINT)
    return server.process.communicate(timeout=100)[1].splitlines()


def is_closed(stranger: socket.socket) -> bool:
    try:
        return stranger.recv(1) == b""
    except ConnectionResetError:
        return True


def test_silent_ones_keep_nobody_out(server: Server) -> None:
    server.enter()
    silent = [connect(server) for _ in range(MOST)]
    assert server.ask("runs")[0] == 200
    assert sum(map(is_closed, silent[: MOST - STRANGERS])) == MOST - STRANGERS
    server.get("/api/v1/runs")
    assert [line for line in printed(server) if not line.startswith("fathom: ")] == []


def test_those_that_come_again_and_again_keep_nobody_out(server: Server) -> None:
    server.enter()
    done = threading.Event()

    def come() -> None:
        while not done.is_set():
            connect(server).close()

    others = [threading.Thread(target=come) for _ in range(4)]
    for one in others:
        one.start()
    try:
        assert [server.ask("runs")[0] for _ in range(20)] == [200] * 20
    finally:
        done.set()
        for one in others:
            one.join()


def test_silence_ends(server: Server) -> None:
    stranger, dripping = connect(server), connect(server)
    dripping.sendall(b"GET / HTTP/1.1\r\nHost: ")
    began = time.monotonic()
    assert is_closed(stranger) and is_closed(dripping)
    assert time.monotonic() - began > SILENCE / 2


@pytest.mark.parametrize("path", ["/", "/api/v1/save"])
def test_no_body_is_read(server: Server, path: str) -> None:
    stranger = connect(server)
    stranger.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000000000\r\n\r\n".encode()
    )
    sent = 0
    with pytest.raises(OSError):  # reset, or a broken pipe
        while sent < 1 << 30:
            sent += stranger.send(b"x" * (1 << 20))
    assert sent < 64 << 20


def test_a_long_head_is_refused(server: Server) -> None:
    stranger = connect(server)
    stranger.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 4 * LONGEST_HEAD)
    assert re.match(rb"HTTP/1.1 400 ", stranger.recv(100))


def test_nothing_is_printed_whatever_is_sent(server: Server) -> None:
    server.enter()
    for request in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x" * 100_000):
        with connect(server) as stranger:
            stranger.sendall(request)
            is_closed(stranger)
    deep = (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 50_000 + b"]" * 50_000, b"\xff")
    for name in ("hints", "archive", "save", "again"):
        for body in deep:
            assert server.get(f"/api/v1/{name}", "POST", body)[0] == 400
    for name in ("lanes", "slowest", "breakdown", "files", "latency"):
        for wrong in ("t=]", "files=]", "lanes=x", "layers=%FF"):
            server.get(f"/api/v1/{name}?run=small&{wrong}")
    mistaken = b'{"name":"a.c","text":"x"}'
    assert server.get("/api/v1/archive", "POST", mistaken)[0] == 400
    wrong = [line for line in printed(server) if not re.match("fathom: (?!view: )", line)]
    assert wrong == []


@pytest.mark.full
def test_its_owner_is_answered_among_strangers_and_the_worst_of_statements(server: Server) -> None:
    """A hundred statements whose values are as large as the machine, beside 2,000 silent connections."""
    server.enter()
    silent = [connect(server) for _ in range(MOST)]
    took, done = [], threading.Event()

    def look() -> None:
        while not done.wait(0.1):
            for screen in ("runs", "overview?run=small", "findings?run=small"):
                began = time.monotonic()
                assert server.ask(screen)[0] == 200
                took.append(time.monotonic() - began)

    with ThreadPoolExecutor() as threads:
        looking = threads.submit(look)
        try:
            for number in range(100):
                statement = quote(LARGE[number % len(LARGE)])
                status, answer = server.ask(f"sql?run=small&q={statement}")
                assert status == 422 and "ask for less" in answer["error"]
        finally:
            done.set()
        looking.result()
    assert len(silent) == MOST and len(took) >= 100
    print(f"{len(took)} answers meanwhile, the longest took {max(took):.2f} s")
