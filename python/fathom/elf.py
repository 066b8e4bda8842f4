"""As much of an ELF file as `fathom doctor` has to know."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

PT_INTERP = 3


@dataclass(frozen=True)
class Program:
    """An executable file: `loader` is None when it is static, `script` names an interpreter."""

    path: Path
    bits: int
    loader: str | None
    script: str | None

    def names(self, symbol: str) -> bool:
        """Does the file hold this symbol's name, imported or its own?"""
        with (
            self.path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as image,
        ):
            return image.find(b"\0" + symbol.encode() + b"\0") >= 0


def read(path: Path) -> Program | None:
    """None: neither ELF nor a script."""
    with path.open("rb") as file:
        head = file.read(4096)
        if head.startswith(b"#!"):
            words = head.splitlines()[0][2:].decode(errors="replace").split()
            return Program(path, 0, None, words[0] if words else "")
        if len(head) < 64 or not head.startswith(b"\x7fELF"):
            return None
        wide = head[4] == 2
        order = "<" if head[5] == 1 else ">"
        start, size, count = (
            (
                *struct.unpack_from(order + "Q", head, 32),
                *struct.unpack_from(order + "HH", head, 54),
            )
            if wide
            else (
                *struct.unpack_from(order + "I", head, 28),
                *struct.unpack_from(order + "HH", head, 42),
            )
        )
        for number in range(count):
            file.seek(start + number * size)
            entry = file.read(size)
            if len(entry) < size or struct.unpack_from(order + "I", entry)[0] != PT_INTERP:
                continue
            offset, length = (
                (
                    struct.unpack_from(order + "Q", entry, 8)[0],
                    struct.unpack_from(order + "Q", entry, 32)[0],
                )
                if wide
                else (
                    struct.unpack_from(order + "I", entry, 4)[0],
                    struct.unpack_from(order + "I", entry, 16)[0],
                )
            )
            file.seek(offset)
            loader = file.read(min(length, 4096)).rstrip(b"\0").decode(errors="replace")
            return Program(path, 64 if wide else 32, loader, None)
        return Program(path, 64 if wide else 32, None, None)
