"""What a trace of Recorder consists of: files of a directory, or sections of `recorder.dat` that stand for them."""

import struct
from collections.abc import Iterator
from pathlib import Path

from fathom.importing.lines import Damaged

WHOLE = "recorder.dat"
MAGIC = b"RECORDER"
# recorder.dat: magic, number of its layout, sections. Of each: its kind, a rank or -1, where it is, bytes.
HEADER, SECTION = struct.Struct("<8sII"), struct.Struct("<IiQQ")
# By kind, the files; other kinds are not read (7: places in the code).
KINDS = ("recorder.mt", "recorder.ts", "recorder.cst", "ug.cfg", "ug.mt", "{}.cst", "{}.cfg")


class Parts:
    """By the names that they have, or had, as files. `layout`: that of recorder.dat, 0 of a directory."""

    def __init__(self, place: Path) -> None:
        self.place = place.parent if place.name == WHOLE else place
        self.layout = 0
        self._sections: dict[str, tuple[int, int]] = {}
        if (self.place / WHOLE).is_file():
            for name, where in self._table():
                if name in self._sections:
                    raise Damaged(f"{WHOLE} is damaged, or was not written to its end")
                self._sections[name] = where

    def has(self, name: str) -> bool:
        """Is it there?"""
        return name in self._sections if self.layout else (self.place / name).is_file()

    def size(self, name: str) -> int:
        """Its bytes."""
        if not self.has(name):
            raise Damaged(f"{name} is missing")
        return self._sections[name][1] if self.layout else (self.place / name).stat().st_size

    def read(self, name: str, at: int = 0, size: int | None = None) -> bytes:
        """What is in it, from `at` on."""
        left = max(0, self.size(name) - at)
        path, begin = self.place / name, 0
        if self.layout:
            path, begin = self.place / WHOLE, self._sections[name][0]
        with path.open("rb") as file:
            file.seek(begin + at)
            return file.read(left if size is None else min(size, left))

    def _table(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Sections of recorder.dat."""
        path = self.place / WHOLE
        whole = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or not head.startswith(MAGIC):
                raise Damaged(f"{WHOLE} is not as Recorder wrote it")
            _, self.layout, count = HEADER.unpack(head)
            if HEADER.size + count * SECTION.size > whole:
                raise Damaged(f"{WHOLE} breaks off")
            table = file.read(count * SECTION.size)
        for kind, rank, at, size in SECTION.iter_unpack(table):
            if at + size > whole:
                raise Damaged(f"{WHOLE} breaks off")
            if kind < len(KINDS):
                yield KINDS[kind].format(rank), (at, size)
