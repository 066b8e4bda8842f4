"""The header of a classic netCDF file: CDF-1, CDF-2, CDF-5, after the format's specification."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fathom.codegen.hints.header import Attribute, Dimension, Header, Variable
from fathom.errors import RunError

#: By the number of a type: its name in the hints (None: they have none), how struct reads one.
TYPES: dict[int, tuple[str | None, str, str]] = {
    1: ("int8", "b", "byte"),
    2: (None, "s", "text"),
    3: ("int16", "h", "short"),
    4: ("int32", "i", "int"),
    5: ("float32", "f", "float"),
    6: ("float64", "d", "double"),
    7: (None, "B", "unsigned byte"),
    8: (None, "H", "unsigned short"),
    9: (None, "I", "unsigned int"),
    10: ("int64", "q", "64-bit integer"),
    11: (None, "Q", "unsigned 64-bit integer"),
}
TEXT = 2
DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12


@dataclass
class _Reader:
    """The header, read from front to back; `wide`: counts have 8 bytes."""

    file: BinaryIO
    path: Path
    size: int
    wide: bool
    offset_bytes: int

    def damaged(self, what: str) -> RunError:
        return RunError(f"{self.path}: byte {self.file.tell()}: {what}; the file is damaged")

    def take(self, count: int) -> bytes:
        if count > self.size:
            raise self.damaged(f"{count} bytes of a header, in a file of {self.size}")
        data = self.file.read(count)
        if len(data) < count:
            raise self.damaged("the header ends too early")
        return data

    def int32(self) -> int:
        (value,) = struct.unpack(">i", self.take(4))
        return int(value)

    def count(self) -> int:
        (value,) = struct.unpack(">q", self.take(8)) if self.wide else (self.int32(),)
        if value < 0:
            raise self.damaged("a negative count")
        return int(value)

    def padded(self, count: int) -> bytes:
        return self.take(count + -count % 4)[:count]

    def name(self) -> str:
        return self.padded(self.count()).decode("utf-8", errors="replace")

    def list(self, tag: int) -> range:
        """Of so many things; none, where the list is absent."""
        number, count = self.int32(), self.count()
        if number not in (0, tag) or (number == 0 and count) or count > self.size:
            raise self.damaged(f"a list of kind {number}, {tag} was expected")
        return range(count)

    def type(self) -> int:
        number = self.int32()
        if number not in TYPES:
            raise self.damaged(f"no type has the number {number}")
        return number


def read(path: Path) -> Header:
    """Dimensions, variables and attributes; RunError for a damaged file."""
    try:
        with path.open("rb") as file:
            version = file.read(4)[3]
            size = path.stat().st_size
            return _header(_Reader(file, path, size, version == 5, 4 if version == 1 else 8))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error


def _header(reader: _Reader) -> Header:
    records = max(0, reader.count()) if reader.wide else _records(reader.int32())
    dims = []
    for number in reader.list(DIMENSIONS):
        name, length = reader.name(), reader.count()
        dims.append(Dimension(f"d{number}", name, length or records, length == 0))
    header = Header("netCDF")
    header.attributes += _attributes(reader, None)
    for _ in reader.list(VARIABLES):
        name = reader.name()
        numbers = [reader.count() for _ in range(reader.count())]
        header.attributes += _attributes(reader, name)
        kind = reader.type()
        reader.count()  # bytes of the variable
        reader.take(reader.offset_bytes)
        if any(number >= len(dims) for number in numbers):
            raise reader.damaged(f"{name} has a dimension that is not there")
        shape = tuple(dims[number] for number in numbers)
        what = f"{TYPES[kind][2]}, {len(shape)} dimensions"
        header.variables.append(Variable(name, TYPES[kind][0], what, shape))
    return header


def _records(count: int) -> int:
    return max(0, count)  # -1: not known while the file is written


def _attributes(reader: _Reader, variable: str | None) -> list[Attribute]:
    attributes = []
    for _ in reader.list(ATTRIBUTES):
        name, kind, count = reader.name(), reader.type(), reader.count()
        label, letter, _ = TYPES[kind]
        raw = reader.padded(count * struct.calcsize(letter))
        if kind == TEXT:
            text = raw.rstrip(b"\0").decode("utf-8", errors="replace")
            attributes.append(Attribute(variable, name, None, (text,)))
        elif label:
            attributes.append(
                Attribute(variable, name, label, struct.unpack(f">{count}{letter}", raw))
            )
    return attributes
