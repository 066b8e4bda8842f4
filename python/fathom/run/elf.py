"""As much of an ELF file as `fathom doctor` has to know."""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PT_INTERP = 3
SHT_SYMTAB, SHT_DYNSYM = 2, 11
FUNCTION = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


@dataclass(frozen=True)
class Section:
    """One row of the section table."""

    name: str
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Program:
    """An executable file: `loader` is None when it is static, `script` is an interpreter, by path or name."""

    path: Path
    bits: int
    loader: str | None
    script: str | None
    sections: tuple[Section, ...] = ()
    order: str = "<"

    @cached_property
    def _image(self) -> bytes:
        return self.path.read_bytes() if self.path.stat().st_size else b""

    def names(self, symbol: str) -> bool:
        """Does the file hold this symbol's name, imported or its own? All that is left of a stripped one."""
        return self._image.find(b"\0" + symbol.encode() + b"\0") >= 0

    def has(self, section: str) -> bool:
        """Is there such a section?"""
        return any(one.name == section for one in self.sections)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Functions that others must bring."""
        return frozenset(name for name, here in self._symbols(SHT_DYNSYM) if not here)

    @cached_property
    def defines(self) -> frozenset[str]:
        """Functions of its own, those linked in statically among them."""
        symbols = (*self._symbols(SHT_SYMTAB), *self._symbols(SHT_DYNSYM))
        return frozenset(name for name, is_defined in symbols if is_defined)

    def _symbols(self, kind: int) -> Iterator[tuple[str, bool]]:
        """Names of functions, and whether they are defined here. An undefined one may have lost its type."""
        layout = self.order + ("IBBHQQ" if self.bits == 64 else "IIIBBH")
        for section in self.sections:
            if section.kind != kind or section.link >= len(self.sections):
                continue
            names = self.sections[section.link]
            size = section.size - section.size % struct.calcsize(layout)
            rows = self._image[section.offset : section.offset + size]
            for row in struct.iter_unpack(
                layout, rows[: len(rows) - len(rows) % struct.calcsize(layout)]
            ):
                info, where = (row[1], row[3]) if self.bits == 64 else (row[3], row[5])
                if info & 15 in FUNCTION or (where == 0 and info & 15 == 0):
                    name = _text(self._image, names.offset + row[0])
                    if name:
                        yield name.partition("@")[0], where != 0


def _text(image: bytes | mmap.mmap, at: int) -> str:
    end = image.find(b"\0", at)
    return image[at:end].decode(errors="replace") if 0 <= at < end else ""


def read(path: Path) -> Program | None:
    """None: neither ELF nor a script."""
    if path.stat().st_size == 0:
        return None
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as image,
    ):
        if image[:2] == b"#!":
            words = image[2:4096].splitlines()[0].decode(errors="replace").split()
            by_name = len(words) > 1 and words[0].endswith("/env")
            return Program(path, 0, None, words[by_name] if words else "")
        if len(image) < 64 or image[:4] != b"\x7fELF" or image[4] not in (1, 2):
            return None
        bits = 64 if image[4] == 2 else 32
        order = "<" if image[5] == 1 else ">"
        try:
            loader = _loader(image, bits, order)
            sections = tuple(_sections(image, bits, order))
        except struct.error:  # cut off
            return Program(path, bits, None, None)
        return Program(path, bits, loader, None, sections, order)


def _loader(image: mmap.mmap, bits: int, order: str) -> str | None:
    (start,) = struct.unpack_from(
        order + ("Q" if bits == 64 else "I"), image, 32 if bits == 64 else 28
    )
    size, count = struct.unpack_from(order + "HH", image, 54 if bits == 64 else 42)
    for at in range(start, start + size * count, size):
        if struct.unpack_from(order + "I", image, at)[0] == PT_INTERP:
            where, word = (8, "Q") if bits == 64 else (4, "I")
            return _text(image, struct.unpack_from(order + word, image, at + where)[0])
    return None


def _sections(image: mmap.mmap, bits: int, order: str) -> Iterator[Section]:
    (start,) = struct.unpack_from(
        order + ("Q" if bits == 64 else "I"), image, 40 if bits == 64 else 32
    )
    size, count, names = struct.unpack_from(order + "HHH", image, 58 if bits == 64 else 46)
    layout = order + ("IIQQQQI" if bits == 64 else "IIIIIII")
    rows = (
        [struct.unpack_from(layout, image, start + size * number) for number in range(count)]
        if start
        else []
    )
    base = rows[names][4] if names < len(rows) else 0
    for name, kind, _flags, _address, offset, length, link in rows:
        yield Section(_text(image, base + name), kind, offset, length, link)
