"""Records that say what they are: what appends lay down, and whether a file is made of them and of declared gaps."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from zlib import crc32

HEAD = struct.Struct("<4sIIII")  # magic, source, step, length, checksum of the rest


def record(source: int, step: int, length: int) -> bytes:
    """A record of at least its head's length."""
    rest = random.Random(source << 32 | step).randbytes(max(length - HEAD.size, 0))
    return HEAD.pack(b"REC.", source, step, HEAD.size + len(rest), crc32(rest)) + rest


def tiles(
    content: bytes, gaps: Iterable[tuple[int, int]], start: int = 0
) -> dict[tuple[int, int], int]:
    """Offsets of the records, by source and step, of which, with the gaps, the file consists from `start` on."""
    offsets: dict[tuple[int, int], int] = {}
    holes, at = dict(gaps), start
    while at < len(content):
        if at in holes:
            at += holes.pop(at)
            continue
        magic, source, step, length, crc = HEAD.unpack_from(content, at)
        assert magic == b"REC.", f"neither a record nor a declared gap at {at}"
        assert crc32(content[at + HEAD.size : at + length]) == crc, f"a torn record at {at}"
        assert (source, step) not in offsets, f"record {source}.{step} is there twice"
        offsets[source, step] = at
        at += length
    return offsets


def check_order(offsets_of: dict[tuple[int, int], int]) -> None:
    """Records of a source lie in the order in which it sent them."""
    for source in {source for source, _ in offsets_of}:
        mine = sorted((step, offset) for (who, step), offset in offsets_of.items() if who == source)
        offsets = [offset for _, offset in mine]
        assert offsets == sorted(offsets), f"source {source} is out of order"
