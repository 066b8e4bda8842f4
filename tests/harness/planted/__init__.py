"""A packed run of any size with three planted troubles, seeded: what the UI must show on its first screen, and what
benchmarks load.

N ranks write a checkpoint in twelve bursts through HDF5, MPI-IO and POSIX to eight directories, each standing for a
server. Planted are one write of 900 ms, a rank that is 2.5 times as slow as the others (they wait for it at the end of
each burst), and a directory that is three times as slow. `python -m harness.planted DIRECTORY --ranks 4096 --calls
10000000` makes one.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "python" / "tests"))

from schema import PARTED, SCHEMAS  # noqa: E402 - lies beside another suite

BURSTS, FILES, CALLS_OF_A_TREE = 12, 8, 5
#: Opens and closes of each file, syncs after each burst but the last: three layers each.
FRAME = 3 * (2 * FILES + BURSTS - 1)
#: Written part by part; made by the first reader.
APART = ("calls", "tiles")
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
        return "/scratch/ost5"


def sized(path: Path, ranks: int, calls: int, seed: int = 1, hostile: bool = False) -> Planted:
    """A run of at least so many calls, as even as its bursts allow."""
    least = FRAME + BURSTS * CALLS_OF_A_TREE
    if ranks < 8 or calls < ranks * least:
        raise TooSmall(f"{calls} calls on {ranks} ranks: at least 8 ranks, of {least} calls each")
    trees = -(-(-(-calls // ranks) - FRAME) // (BURSTS * CALLS_OF_A_TREE))
    return Planted(path, ranks, trees, seed, hostile)


def make(planted: Planted) -> Planted:
    """Writes the run directory; one that is there is replaced."""
    shutil.rmtree(planted.path, ignore_errors=True)
    (planted.path / "tables").mkdir(parents=True)
    connection = _connect(planted)
    for first, last in _parts(planted):
        _run(connection, "trees.sql", first=first, last=last)
        _run(connection, "calls.sql", first=first, last=last)
        _write(
            planted,
            connection,
            "calls",
            "select * from made order by stream, start, depth",
            f"{first:08d}",
        )
        _run(connection, "sums.sql")
    for name in SCHEMAS:
        if name not in APART:
            _write(planted, connection, name, _rows_of(connection, name))
    manifest = {
        "format": 1, "fathom": "0.1.0", "program": "planted",
        "command": ["mpiexec", "-n", str(planted.ranks), "./planted"],
        "configuration": {"layers": ["hdf5", "mpiio", "posix"], "counted": [], "level": "call"},
        "exit": {"status": 0},
    }  # fmt: skip
    (planted.path / "run.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return planted


def _connect(planted: Planted) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("set memory_limit = '3GB'; set enable_progress_bar = false")
    constants = {
        "seed": planted.seed, "ranks": planted.ranks, "trees": planted.trees, "bursts": BURSTS, "files": FILES,
        "straggler": planted.straggler, "writer": planted.writer, "slow_tree": planted.slow_tree,
        "hostile": planted.hostile, "duration": int(SECONDS * 1e9), "events": planted.calls, "of_rank": planted.of_rank,
        # A burst takes a usual rank 250 ms.
        "typical": min(5 * MILLISECOND, 66 * MILLISECOND // planted.trees),
    }  # fmt: skip
    for name, value in constants.items():
        connection.execute(
            f"create macro {name}() as {value}::{'boolean' if value is True or value is False else 'bigint'}"
        )
    connection.execute(f"create macro hostile_name() as '{HOSTILE.replace(chr(39), chr(39) * 2)}'")
    _run(connection, "shared.sql")
    return connection


def _parts(planted: Planted) -> Iterator[tuple[int, int]]:
    step = max(1, ROWS_OF_A_PART // planted.of_rank)
    for first in range(0, planted.ranks, step):
        yield first, min(first + step, planted.ranks)


def _run(connection: duckdb.DuckDBPyConnection, name: str, **values: int) -> None:
    text = (HERE / name).read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(f"${word}", str(value))
    connection.execute(text)


def _rows_of(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    there = connection.execute(
        "select 1 from duckdb_views() where view_name = $1", [f"rows_of_{name}"]
    )
    return f"select * from rows_of_{name}" if there.fetchone() else "select 1 as none_of_it limit 0"


def _write(
    planted: Planted, connection: duckdb.DuckDBPyConnection, name: str, rows: str, part: str = "0"
) -> None:
    """The rows with the columns and types that docs/tables.md states; what they leave out is null, 0 or empty."""
    given = connection.sql(rows).columns
    columns = ", ".join(
        f'cast({field.name if field.name in given else _nothing(field)} as {_sql_type(field.type)}) as "{field.name}"'
        for field in SCHEMAS[name]
    )
    folder = planted.path / "tables"
    path = folder / name / f"{part}.parquet" if name in PARTED else folder / f"{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    connection.execute(
        f"copy (select {columns} from ({rows})) to '{path}' (format parquet, compression zstd, row_group_size 122880)"
    )


def _nothing(field: object) -> str:
    if field.nullable:  # type: ignore[attr-defined]
        return "null"
    kind = _sql_type(field.type)  # type: ignore[attr-defined]
    return "[]" if kind.endswith("[]") else "''" if kind == "varchar" else "0"


def _sql_type(kind: object) -> str:
    text = str(kind)
    if text.startswith("list"):
        return _sql_type(kind.value_type) + "[]"  # type: ignore[attr-defined]
    return {
        "int32": "integer", "int64": "bigint", "uint8": "utinyint", "uint32": "uinteger", "uint64": "ubigint",
        "double": "double", "string": "varchar", "bool": "boolean",
    }[text]  # fmt: skip
