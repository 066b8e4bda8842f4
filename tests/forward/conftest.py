"""What several tests of forwarding begin with."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .client import Server, server


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    """A server of an empty directory, on a Unix socket."""
    with server(tmp_path) as started:
        yield started


@pytest.fixture
def restarts(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Ends the server as said and starts it again; the first call starts one."""
    running: list[Server] = []

    def again(how: signal.Signals = signal.SIGKILL) -> Server:
        if running:
            running.pop().stop(how)
        running.append(Server(tmp_path / "store", "--unix", str(tmp_path / "s")))
        return running[-1]

    yield again
    running.pop().stop(signal.SIGKILL)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with what a server's clients prove."""
    file = tmp_path / "token"
    file.write_text("correct horse" * 3)
    file.chmod(0o600)
    return file
