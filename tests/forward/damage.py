"""A connection that does harm: it stands between a client and its server, and knows their frames."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .wire import NUMBERS

HEADER = 64
KIND_AT, BODY_AT = 5, 12  # bytes of a frame's header
LATE = 0.005  # seconds


class Damage:
    """What happens to how many of a thousand frames: `drop` and `truncate` end the connection, `delay`, `duplicate`."""

    def __init__(self, permille: Mapping[str, int], seed: int) -> None:
        self.permille, self.chance = permille, random.Random(seed)
        self.done = dict.fromkeys(permille, 0)

    def happens(self, kind: str) -> bool:
        """Now, by chance."""
        hit = self.chance.random() * 1000 < self.permille.get(kind, 0)
        self.done[kind] = self.done.get(kind, 0) + hit
        return hit

    def to(self, frame: bytes) -> tuple[bytes, bool]:
        """What is sent on instead of a frame, and whether the connection lives on."""
        if self.happens("drop"):
            return b"", False
        if self.happens("truncate"):
            return frame[: self.chance.randrange(len(frame))], False
        if self.happens("delay"):
            time.sleep(LATE)
        asks = frame[KIND_AT] == NUMBERS["kind"]["request"]
        return frame * (2 if asks and self.happens("duplicate") else 1), True


def _bytes(source: socket.socket, count: int) -> bytes:
    got = bytearray()
    while len(got) < count:
        some = source.recv(count - len(got))
        if not some:
            raise ConnectionError
        got += some
    return bytes(got)


def _carry(source: socket.socket, sink: socket.socket, damage: Damage) -> None:
    """Frames one way, until the connection ends: then both ways."""
    lives = True
    with suppress(OSError):
        while lives:
            head = _bytes(source, HEADER)
            body = _bytes(source, *struct.unpack_from("<I", head, BODY_AT))
            sent, lives = damage.to(head + body)
            sink.sendall(sent)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _join(client: socket.socket, server: socket.socket, damage: Damage) -> None:
    ways = [(client, server), (server, client)]
    threads = [threading.Thread(target=_carry, args=[*way, damage]) for way in ways]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    client.close()
    server.close()


def _listen(kind: str, place: Path) -> tuple[socket.socket, str]:
    """As the server does, for the same kind of client."""
    if kind == "tcp":
        listener = socket.create_server(("127.0.0.1", 0))
        return listener, "tcp:{}:{}".format(*listener.getsockname())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    return listener, f"unix:{place}"


def _dialer(address: str) -> Callable[[], socket.socket]:
    kind, _, where = address.partition(":")
    host, _, port = where.rpartition(":")

    def dial() -> socket.socket:
        if kind == "tcp":
            return socket.create_connection((host, int(port)))
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(where)
        return connection

    return dial


@contextmanager
def damaged(
    address: str, place: Path, permille: Mapping[str, int], seed: int = 1
) -> Iterator[tuple[str, Damage]]:
    """Where clients connect instead of `address` (at `place`, if that is a Unix socket), and what is done to them."""
    damage, dial = Damage(permille, seed), _dialer(address)
    listener, there = _listen(address.partition(":")[0], place)

    def accept() -> None:
        with suppress(OSError):  # closed
            while True:
                client = listener.accept()[0]
                pair = [client, dial(), damage]
                threading.Thread(target=_join, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield there, damage
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
