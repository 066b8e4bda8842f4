"""A real `fathom view` in a process of its own, and requests to it as bytes have it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class OverSocket(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost:8080", timeout=100)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Server:
    """`where`: a port, or a socket's path."""

    def __init__(self, process: subprocess.Popen[str], where: int | str, link: str) -> None:
        self.process, self.where, self.link, self.key = process, where, link, ""

    @property
    def token(self) -> str:
        return self.link.partition("token=")[2]

    def connection(self) -> http.client.HTTPConnection:
        if isinstance(self.where, str):
            return OverSocket(self.where)
        return http.client.HTTPConnection("127.0.0.1", self.where, timeout=100)

    def get(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers, body; with the key, if there is one."""
        given = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connection()
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def enter(self) -> None:
        """Uses the link."""
        status, _, body = self.get(f"/?token={self.token}")
        assert status == 200
        self.key = re.findall(rb"'fathom.key', '([\w-]+)'", body)[0].decode()

    def ask(self, path: str) -> tuple[int, Any]:
        """An answer."""
        status, _, body = self.get(f"/api/v1/{path}")
        return status, json.loads(body)


@contextmanager
def served(*words: str | Path) -> Iterator[Server]:
    """Entered, until the test is done."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fathom", "view", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "DISPLAY": ""},
    )  # fmt: skip
    try:
        assert process.stdout and process.stderr
        link = process.stdout.readline().strip()
        if not link:
            raise AssertionError(process.stderr.read())
        where: int | str = int(re.findall(r":(\d+)/", link)[0])
        if "--socket" in words:
            where = str(words[words.index("--socket") + 1])
        yield Server(process, where, link)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
