"""Where reads and writes without an offset were in a file, for a process of which only names of files are known."""

from collections.abc import Mapping
from dataclasses import dataclass

APPEND = 0o2000


@dataclass
class _Open:
    thread: int
    at: int | None
    opens: int = 1
    alone: bool = True  # one descriptor, used by one thread


class Positions:
    """Of one process. None: unknown, since more than one may use the position."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def opened(self, path: str, thread: int, flags: int | None) -> None:
        """At its beginning, unless it is open already, or appends."""
        known = self._open.get(path)
        if known:
            known.alone, known.opens = False, known.opens + 1
        else:
            start = None if flags is None or flags & APPEND else 0
            self._open[path] = _Open(thread, start)

    def closed(self, path: str) -> None:
        """One of the opens that it has."""
        known = self._open.get(path)
        if known and known.opens > 1:
            known.opens -= 1
        else:
            self._open.pop(path, None)

    def shared(self, path: str) -> None:
        """From now on another descriptor has the same position."""
        if path in self._open:
            self._open[path].alone = False

    def forked(self) -> None:
        """Another process has the same positions."""
        for known in self._open.values():
            known.alone = False

    def sought(self, path: str, thread: int, result: int | None) -> None:
        """To an offset; None: it is not known where to."""
        known = self._open.get(path)
        if known and known.thread == thread:
            known.at = result

    def at(self, path: str) -> int | None:
        """Where it is."""
        known = self._open.get(path)
        return known.at if known and known.alone else None

    def moved(self, path: str, thread: int, moved: int) -> int | None:
        """Where a read or write of so many bytes began."""
        known = self._open.get(path)
        if known is None:
            return None
        known.alone = known.alone and known.thread == thread
        began = known.at if known.alone else None
        known.at = None if began is None else began + max(0, moved)
        return began


def follow(
    positions: Positions, name: str, where: tuple[str, int], args: Mapping[str, int]
) -> None:
    """What a call that moves no data does to positions; `where`: the file and the thread."""
    path, thread = where
    if name in ("open", "openat", "creat"):
        positions.opened(path, thread, args.get("flags", 0 if name == "creat" else None))
    elif name == "close":
        positions.closed(path)
    elif name in ("dup", "dup2", "dup3", "fcntl"):
        positions.shared(path)
    elif name == "lseek":
        positions.sought(path, thread, args.get("ret"))
