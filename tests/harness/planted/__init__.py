"""A packed run of any size with three planted troubles, seeded: what the UI must show on its first screen, and what
benchmarks load.

N ranks write a checkpoint in twelve bursts through HDF5, MPI-IO and POSIX to eight files, each on an OST of its own.
Planted are one write of 900 ms, a rank that is 2.5 times as slow as the others (they wait for it at the end of each
burst), and an OST that is three times as slow. `python -m harness.planted DIRECTORY --ranks 4096 --calls 10000000`
makes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb

from harness import packed

HERE = Path(__file__).parent

BURSTS, FILES, CALLS_OF_A_TREE = 12, 8, 5
#: Opens and closes of each file, syncs after each burst but the last: three layers each.
FRAME = 3 * (2 * FILES + BURSTS - 1)
ROWS_OF_A_PART = 1_500_000
SECONDS = 24.8
MILLISECOND = 1_000_000
HOSTILE = "<img src=x onerror=alert(1)>'\"; drop table calls;--</script>.h5"


class TooSmall(ValueError):
    """Fewer calls than the ranks need."""


@dataclass(frozen=True)
class Planted:
    """What is in the run, and where."""

    path: Path
    ranks: int
    trees: int  # of a rank in a burst
    seed: int
    hostile: bool = False  # names of files that try to be markup, SQL, formulas

    @cached_property
    def straggler(self) -> int:
        """The slow rank."""
        return self.ranks // 3

    @cached_property
    def writer(self) -> int:
        """The rank of the write of 900 ms."""
        return self.ranks * 5 // 8

    @property
    def calls(self) -> int:
        """Rows of `calls`."""
        return self.ranks * self.of_rank

    @property
    def of_rank(self) -> int:
        """Calls of one rank."""
        return FRAME + BURSTS * self.trees * CALLS_OF_A_TREE

    @property
    def slow_tree(self) -> int:
        """Which of the writer's trees in the last burst holds the slow write: one that writes."""
        middle = self.trees // 2
        return middle if (BURSTS - 1) * self.trees + middle & 3 != 3 else max(0, middle - 1)

    @property
    def slow_write(self) -> int:
        """`calls.id` of the write of 900 ms: the second of its tree's three."""
        tree = FILES * 3 + (BURSTS - 1) * (self.trees * CALLS_OF_A_TREE + 3)
        return self.writer << 40 | tree + self.slow_tree * CALLS_OF_A_TREE + 3

    @property
    def hot(self) -> str:
        """The slow server."""
        return "OST 5"


def sized(path: Path, ranks: int, calls: int, seed: int = 1, hostile: bool = False) -> Planted:
    """A run of at least so many calls, as even as its bursts allow."""
    least = FRAME + BURSTS * CALLS_OF_A_TREE
    if ranks < 8 or calls < ranks * least:
        raise TooSmall(f"{calls} calls on {ranks} ranks: at least 8 ranks, of {least} calls each")
    trees = -(-(-(-calls // ranks) - FRAME) // (BURSTS * CALLS_OF_A_TREE))
    return Planted(path, ranks, trees, seed, hostile)


def make(planted: Planted) -> Planted:
    """Writes the run directory; one that is there is replaced."""
    tables = packed.begin(planted.path)
    connection = _connect(planted)
    for first, last in _parts(planted):
        packed.run(connection, HERE / "trees.sql", first=first, last=last)
        packed.run(connection, HERE / "calls.sql", first=first, last=last)
        rows = "select * from generated_calls order by stream, start, depth"
        packed.write(connection, tables, "calls", rows, f"{first:08d}")
        packed.sums(connection)
    packed.write_others(connection, tables, {"calls"})
    packed.say(planted.path, "planted", planted.ranks, ["hdf5", "mpiio", "posix"])
    return planted


def _connect(planted: Planted) -> duckdb.DuckDBPyConnection:
    constants = {
        "seed": planted.seed, "ranks": planted.ranks, "trees": planted.trees, "bursts": BURSTS, "files": FILES,
        "straggler": planted.straggler, "writer": planted.writer, "slow_tree": planted.slow_tree,
        "hostile": planted.hostile, "duration": int(SECONDS * 1e9), "events": planted.calls, "of_rank": planted.of_rank,
        # A burst takes a usual rank 250 ms.
        "typical": min(5 * MILLISECOND, 66 * MILLISECOND // planted.trees),
    }  # fmt: skip
    connection = packed.connect()
    packed.constants(connection, constants)
    connection.execute(f"create macro hostile_name() as '{HOSTILE.replace(chr(39), chr(39) * 2)}'")
    packed.run(connection, HERE / "shared.sql")
    return connection


def _parts(planted: Planted) -> Iterator[tuple[int, int]]:
    step = max(1, ROWS_OF_A_PART // planted.of_rank)
    for first in range(0, planted.ranks, step):
        yield first, min(first + step, planted.ranks)
