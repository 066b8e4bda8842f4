"""As much of an ELF file as `fathom doctor` and `fathom attach` have to know."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

#: What a file that is cut off or damaged makes of its reader.
DAMAGED = (ELFError, OSError, OverflowError, ValueError)
FUNCTION = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


@dataclass(frozen=True)
class Section:
    """One row of the section table."""

    name: str
    kind: str
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
        return self.path.read_bytes()

    def names(self, symbol: str) -> bool:
        """Does the file hold this symbol's name, imported or its own? All that is left of a stripped one."""
        return self._image.find(b"\0" + symbol.encode() + b"\0") >= 0

    def has(self, section: str) -> bool:
        """Is there such a section?"""
        return any(one.name == section for one in self.sections)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Functions that others must bring."""
        return frozenset(name for name, here in self._symbols("SHT_DYNSYM") if not here)

    @cached_property
    def defines(self) -> frozenset[str]:
        """Functions of its own, those linked in statically among them."""
        symbols = (*self._symbols("SHT_SYMTAB"), *self._symbols("SHT_DYNSYM"))
        return frozenset(name for name, is_defined in symbols if is_defined)

    def _symbols(self, kind: str) -> Iterator[tuple[str, bool]]:
        """Names of functions, and whether they are defined here. An undefined one may have lost its type.

        By struct: pyelftools takes 15 times as long, a third of a second for HDF5 and MPI.
        """
        row = struct.Struct(self.order + ("IBBHQQ" if self.bits == 64 else "IIIBBH"))
        for section in self.sections:
            if section.kind != kind or section.link >= len(self.sections):
                continue
            names = self.sections[section.link].offset
            rows = self._image[section.offset : section.offset + section.size]
            for symbol in row.iter_unpack(rows[: len(rows) - len(rows) % row.size]):
                info, where = (symbol[1], symbol[3]) if self.bits == 64 else (symbol[3], symbol[5])
                if info & 15 in FUNCTION or (where == 0 and info & 15 == 0):
                    name = self._text(names + symbol[0])
                    if name:
                        yield name.partition("@")[0], where != 0

    def _text(self, at: int) -> str:
        return self._image[at : max(at, self._image.find(b"\0", at))].decode(errors="replace")


def read(path: Path) -> Program | None:
    """None: neither ELF nor a script."""
    with path.open("rb") as file:
        start = file.read(4096)
        if start[:2] == b"#!":
            words = start[2:].splitlines()[0].decode(errors="replace").split()
            by_name = len(words) > 1 and words[0].endswith("/env")
            return Program(path, 0, None, words[by_name] if words else "")
        if len(start) < 64 or start[:4] != b"\x7fELF" or start[4] not in (1, 2):
            return None
        try:
            return _program(path, ELFFile(file))
        except DAMAGED:
            return Program(path, 64 if start[4] == 2 else 32, None, None)


def _program(path: Path, elf: ELFFile) -> Program:
    loaders = (
        one.get_interp_name() for one in elf.iter_segments() if isinstance(one, InterpSegment)
    )
    sections = tuple(
        Section(one.name, one["sh_type"], one["sh_offset"], one["sh_size"], one["sh_link"])
        for one in elf.iter_sections()
    )
    order = "<" if elf.little_endian else ">"
    return Program(path, elf.elfclass, next(loaders, None), None, sections, order)
