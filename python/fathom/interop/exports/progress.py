"""How far an export is, on a terminal."""

import sys
import time

from fathom.text import terminal

EVERY = 0.5  # seconds


class Progress:
    """Lines that replace each other on stderr; none where that is no terminal."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self._shown, self._next = False, 0.0

    def add(self, calls: int) -> None:
        """So many calls more are written."""
        self.done += calls
        now = time.monotonic()
        if now >= self._next and sys.stderr.isatty():
            self._next, self._shown = now + EVERY, True
            terminal.show(f"fathom: export: {self.what}: {self.done:,} of {self.total:,} calls")

    def end(self) -> None:
        """The terminal's line is free again."""
        if self._shown:
            terminal.show("")
