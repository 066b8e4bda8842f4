"""libfathom.so in this process, asked to begin or to end by the process itself: no ptrace, and no thread is stopped.
Its door is what fathom-engine calls in other processes (runtime/edges/attached.c)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from fathom.attach.injector import Answer, Status
from fathom.errors import FathomError

#: What it is asked, and how long what it is told may be.
ROOM, ATTACH, DETACH = range(3)
ROOM_BYTES = 65536
ENTRY = 24  # where a 64-bit ELF header has the address of its entry point


class Door:
    """Of the library, which is loaded where it is not."""

    def __init__(self, library: Path) -> None:
        """`library`: of a process that has another one already it stays without use."""
        try:
            path, base = _mapped() or _load(library)
            with path.open("rb") as file:
                entry = int.from_bytes(file.read(ENTRY + 8)[ENTRY:], "little")
        except OSError as error:
            raise FathomError(f"{library} cannot be loaded: {error}") from error
        call = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.POINTER(ctypes.c_long))
        self._call: Callable[..., None] = call(base + entry)
        self._room = self._ask(ROOM)

    def _ask(self, what: int) -> int:
        answer = ctypes.c_long()
        self._call(what, ctypes.byref(answer))
        return answer.value

    def attach(self, settings: dict[str, str]) -> Answer:
        """Records from here on, by these settings."""
        given = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in settings.items())
        if len(given) >= ROOM_BYTES:
            raise FathomError("record: too many layers and files are named for one recording")
        ctypes.memmove(self._room, given + b"\0", len(given) + 1)
        return self._answer(self._ask(ATTACH))

    def detach(self) -> Answer:
        """Records no more; what was recorded is in the run directory."""
        return self._answer(self._ask(DETACH))

    def _answer(self, status: int) -> Answer:
        return Answer(Status(status), os.fsdecode(ctypes.string_at(self._room)))


def _mapped() -> tuple[Path, int] | None:
    """Where the library lies that this process has by preload or by `fathom attach`."""
    for line in (
        Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    ):
        place, _, offset, _, _, *path = line.split(maxsplit=5)
        if path and int(offset, 16) == 0 and Path(path[0]).name == "libfathom.so":
            return Path(path[0]), int(place.partition("-")[0], 16)
    return None


def _load(library: Path) -> tuple[Path, int]:
    ctypes.CDLL(str(library), mode=os.RTLD_NOW)
    mapped = _mapped()
    if mapped is None:
        raise OSError("it is not among what this process has mapped")
    return mapped
