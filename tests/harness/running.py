"""Processes of this machine, and what they were started as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def running() -> Iterator[tuple[int, list[bytes]]]:
    """Pid and words of each; one that has ended has no words."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has gone since
            continue
        yield int(path.parent.name), words


def agents(word: Path) -> list[int]:
    """Pids of agents with this word: their run, or where its rings lie."""
    return [
        pid for pid, words in running() if words[1:2] == [b"agent"] and os.fsencode(word) in words
    ]
