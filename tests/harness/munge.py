"""A munged of our own, with a key of its own, on a socket of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def command(at: Path) -> list[str]:
    """What starts it: its files are `munge.*` in that directory."""
    key = at / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    files = {"key": "key-file", "sock": "socket", "pid": "pid-file"}
    files |= {"log": "log-file", "seed": "seed-file"}
    options = [f"--{option}={at}/munge.{name}" for name, option in files.items()]
    return ["munged", "--foreground", "--force", *options]


@contextmanager
def munged(at: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Its socket, and the process."""
    at.mkdir(exist_ok=True)
    socket, log = at / "munge.sock", (at / "munge.out").open("wb")
    process = subprocess.Popen(command(at), stdout=log, stderr=log)
    try:
        end = time.monotonic() + 30
        while not socket.exists():
            assert process.poll() is None and time.monotonic() < end, (at / "munge.out").read_text()
            time.sleep(0.01)
        yield socket, process
    finally:
        process.kill()
        process.wait()
        log.close()
