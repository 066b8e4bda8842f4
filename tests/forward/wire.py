"""The forwarding protocol once more, from docs/forwarding-protocol.md alone: what Rust and C are compared with."""

from __future__ import annotations

import struct
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NUMBERS: dict[str, dict[str, int]] = tomllib.loads((ROOT / "forward/protocol.toml").read_text())
OPS = NUMBERS["op"]
HEADER = struct.Struct("<IBBHIIQQIIQQI")

# Fields of requests and replies, in order. B H I Q q: numbers; h: handle; t: text; e: list of extents; n: list of u64;
# 16, 32: that many bytes; others: lists and records below.
ATTR = "IIIIIQQQQQ" + "qI" * 4
SESSION = "QIIIQIIIIt"
CLAIM = "QQIBIQQ"
REQUEST = {
    "hello": "HH16 32 t", "auth": "32 ", "ping": "", "status": "", "munge": "t", "record": "B",
    "lookup": "hIt", "open": "hIIt", "release": "h", "getattr": "h",
    "setattr": "hIIIIQqIqI", "rename": "hthtI", "link": "hht", "unlink": "ht", "mkdir": "hIt", "mknod": "hIQt",
    "rmdir": "ht", "readdir": "hQI", "symlink": "htt", "readlink": "h", "statfs": "h",
    "read": "he", "write": "he", "append": "hQ", "commit": "hB", "gaps": "hQ",
    "lock": "h" + CLAIM, "unlock": "h" + CLAIM, "locked": "h" + CLAIM, "reserve": "hIQQ[QQQI][QQQQI]",
    "holders": "h" + CLAIM, "awaited": "[QQ]", "call": "htI",
    "seek": "hQB", "allocate": "hIQQ", "getxattr": "ht", "setxattr": "htI", "listxattr": "h", "removexattr": "ht",
}  # fmt: skip
REPLY = {
    "hello": SESSION, "auth": SESSION, "ping": "", "status": "", "munge": SESSION + "t", "record": "Bt",
    "lookup": "h" + ATTR, "open": "h" + ATTR + "B", "release": "", "getattr": ATTR,
    "setattr": ATTR, "rename": "", "link": ATTR, "unlink": "", "mkdir": "h" + ATTR, "mknod": "h" + ATTR, "rmdir": "",
    "readdir": "[QQBt]", "symlink": "h" + ATTR, "readlink": "t", "statfs": "QQQQQQQI",
    "read": "n", "write": "QB", "append": "QB", "commit": "[hQQQI]", "gaps": "[QQQQI]",
    "lock": "", "unlock": "", "locked": CLAIM, "reserve": "Qn",
    "holders": "[QQ]", "awaited": "[h" + CLAIM + "Q]", "call": "",
    "seek": "Q", "allocate": "", "getxattr": "", "setxattr": "", "listxattr": "", "removexattr": "",
}  # fmt: skip
FAILURE = "QQt"


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC = [_crc_of_byte(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), byte by byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _parts(form: str) -> list[str]:
    parts, at = [], 0
    while at < len(form):
        if form[at] == "[":
            end = form.index("]", at) + 1
        elif form[at].isdigit():
            end = form.index(" ", at) + 1
        else:
            end = at + 1
        parts.append(form[at:end].strip())
        at = end
    return parts


def pack(form: str, values: list[Any]) -> bytes:
    """Values as the bytes that the form says."""
    out = b""
    for part, value in zip(_parts(form), values, strict=True):
        if part in "BHIQq":
            out += struct.pack("<" + part, value)
        elif part == "h" or part.isdigit():
            assert len(value) == (32 if part == "h" else int(part))
            out += value
        elif part == "t":
            out += struct.pack("<H", len(value)) + value
        else:
            inner = {"e": "QQ", "n": "Q"}.get(part, part[1:-1])
            out += struct.pack("<I", len(value))
            out += b"".join(pack(inner, list(item)) for item in value)
    return out


def unpack(form: str, data: bytes) -> tuple[list[Any], bytes]:
    """Values of a form, and the bytes after them."""
    values: list[Any] = []
    for part in _parts(form):
        if part in "BHIQq":
            size = struct.calcsize("<" + part)
            values.append(struct.unpack("<" + part, data[:size])[0])
            data = data[size:]
        elif part == "h" or part.isdigit():
            size = 32 if part == "h" else int(part)
            values.append(data[:size])
            data = data[size:]
        elif part == "t":
            size = 2 + struct.unpack("<H", data[:2])[0]
            values.append(data[2:size])
            data = data[size:]
        else:
            inner = {"e": "QQ", "n": "Q"}.get(part, part[1:-1])
            (count,), data = unpack("I", data)
            items = []
            for _ in range(count):
                item, data = unpack(inner, data)
                items.append(tuple(item))
            values.append(items)
    return values, data


def pack_hints(hints: dict[int, bytes]) -> bytes:
    """Hints as they follow the fields."""
    body = b"".join(struct.pack("<HH", key, len(value)) + value for key, value in hints.items())
    return struct.pack("<H", len(hints)) + body


def unpack_hints(data: bytes) -> tuple[dict[int, bytes], bytes]:
    """Hints, and the data after them."""
    (count,), data = unpack("H", data)
    hints = {}
    for _ in range(count):
        (key, length), data = unpack("HH", data)
        hints[key], data = data[:length], data[length:]
    return hints, data


@dataclass
class Frame:
    """A frame: header fields by name, and the body."""

    kind: int
    op: int
    client: int
    seq: int
    flags: int = 0
    deadline: int = 0
    status: int = 0
    call: tuple[int, int] = (0, 0)
    body: bytes = field(default=b"", repr=False)

    def encode(self) -> bytes:
        """The bytes on the wire."""
        crc = crc32c(self.body) if self.flags & NUMBERS["flag"]["body_crc"] else 0
        head = HEADER.pack(
            NUMBERS["frame"]["magic"], 1, self.kind, self.op, self.flags, len(self.body), self.client,
            self.seq, self.deadline, self.status, *self.call, crc,
        )  # fmt: skip
        return head + struct.pack("<I", crc32c(head)) + self.body


def decode_header(data: bytes) -> tuple[Frame, int]:
    """A header's fields and the length of the body that follows."""
    magic, version, kind, op, flags, length, client, seq, deadline, status, *call, _ = (
        HEADER.unpack(data[:60])
    )
    assert (magic, version) == (NUMBERS["frame"]["magic"], 1)
    assert struct.unpack("<I", data[60:64])[0] == crc32c(data[:60])
    return Frame(kind, op, client, seq, flags, deadline, status, (call[0], call[1])), length


def request(op: str, values: list[Any], hints: dict[int, bytes] | None = None) -> bytes:
    """A request's body, without data."""
    return pack(REQUEST[op], values) + pack_hints(hints or {})
