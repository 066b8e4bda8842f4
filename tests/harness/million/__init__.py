"""A packed run of very many ranks, each of which writes 10^12 bytes in 10^6 s: a million ranks 10^18 bytes in 10^12 s.

Counted, it has counters alone, of a file of each rank's own; traced, all calls too, on one shared file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import packed

HERE = Path(__file__).parent

#: Of one rank, in its writes.
SECONDS, BYTES = 10**6, 10**12
#: Calls of one rank: open, two writes, close. Opens and closes last 1 s each.
CALLS, WRITES = 4, 2
DURATION = (SECONDS + 2) * 10**9


@dataclass(frozen=True)
class Many:
    """What is in the run, and where."""

    path: Path
    ranks: int
    traced: bool

    @property
    def bytes(self) -> int:
        """Written, by all ranks together."""
        return self.ranks * BYTES

    @property
    def seconds(self) -> int:
        """In writes, of all ranks together."""
        return self.ranks * SECONDS


def make(path: Path, ranks: int, traced: bool = False) -> Many:
    """Writes the run directory; one that is there is replaced."""
    many = Many(path, ranks, traced)
    tables = packed.begin(path)
    connection = packed.connect()
    events = CALLS * ranks if traced else 0
    packed.constants(
        connection,
        {"ranks": ranks, "duration": DURATION, "events": events, "traced": traced, "bytes": BYTES, "writes": WRITES},
    )  # fmt: skip
    packed.run(connection, HERE / "tables.sql")
    packed.write_others(connection, tables, set())
    packed.say(path, "many", ranks, ["posix"])
    return many
