"""A forwarding client of a few lines, and servers as processes: what the tests speak with."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .wire import (
    FAILURE,
    NUMBERS,
    OPS,
    REPLY,
    ROOT,
    Frame,
    decode_header,
    pack,
    request,
    unpack,
    unpack_hints,
)

ENGINE = ROOT / "engine/target/release/fathom-engine"
KIND, FLAG, HINT = NUMBERS["kind"], NUMBERS["flag"], NUMBERS["hint"]
ROOT_HANDLE = bytes(32)
CREATE, EXCLUSIVE, TRUNCATE, READ, WRITE = 1, 2, 4, 32, 64


class Refused(Exception):
    """A reply whose status is not 0."""

    def __init__(self, frame: Frame) -> None:
        (self.offset, self.length, what), rest = unpack(FAILURE, frame.body)
        self.status, self.what = frame.status, what.decode()
        self.hints, _ = unpack_hints(rest)
        super().__init__(f"status {self.status}: {self.what} [{self.offset}+{self.length}]")


Answer = TypeVar("Answer")


def eventually(ask: Callable[[], Answer], seconds: float = 60) -> Answer:
    """What it answers, once it is not refused any more."""
    until = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except Refused:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


class Client:
    """One connection of a client; `seq` and id can be another's, to say again what that one said."""

    def __init__(
        self,
        address: str,
        *,
        token: bytes = b"",
        munge: Callable[[bytes], bytes] | None = None,
        like: Client | None = None,
        key: bytes = b"",
        hints: dict[int, bytes] | None = None,
    ) -> None:
        self.id = like.id if like else secrets.randbits(64) | 1
        self.key = key or (like.key if like else secrets.token_bytes(16))
        self.seqs = like.seqs if like else itertools.count(1)
        kind, _, place = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(60)
        self._greet(token, munge, hints)

    def _greet(
        self,
        token: bytes,
        munge: Callable[[bytes], bytes] | None,
        hints: dict[int, bytes] | None,
    ) -> None:
        nonce = secrets.token_bytes(32)
        self.send("hello", request("hello", [1, 1, self.key, nonce, b"test"], hints), seq=0)
        frame = self.frame()
        if frame.status == NUMBERS["status"]["auth"]:
            challenge = Refused(frame)
            challenged = challenge.hints[HINT["nonce"]] + nonce + struct.pack("<Q", self.id)
            if munge:
                assert HINT["munge"] in challenge.hints
                credential = munge(b"fathom-forward client" + challenged)
                self.send("munge", request("munge", [credential]), seq=0)
            else:
                proof = hmac.digest(token, b"fathom-forward client" + challenged, hashlib.sha256)
                self.send("auth", request("auth", [proof]), seq=0)
            frame = self.frame()
            if frame.status == 0 and not munge:
                _, rest = unpack(REPLY["auth"], frame.body)
                shown = unpack_hints(rest)[0][HINT["proof"]]
                mine = hmac.digest(token, b"fathom-forward server" + challenged, hashlib.sha256)
                assert shown == mine
        if frame.status:
            raise Refused(frame)
        op = "munge" if frame.op == OPS["munge"] else "hello"
        session, rest = unpack(REPLY[op], frame.body)
        self.epoch, self.window, self.inline, self.piece = session[:4]
        self.agreed = unpack_hints(rest)[0]
        self.is_locking = HINT["unlocked"] not in self.agreed

    def send(self, op: str, body: bytes, *, seq: int | None = None, **head: Any) -> int:
        """Send a request; its seq."""
        seq = next(self.seqs) if seq is None else seq
        self.socket.sendall(
            Frame(KIND["request"], OPS[op], self.id, seq, body=body, **head).encode()
        )
        return seq

    def frame(self) -> Frame:
        """The next frame."""
        frame, length = decode_header(self._bytes(64))
        frame.body = self._bytes(length)
        return frame

    def _bytes(self, count: int) -> bytes:
        got = bytearray()
        while len(got) < count:
            some = self.socket.recv(count - len(got))
            if not some:
                raise ConnectionError("the server closed the connection")
            got += some
        return bytes(got)

    def reply(self, seq: int, data: bytes = b"") -> tuple[Frame, list[Any], bytes]:
        """The reply to a request, pulls answered meanwhile: frame, fields, data."""
        parts = []
        while True:
            frame = self.frame()
            if frame.kind == KIND["pull"]:
                (at, length), _ = unpack("QI", frame.body)
                body = pack("Q", [at]) + data[at : at + length]
                part = Frame(KIND["data"], frame.op, self.id, frame.seq, body=body)
                self.socket.sendall(part.encode())
            elif frame.kind == KIND["data"]:
                parts.append(frame.body[8:])
            elif frame.seq == seq:
                break
        if frame.status:
            raise Refused(frame)
        op = next(name for name, number in OPS.items() if number == frame.op)
        values, rest = unpack(REPLY[op], frame.body)
        _, rest = unpack_hints(rest)
        return frame, values, b"".join(parts) or rest

    def ask(
        self,
        op: str,
        *values: Any,
        data: bytes | None = None,
        hints: dict[int, bytes] | None = None,
        pull: bool = False,
        **head: Any,
    ) -> list[Any]:
        """A request and its reply's fields; data goes in the body if it may."""
        pull = pull or (data is not None and len(data) > self.inline)
        body = request(op, list(values), hints) + (b"" if pull else data or b"")
        head["flags"] = head.get("flags", 0) | (FLAG["pull"] if pull else 0)
        return self.reply(self.send(op, body, **head), data or b"")[1]

    def open(self, path: str, flags: int = READ | WRITE | CREATE, mode: int = 0o644) -> bytes:
        """A file's handle."""
        handle: bytes = self.ask("open", ROOT_HANDLE, flags, mode, path.encode())[0]
        return handle

    def write(self, handle: bytes, offset: int, data: bytes, **rest: Any) -> int:
        """Level reached."""
        done, level = self.ask("write", handle, [(offset, len(data))], data=data, **rest)
        assert done == len(data)
        return int(level)

    def append(self, handle: bytes, data: bytes, **rest: Any) -> int:
        """Where it is."""
        return int(self.ask("append", handle, len(data), data=data, **rest)[0])

    def read(self, handle: bytes, *extents: tuple[int, int]) -> list[bytes]:
        """Bytes of each extent."""
        seq = self.send("read", request("read", [handle, list(extents)]))
        _, (lengths,), data = self.reply(seq)
        ends = list(itertools.accumulate((length for (length,) in lengths), initial=0))
        return [data[a:b] for a, b in itertools.pairwise(ends)]

    def commit(self, handle: bytes = ROOT_HANDLE, level: int = 3) -> list[tuple[Any, ...]]:
        """Failed ranges."""
        return list(self.ask("commit", handle, level)[0])

    def size(self, handle: bytes) -> int:
        """Of a file."""
        return int(self.ask("getattr", handle)[8])

    def status(self) -> dict[str, Any]:
        """Counters of the server."""
        _, _, data = self.reply(self.send("status", request("status", [])))
        return dict(json.loads(data))

    def close(self) -> None:
        """Without a word."""
        self.socket.close()


class Server:
    """A running server."""

    def __init__(
        self, export: Path, *options: str, log: Path | None = None, under: Sequence[str] = ()
    ) -> None:
        self.log = log or export.parent / "server.log"
        if ":" not in str(export):  # else no directory of this machine
            export.mkdir(exist_ok=True)
        self.export = export
        command = [*under, ENGINE, "forward", export, *options]
        with self.log.open("a") as log_file:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log_file, text=True
            )
        assert self.process.stdout
        self.addresses = self.process.stdout.readline().split()
        assert self.addresses, self.log.read_text()

    def client(self, **rest: Any) -> Client:
        """A new client, on the first address."""
        return Client(self.addresses[0], **rest)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(60)
        assert self.process.stdout
        self.process.stdout.close()
        return status


def a_server(served: Server, digest: bytes = b"") -> Client:
    """A client that says it is another server; `digest`: of its list of servers."""
    return served.client(hints={HINT["list"]: digest})


def reserved(asker: Client, ident: bytes, wanted: list[Any]) -> Any:
    """Offsets that the owner of a file's end gives, asked with the stamp that it says."""
    stamp, _ = asker.ask("reserve", ident, 0, 0, 0, wanted, [])
    return asker.ask("reserve", ident, 0, 0, stamp, wanted, [])[1]


@contextmanager
def server(tmp: Path, *options: str) -> Iterator[Server]:
    """A server of tmp/store on a Unix socket, ended afterwards; it must not have died before."""
    started = Server(tmp / "store", "--unix", str(tmp / "s"), *options)
    try:
        yield started
        assert started.process.poll() is None, started.log.read_text()
    finally:
        if started.process.poll() is None:
            started.stop(signal.SIGKILL)


def resident(process: int) -> int:
    """Bytes of memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
