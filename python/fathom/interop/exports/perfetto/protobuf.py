"""Protocol Buffers as bytes: one message at a time from numbers and text, or very many of one form from arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
VARINT, FIXED64, BYTES = 0, 1, 2  # wire types


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """An unsigned or enumerated field."""
    return _varint(field << 3 | VARINT) + _varint(value)


def text(field: int, value: str) -> bytes:
    """A text."""
    return message(field, value.encode("utf-8", "replace"))


def message(field: int, *parts: bytes) -> bytes:
    """A message or bytes, put together of these parts."""
    content = b"".join(parts)
    return _varint(field << 3 | BYTES) + _varint(len(content)) + content


@dataclass(frozen=True)
class Column:
    """A part of as many messages as there are rows: bytes, and how many of them each row has."""

    bytes: Array  # rows x width, u8; or 1 x width, where all have the same
    lengths: Array  # rows, or 1


def varints(values: Array) -> Column:
    """One of each value; of negative ones their 64 bits."""
    values = values.astype(np.uint64)
    width = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
    out = np.empty((len(values), width), np.uint8)
    lengths = np.ones(len(values), np.int64)
    for at in range(width):
        rest = values >> np.uint64(7)
        more = rest > 0
        out[:, at] = (values & np.uint64(0x7F)) | (more.astype(np.uint64) << np.uint64(7))
        lengths += more
        values = rest
    return Column(out, lengths)


def constant(content: bytes) -> Column:
    """The same for each row."""
    return Column(np.frombuffer(content, np.uint8)[None, :], np.array([len(content)]))


def tag(field: int, wire: int = VARINT) -> Column:
    """What stands before a field's value."""
    return constant(_varint(field << 3 | wire))


def numbers(field: int, values: Array) -> list[Column]:
    """A field of whole numbers."""
    return [tag(field), varints(values)]


def doubles(field: int, values: Array) -> list[Column]:
    """A field of 64-bit floats."""
    content = values.astype("<f8").view(np.uint8).reshape(-1, 8)
    return [tag(field, FIXED64), Column(content, np.array([8]))]


def only(rows: Array, columns: list[Column]) -> list[Column]:
    """These columns, in these rows."""
    return [Column(one.bytes, one.lengths * rows) for one in columns]


def messages(field: int, parts: list[Column], more: Array | int = 0) -> list[Column]:
    """A field that is a message of these parts and so many bytes `more`, which somebody adds."""
    lengths = sum((one.lengths for one in parts), start=np.zeros(1, np.int64)) + more
    return [tag(field, BYTES), varints(lengths), *parts]


def rows(columns: list[Column], count: int) -> tuple[bytes, Array]:
    """All rows' bytes, one after the other, and where each ends."""
    width = sum(one.bytes.shape[1] for one in columns)
    content = np.empty((count, width), np.uint8)
    there = np.empty((count, width), bool)
    total, at = np.zeros(count, np.int64), 0
    for one in columns:
        end = at + one.bytes.shape[1]
        content[:, at:end] = one.bytes
        there[:, at:end] = np.arange(end - at) < one.lengths[:, None]
        total += one.lengths
        at = end
    return content[there].tobytes(), np.cumsum(total)
