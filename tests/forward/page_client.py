"""A client of the forwarding protocol, written from docs/forwarding-protocol.md alone, without any of our own code."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import os
import secrets
import socket
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAGIC = 0x44574646
REQUEST, REPLY, PULL, DATA = 1, 2, 3, 4
BODY_CRC, RETRY, PULLED, MORE, NONBLOCKING, SYNC, COMPRESSED = 1, 2, 4, 8, 16, 32, 64
HELLO, AUTH, PING, STATUS, MUNGE, RECORD = 1, 2, 3, 4, 5, 6
LOOKUP, OPEN, RELEASE, GETATTR, SETATTR, RENAME, LINK = 16, 17, 18, 19, 20, 21, 22
UNLINK, MKDIR, RMDIR, READDIR, SYMLINK, READLINK, STATFS, MKNOD = 23, 24, 25, 26, 27, 28, 29, 30
READ, WRITE, APPEND, COMMIT, GAPS, LOCK, UNLOCK, LOCKED, CALL = 32, 33, 34, 35, 36, 37, 38, 39, 40
SEEK, ALLOCATE, GETXATTR, SETXATTR, LISTXATTR, REMOVEXATTR = 41, 42, 43, 44, 45, 46
RESERVE, HOLDERS, AWAITED = 64, 65, 66
NONCE, PROOF, APPEND_SHARED, APPEND_ALIGN, DROP_IO, COMPRESS = 1, 2, 3, 4, 5, 8
BY_MUNGE, STRIPING = 9, 12
UNLOCKED, FOUND_AT, ENDED, LIST, KEEP_ATIME = 16, 17, 18, 19, 20
NEEDS_PROOF, NO_VERSION, REFUSED, FORGOTTEN, ENDING = 1001, 1002, 1003, 1004, 1005
ACCEPTED, WRITTEN, SYNCED = 1, 2, 3
CREATE, EXCLUSIVE, TRUNCATE, NOFOLLOW, DIRECTORY, FOR_READ, FOR_WRITE = 1, 2, 4, 8, 16, 32, 64
TMPFILE, NOATIME = 128, 256
ROOT = bytes(32)
HEAD = struct.Struct("<IBBHIIQQIIQQI")


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 * (value & 1))
        table.append(value)
    return table


CRC = _crc_table()


def crc32c(data: bytes) -> int:
    """Castagnoli's, as iSCSI has it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = CRC[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def text(words: str | bytes) -> bytes:
    words = words.encode() if isinstance(words, str) else words
    return struct.pack("<H", len(words)) + words


def numbers(form: str, *values: int) -> bytes:
    return struct.pack("<" + form, *values)


def records(form: str, rows: Sequence[Sequence[int]]) -> bytes:
    """How many, then each."""
    return numbers("I", len(rows)) + b"".join(numbers(form, *row) for row in rows)


def hints_of(hints: dict[int, bytes]) -> bytes:
    each = (numbers("HH", key, len(value)) + value for key, value in hints.items())
    return numbers("H", len(hints)) + b"".join(each)


class Body:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        assert count <= len(self.data), "a body that is cut off"
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def number(self, form: str) -> int:
        return int(self.numbers(form)[0])

    def text(self) -> bytes:
        return self.take(self.number("H"))

    def records(self, form: str) -> list[tuple[Any, ...]]:
        return [self.numbers(form) for _ in range(self.number("I"))]

    def hints(self) -> dict[int, bytes]:
        hints = {}
        for _ in range(self.number("H")):
            key, length = self.numbers("HH")
            hints[key] = self.take(length)
        return hints


class Attr(NamedTuple):
    mode: int
    nlink: int
    uid: int
    gid: int
    blksize: int
    rdev: int
    dev: int
    ino: int
    size: int
    blocks: int
    atime: int
    atime_ns: int
    mtime: int
    mtime_ns: int
    ctime: int
    ctime_ns: int
    birth: int
    birth_ns: int


def attr(body: Body) -> Attr:
    return Attr(*body.numbers("IIIIIQQQQQqIqIqIqI"))


class Claim(NamedTuple):
    client: int = 0
    owner: int = 1
    flags: int = 0
    mode: int = 2
    pid: int = 0
    start: int = 0
    length: int = 0


CLAIM = "QQIBIQQ"


@dataclass
class Frame:
    kind: int
    op: int
    client: int
    seq: int
    body: bytes = field(default=b"", repr=False)
    flags: int = 0
    deadline: int = 0
    status: int = 0
    call: tuple[int, int] = (0, 0)

    def encode(self, **other: int) -> bytes:
        """`other`: header fields that shall say something else."""
        crc = crc32c(self.body) if self.flags & BODY_CRC else 0
        fields = {
            "magic": MAGIC, "version": 1, "kind": self.kind, "op": self.op, "flags": self.flags,
            "length": len(self.body), "client": self.client, "seq": self.seq,
            "deadline": self.deadline, "status": self.status, "call_stream": self.call[0],
            "call_seq": self.call[1], "body_crc": crc,
        } | other  # fmt: skip
        header_crc = fields.pop("header_crc", None)
        head = HEAD.pack(*fields.values())
        return head + numbers("I", crc32c(head) if header_crc is None else header_crc) + self.body


class Error(Exception):
    """A reply whose status is not 0."""

    def __init__(self, frame: Frame) -> None:
        body = Body(frame.body)
        self.status = frame.status
        self.offset, self.length = body.numbers("QQ")
        self.text, self.hints = body.text().decode(), body.hints()
        assert not body.data
        super().__init__(f"{self.status}: {self.text}")


class Zstandard:
    """RFC 8878, by the library of the system."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libzstd.so.1")
        for name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
            getattr(self.library, name).restype = ctypes.c_size_t

    def wrap(self, plain: bytes) -> bytes:
        most = self.library.ZSTD_compressBound(ctypes.c_size_t(len(plain)))
        room = ctypes.create_string_buffer(most)
        sizes = ctypes.c_size_t(most), ctypes.c_size_t(len(plain))
        got = self.library.ZSTD_compress(room, sizes[0], plain, sizes[1], 1)
        return numbers("I", len(plain)) + room.raw[:got]

    def unwrap(self, data: bytes) -> bytes:
        (length,) = struct.unpack("<I", data[:4])
        room = ctypes.create_string_buffer(length)
        sizes = ctypes.c_size_t(length), ctypes.c_size_t(len(data) - 4)
        assert self.library.ZSTD_decompress(room, sizes[0], data[4:], sizes[1]) == length
        return room.raw


class Munge:
    """By its commands; `socket`: munged's."""

    def __init__(self, place: str) -> None:
        self.place = place

    def seal(self, payload: bytes) -> bytes:
        return self._run("munge", payload, f"--restrict-uid={os.getuid()}").strip()

    def read(self, credential: bytes) -> bytes:
        return self._run("unmunge", credential, "--metadata=/dev/null")

    def _run(self, command: str, given: bytes, option: str) -> bytes:
        words = [command, f"--socket={self.place}", option]
        return subprocess.run(words, input=given, capture_output=True, check=True).stdout


class Client:
    """A connection; `like`: another one of the same client."""

    def __init__(
        self, address: str, *, token: bytes = b"", like: Client | None = None,
        munge: Munge | None = None, hints: dict[int, bytes] | None = None, greet: bool = True,
    ) -> None:  # fmt: skip
        kind, _, place = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host, int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(60)
        self.id = like.id if like else secrets.randbits(63) + 1
        self.key = like.key if like else secrets.token_bytes(16)
        self.seq = like.seq if like else 0
        self.munge = munge
        self.zstandard: Zstandard | None = None
        self.sent: dict[int, bytes] = {}  # data that may be pulled
        self.pulls: list[tuple[int, int]] = []
        self.others: list[Frame] = []  # that answer another request than the one that is waited for
        if greet:
            self.greet(token, hints or {})

    def greet(
        self, token: bytes, hints: dict[int, bytes], versions: tuple[int, int] = (1, 1)
    ) -> None:
        nonce = secrets.token_bytes(32)
        fields = numbers("HH", *versions) + self.key + nonce + text("page")
        frame = self.exchange(HELLO, fields, hints)
        if frame.status == NEEDS_PROOF:
            challenge = Error(frame).hints[NONCE] + nonce + numbers("Q", self.id)

            def prove(who: bytes) -> bytes:
                said = b"fathom-forward " + who + challenge
                return hmac.digest(token, said, hashlib.sha256)

            if self.munge:
                assert BY_MUNGE in Error(frame).hints
                credential = self.munge.seal(b"fathom-forward client" + challenge)
                frame = self.exchange(MUNGE, text(credential), {})
            else:
                frame = self.exchange(AUTH, prove(b"client"), {})
            if frame.status == 0 and self.munge:
                credential = self._session(Body(frame.body))
                assert self.munge.read(credential) == b"fathom-forward server" + challenge
                return
            if frame.status == 0:
                self._session(Body(frame.body))
                assert self.hints[PROOF] == prove(b"server")
                return
        if frame.status:
            raise Error(frame)
        self._session(Body(frame.body))

    def _session(self, body: Body) -> bytes:
        """What a session is; the credential, if it was shown one."""
        self.epoch, self.window, self.inline, self.piece, self.most_data = body.numbers("QIIIQ")
        self.lease, self.deadline, self.server, self.servers = body.numbers("IIII")
        self.name = body.text()
        credential = body.text() if self.munge else b""
        self.hints = body.hints()
        assert not body.data
        if self.hints.get(COMPRESS) == b"\x01":
            self.zstandard = Zstandard()
        return credential

    def exchange(self, op: int, fields: bytes, hints: dict[int, bytes]) -> Frame:
        """Of the greeting, which has no number."""
        self.socket.sendall(Frame(REQUEST, op, self.id, 0, fields + hints_of(hints)).encode())
        return self.frame()

    def send(
        self, op: int, fields: bytes = b"", data: bytes = b"", *, hints: dict[int, bytes] | None = None,
        flags: int = 0, seq: int = 0, deadline: int = 0,
    ) -> int:  # fmt: skip
        """A request; its number."""
        self.seq = max(self.seq, seq) if seq else self.seq + 1
        seq = seq or self.seq
        body = fields + hints_of(hints or {})
        if op in (WRITE, APPEND) and (len(data) > self.inline or flags & PULLED):
            self.sent[seq] = data
            flags |= PULLED
        else:
            body += data
        self.socket.sendall(Frame(REQUEST, op, self.id, seq, body, flags, deadline).encode())
        return seq

    def frame(self) -> Frame:
        """The next frame of the server."""
        head = self._bytes(64)
        magic, version, kind, op, flags, length, client, seq, deadline, status, *call, crc = (
            HEAD.unpack(head[:60])
        )
        assert (magic, version, deadline, *call) == (MAGIC, 1, 0, 0, 0)
        assert numbers("I", crc32c(head[:60])) == head[60:]
        assert length <= 1_114_112
        assert client == self.id
        frame = Frame(kind, op, client, seq, self._bytes(length), flags, 0, status)
        assert crc == (crc32c(frame.body) if flags & BODY_CRC else 0)
        return frame

    def _bytes(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            some = self.socket.recv(count - len(got))
            if not some:
                raise EOFError("the server closed the connection")
            got += some
        return got

    def serve_pull(self, frame: Frame) -> None:
        """The bytes that it asks for, in a frame."""
        at, length = Body(frame.body).numbers("QI")
        assert length <= self.piece
        self.pulls.append((at, length))
        part, flags = self.sent[frame.seq][at : at + length], 0
        if self.zstandard:
            part, flags = self.zstandard.wrap(part), COMPRESSED
        body = numbers("Q", at) + part
        self.socket.sendall(Frame(DATA, frame.op, self.id, frame.seq, body, flags).encode())

    def reply(self, seq: int) -> tuple[Body, bytes, int]:
        """Fields and hints that are still to be read; the data that came in frames; the flags."""
        parts = b""
        early = [frame for frame in self.others if frame.seq == seq]
        self.others = [frame for frame in self.others if frame.seq != seq]
        while True:
            frame = early.pop(0) if early else self.frame()
            if frame.kind == PULL:
                self.serve_pull(frame)
            elif frame.seq != seq:
                self.others.append(frame)
            elif frame.kind == DATA:
                body = Body(frame.body)
                assert body.number("Q") == len(parts)
                parts += self._plain(body.data, frame.flags)
            else:
                assert frame.kind == REPLY
                self.sent.pop(seq, None)
                if frame.status:
                    raise Error(frame)
                return Body(frame.body), parts, frame.flags

    def _plain(self, data: bytes, flags: int) -> bytes:
        if not flags & COMPRESSED:
            return data
        assert self.zstandard
        return self.zstandard.unwrap(data)

    def ask(self, op: int, fields: bytes = b"", data: bytes = b"", **rest: Any) -> Body:
        """The fields of the reply."""
        return self.reply(self.send(op, fields, data, **rest))[0]

    def nothing(self, op: int, fields: bytes = b"", **rest: Any) -> None:
        """An operation whose reply has no fields."""
        body = self.ask(op, fields, **rest)
        body.hints()
        assert not body.data

    def lookup(self, path: str, flags: int = 0, at: bytes = ROOT) -> tuple[bytes, Attr]:
        body = self.ask(LOOKUP, at + numbers("I", flags) + text(path))
        return body.take(32), attr(body)

    def open(self, path: str, flags: int = CREATE | FOR_READ | FOR_WRITE, **rest: Any) -> bytes:
        body = self.ask(OPEN, ROOT + numbers("II", flags, 0o644) + text(path), **rest)
        self.opened = (body.take(32), attr(body), body.number("B"))
        return self.opened[0]

    def getattr(self, handle: bytes) -> Attr:
        return attr(self.ask(GETATTR, handle))

    def read(self, handle: bytes, *extents: tuple[int, int]) -> list[bytes]:
        body, parts, flags = self.reply(self.send(READ, handle + records("QQ", extents)))
        lengths = [length for (length,) in body.records("Q")]
        body.hints()
        rest = Body(parts or self._plain(body.data, flags))
        assert len(rest.data) == sum(lengths)
        return [rest.take(length) for length in lengths]

    def write(self, handle: bytes, *parts: tuple[int, bytes], **rest: Any) -> tuple[int, int]:
        """Bytes, and the level that was reached."""
        extents = [(at, len(part)) for at, part in parts]
        data = b"".join(part for _, part in parts)
        body = self.ask(WRITE, handle + records("QQ", extents), data, **rest)
        return body.number("Q"), body.number("B")

    def append(self, handle: bytes, data: bytes, **rest: Any) -> int:
        return self.ask(APPEND, handle + numbers("Q", len(data)), data, **rest).number("Q")

    def commit(
        self, handle: bytes = ROOT, level: int = SYNCED
    ) -> list[tuple[bytes, int, int, int, int]]:
        """Handle, seq, offset, length and errno of what failed."""
        rows, flags = [], MORE
        while flags & MORE:
            body, _, flags = self.reply(self.send(COMMIT, handle + numbers("B", level)))
            rows += [(body.take(32), *body.numbers("QQQI")) for _ in range(body.number("I"))]
        return rows

    def gaps(self, handle: bytes, start: int = 0) -> list[tuple[int, ...]]:
        """Offset, length, client, seq and errno."""
        return self.ask(GAPS, handle + numbers("Q", start)).records("QQQQI")

    def readdir(self, handle: bytes, most: int) -> list[tuple[bytes, int, int]]:
        """Name, inode and type of all entries, so many in a reply."""
        entries, cookie, flags = [], 0, MORE
        while flags & MORE:
            body, _, flags = self.reply(self.send(READDIR, handle + numbers("QI", cookie, most)))
            count = body.number("I")
            assert count <= most
            for _ in range(count):
                cookie, inode, kind = body.numbers("QQB")
                entries.append((body.text(), inode, kind))
        return entries

    def claim(self, op: int, handle: bytes, claim: Claim, **rest: Any) -> None:
        self.nothing(op, handle + numbers(CLAIM, *claim), **rest)

    def locked(self, handle: bytes, claim: Claim) -> Claim:
        return Claim(*self.ask(LOCKED, handle + numbers(CLAIM, *claim)).numbers(CLAIM))
