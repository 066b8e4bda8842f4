"""The frames of forward/golden/, by name; `python -m forward.golden` in tests/ writes them and what they say."""

from __future__ import annotations

from typing import Any

from .wire import FAILURE, NUMBERS, OPS, REPLY, REQUEST, ROOT, Frame, pack, pack_hints

GOLDEN = ROOT / "forward/golden"
FILE, DIRECTORY = bytes(range(32)), bytes(range(100, 132))
KEY, NONCE = bytes(range(16)), bytes(range(200, 232))
TIMES = [1_700_000_000, 1, 1_700_000_001, 2, 1_700_000_002, 999_999_999, -5, 0]
ATTRIBUTES = [0o100644, 1, 1000, 1001, 4096, 0, 0x801, 1234567, 1 << 40, 8, *TIMES]
SERVER = [0x1122334455667788, 64, 16384, 1 << 20, 64 << 20, 30000, 60000, 0, 1, b"server"]
CREDENTIAL = b"MUNGE:AwQDAAD:"
WANTED = [(7, 8, 5, 1), (7, 9, 6, 512)]

# name: (kind, op, what the header has else, values of the fields, hints, data)
FRAMES: dict[str, tuple[str, str, dict[str, Any], list[Any], dict[int, bytes], bytes]] = {
    "request-hello": ("request", "hello", {"seq": 0}, [1, 1, KEY, NONCE, b"s3d host 4711"], {}, b""),
    "request-auth": ("request", "auth", {"seq": 0}, [NONCE], {}, b""),
    "request-munge": ("request", "munge", {"seq": 0}, [CREDENTIAL], {}, b""),
    "request-ping": ("request", "ping", {"deadline": 250}, [], {}, b""),
    "request-lookup": ("request", "lookup", {}, [bytes(32), 1, b"a/b"], {}, b""),
    "request-open": ("request", "open", {"call": (7, 8)}, [DIRECTORY, 1 | 64, 0o640, b"out.h5"], {}, b""),
    "request-setattr": ("request", "setattr", {}, [FILE, 8 | 16, 0, 0, 0, 4096, 12, 34, 0, 0], {}, b""),
    "request-rename": ("request", "rename", {}, [DIRECTORY, b"a", bytes(32), b"b", 1], {}, b""),
    "request-readdir": ("request", "readdir", {}, [DIRECTORY, 99, 128], {}, b""),
    "request-read": ("request", "read", {}, [FILE, [(0, 10), (1 << 41, 512)]], {}, b""),
    "request-write": ("request", "write", {"flags": 1}, [FILE, [(4, 3), (100, 2)]], {99: b"?"}, b"abcde"),
    "request-write-pull": ("request", "write", {"flags": 4 | 16}, [FILE, [(0, 1 << 20)]], {}, b""),
    "request-append": ("request", "append", {"flags": 2}, [FILE, 5], {4: b"\0\x10\0\0", 3: b""}, b"hello"),
    "request-commit": ("request", "commit", {}, [FILE, 3], {}, b""),
    "request-reserve": ("request", "reserve", {}, [FILE, 1, 4096, 77, WANTED, [(10, 6, 1, 2, 5)]], {}, b""),
    "request-lock": ("request", "lock", {"deadline": 250}, [FILE, 7, 8, 1 | 4, 2, 4711, 4096, 0], {}, b""),
    "request-unlock": ("request", "unlock", {}, [FILE, 0, 8, 0, 0, 0, 0, 1 << 40], {}, b""),
    "request-locked": ("request", "locked", {}, [FILE, 0, 8, 2, 1, 0, 0, 0], {}, b""),
    "request-holders": ("request", "holders", {}, [FILE, 7, 8, 8, 2, 4711, 4096, 0], {}, b""),
    "request-awaited": ("request", "awaited", {}, [[(7, 8), (7, 9)]], {}, b""),
    "request-call": ("request", "call", {"flags": 1}, [FILE, b"crc32", 64], {99: b"?"}, b"0+512"),
    "request-seek": ("request", "seek", {}, [FILE, 4096, 1], {}, b""),
    "request-allocate": ("request", "allocate", {}, [FILE, 1 | 2, 4096, 1 << 20], {3: b""}, b""),
    "request-getxattr": ("request", "getxattr", {}, [FILE, b"user.a"], {}, b""),
    "request-setxattr": ("request", "setxattr", {}, [FILE, b"user.a", 1], {}, b"some"),
    "request-listxattr": ("request", "listxattr", {}, [FILE], {}, b""),
    "request-removexattr": ("request", "removexattr", {}, [FILE, b"user.a"], {}, b""),
    "request-record": ("request", "record", {}, [1], {}, b"FATHOM_RUN=/tmp/r.fathom\0\0"),
    "reply-hello": ("reply", "hello", {"seq": 0}, SERVER, {}, b""),
    "reply-auth": ("reply", "auth", {"seq": 0}, SERVER, {2: NONCE}, b""),
    "reply-munge": ("reply", "munge", {"seq": 0}, [*SERVER, CREDENTIAL], {}, b""),
    "reply-record": ("reply", "record", {}, [1, b"/tmp/r.fathom"], {}, b""),
    "reply-ping": ("reply", "ping", {}, [], {}, b""),
    "reply-open": ("reply", "open", {}, [FILE, *ATTRIBUTES, 1], {}, b""),
    "reply-getattr": ("reply", "getattr", {}, ATTRIBUTES, {}, b""),
    "reply-readdir": ("reply", "readdir", {"flags": 8}, [[(1, 10, 4, b"."), (2, 11, 8, b"x\xff")]], {}, b""),
    "reply-statfs": ("reply", "statfs", {}, [4096, 4096, 100, 50, 40, 10, 5, 255], {}, b""),
    "reply-read": ("reply", "read", {}, [[(3,), (0,)]], {}, b"abc"),
    "reply-write": ("reply", "write", {}, [5, 2], {}, b""),
    "reply-append": ("reply", "append", {}, [1 << 33, 1], {}, b""),
    "reply-commit": ("reply", "commit", {}, [[(FILE, 9, 4096, 512, 28)]], {}, b""),
    "reply-reserve": ("reply", "reserve", {}, [77, [(4096,), (1 << 33,)]], {}, b""),
    "reply-lock": ("reply", "lock", {}, [], {}, b""),
    "reply-locked": ("reply", "locked", {}, [7, 9, 0, 2, 4712, 5, 6], {}, b""),
    "reply-holders": ("reply", "holders", {}, [[(7, 9), (10, 1)]], {}, b""),
    "reply-awaited": ("reply", "awaited", {}, [[(FILE, 7, 9, 8, 1, 4712, 5, 6, 42)]], {}, b""),
    "reply-call": ("reply", "call", {}, [], {}, b"cafe"),
    "reply-seek": ("reply", "seek", {}, [1 << 33], {}, b""),
    "reply-getxattr": ("reply", "getxattr", {}, [], {}, b"some"),
    "reply-listxattr": ("reply", "listxattr", {}, [], {}, b"user.a\0user.b\0"),
    "reply-gaps": ("reply", "gaps", {}, [[(10, 6, 1, 2, 5), (90, 6, 0, 0, 0)]], {}, b""),
}  # fmt: skip


def frames() -> dict[str, bytes]:
    """Each golden frame's bytes, made from the document."""
    frames_ = {}
    for name, (kind, op, head, values, hints, data) in FRAMES.items():
        form = (REQUEST if kind == "request" else REPLY)[op]
        frames_[name] = frame(kind, op, head, pack(form, values) + pack_hints(hints) + data)
    # a failure, and the two kinds that carry data
    what = [1 << 20, 4096, b"write out.h5 on server 0: No space left on device"]
    frames_["reply-failure"] = frame(
        "reply", "write", {"status": 28}, pack(FAILURE, what) + pack_hints({})
    )
    challenge = pack(FAILURE, [0, 0, b"token"]) + pack_hints({1: NONCE})
    frames_["reply-challenge"] = frame("reply", "hello", {"seq": 0, "status": 1001}, challenge)
    challenge = pack(FAILURE, [0, 0, b"token or munge"]) + pack_hints({1: NONCE, 9: b""})
    frames_["reply-challenge-munge"] = frame(
        "reply", "hello", {"seq": 0, "status": 1001}, challenge
    )
    frames_["pull"] = frame("pull", "write", {}, pack("QI", [1 << 20, 65536]))
    frames_["data"] = frame("data", "write", {}, pack("Q", [1 << 20]) + b"0123456789abcdef")
    run = {"flags": NUMBERS["flag"]["compressed"]}
    frames_["data-compressed"] = frame(
        "data", "write", run, pack("QI", [1 << 20, 2000]) + zstd_run(b"a", 2000)
    )
    return frames_


def zstd_run(byte: bytes, length: int) -> bytes:
    """A frame of Zstandard (RFC 8878) that is a byte repeated: one block of type 1, no window, no checksum."""
    head = bytes.fromhex("28b52ffd") + b"\x60" + (length - 256).to_bytes(2, "little")
    return head + (length << 3 | 1 << 1 | 1).to_bytes(3, "little") + byte


def frame(kind: str, op: str, head: dict[str, Any], body: bytes) -> bytes:
    """A frame of the golden client, request 42."""
    head = {"client": 0x0123456789ABCDEF, "seq": 42} | head
    return Frame(NUMBERS["kind"][kind], OPS[op], body=body, **head).encode()


def description() -> str:
    """What the frames say, for who writes them in another language."""
    lines = ["# client 0x0123456789abcdef, seq 42, other header fields 0 if not named"]
    for name, (_, _, head, values, hints, data) in FRAMES.items():
        lines.append(f"{name}: header {head} fields {values} hints {hints} data {data!r}")
    lines.append(
        "reply-failure: write, status 28, offset 1 MiB, length 4096, what as in the bytes, no hints"
    )
    lines.append(
        "reply-challenge: hello, seq 0, status 1001, offset 0, length 0, what 'token', hint 1 = nonce"
    )
    lines.append("reply-challenge-munge: the same, what 'token or munge', then hint 9")
    lines.append("pull: write, at 1 MiB, length 65536")
    lines.append("data: write, at 1 MiB, 16 bytes '0123456789abcdef'")
    lines.append("data-compressed: the same with flag 64, at 1 MiB, 2000 bytes 'a'")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, frame_bytes in frames().items():
        (GOLDEN / f"{name}.frame").write_bytes(frame_bytes)
    (GOLDEN / "frames.txt").write_text(description())
