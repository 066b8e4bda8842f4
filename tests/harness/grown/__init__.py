"""A packed run of any size, grown from one that was recorded: its ranks are copied, what they did is repeated.

What is copied are whole outermost calls on the files asked for, with all inside them, so ops, sizes, places, nesting
and the order of calls are a real program's (`args` stay empty). A copy of the ranks has files of its own where a file
was one rank's, and a stretch of its own in those of several. A repetition comes after the one before; in each, a rank's
calls last longer by a whole factor of 1 to 4, by chance, but collective ones, which last 4 times as long at all ranks:
so all sums stay exact, and no two ranks are alike. `python -m harness.grown RUN DIRECTORY --ranks 100000 --calls
10000000` makes one. A process for each processor makes parts of `calls`; memory is that of such a part in each, about
1 GB, and of the sums of each rank, whatever the size of the run.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness import packed

HERE = Path(__file__).parent
#: Calls of a part; more only where a stream alone has more.
ROWS = 1_500_000
#: How much longer a call may last.
MOST = 4
SEQUENCE = 40  # bits of `calls.id` below the stream
Numbers = NDArray[np.int64]


class CannotGrow(ValueError):
    """The run does not do as a pattern, and why."""


@dataclass(frozen=True)
class Grown:
    """What is made."""

    path: Path
    ranks: int
    repetitions: int
    calls: int


@dataclass(frozen=True)
class Column:
    """One column of the recorded calls, null as 0."""

    values: Numbers
    null: NDArray[np.bool_] | None

    def at(self, index: Numbers) -> tuple[Numbers, NDArray[np.bool_] | None]:
        """Of these calls."""
        return self.values[index], None if self.null is None else self.null[index]


def _numbers(connection: duckdb.DuckDBPyConnection, sql: str) -> Numbers:
    return np.array([row[0] for row in connection.sql(sql).fetchall()], dtype=np.int64)


def _count(connection: duckdb.DuckDBPyConnection, what: str) -> int:
    return int(_numbers(connection, f"select count(*) from {what}")[0])


class Pattern:
    """The recorded calls, numbered from 0 in all respects (base.sql)."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Of a database in which base.sql was run."""
        self.base = connection.sql("from base").to_arrow_table()
        self.of_stream = _numbers(connection, "select calls from new_stream order by number")
        self.first: Numbers = np.concatenate(([0], np.cumsum(self.of_stream)))
        self.outermost = _numbers(connection, "select outermost from new_process order by number")
        self._columns: dict[str, Column] = {}

    @cached_property
    def lasts(self) -> int:
        """From the first call's begin to a little after the last one's end, as long as a repetition can be."""
        ends = self["start"].values + self["duration"].values
        return int(ends.max() * 1.01 + 1_000_000) * MOST

    def __getitem__(self, name: str) -> Column:
        """A column of numbers."""
        if name not in self._columns:
            column = self.base[name].combine_chunks()
            null = np.asarray(column.is_null()) if column.null_count else None
            values = np.asarray(column.cast(pa.int64()).fill_null(0))
            self._columns[name] = Column(values, null)
        return self._columns[name]

    @cached_property
    def texts(self) -> dict[str, pa.DictionaryArray]:
        """Columns of text, each word once."""
        return {
            field.name: self.base[field.name].combine_chunks().dictionary_encode()
            for field in self.base.schema
            if pa.types.is_string(field.type)
        }


def chance(rank: Numbers, repetition: Numbers) -> Numbers:
    """1 to MOST by number, the same each time."""
    mixed = rank.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += repetition.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    return ((mixed >> np.uint64(40)) % np.uint64(MOST)).astype(np.int64) + 1


@dataclass(frozen=True)
class Piece:
    """Which copies, and which of the recorded streams, are a part of `calls`."""

    copies: range
    streams: range


def pieces(pattern: Pattern, copies: int, repetitions: int) -> Iterator[Piece]:
    """Parts of about ROWS calls, in the order of streams."""
    streams = range(len(pattern.of_stream))
    of_copy = int(pattern.of_stream.sum()) * repetitions
    if of_copy <= ROWS:
        step = ROWS // of_copy
        for first in range(0, copies, step):
            yield Piece(range(first, min(first + step, copies)), streams)
        return
    step = max(1, ROWS * len(streams) // of_copy)
    for copy in range(copies):
        for stream in range(0, len(streams), step):
            yield Piece(range(copy, copy + 1), streams[stream : stream + step])


@dataclass(frozen=True)
class Growth:
    """How large it becomes."""

    pattern: Pattern
    sizes: dict[str, int]  # constants of tables.sql

    def rows(self, piece: Piece) -> pa.Table:
        """The calls of a part, in order."""
        pattern, of, times = self.pattern, self.sizes, self.sizes["repetitions"]
        ranges = [np.arange(pattern.first[s], pattern.first[s + 1]) for s in piece.streams]
        index = np.concatenate([np.tile(one, times) for one in ranges])
        turn = np.concatenate([np.repeat(np.arange(times), len(one)) for one in ranges])
        many = len(piece.copies)
        copy = np.repeat(np.arange(piece.copies.start, piece.copies.stop), len(index))
        index, turn = np.tile(index, many), np.tile(turn, many)
        rank = copy * of["template_ranks"] + pattern["process"].values[index]
        by = np.where(pattern["together"].values[index], MOST, chance(rank, turn))
        return self._table(index, turn, copy, rank, by)

    def _table(
        self, index: Numbers, turn: Numbers, copy: Numbers, rank: Numbers, by: Numbers
    ) -> pa.Table:
        pattern, of = self.pattern, self.sizes

        def shifted(name: str, shift: Numbers) -> pa.Array:
            values, null = pattern[name].at(index)
            return pa.array(values + shift, mask=null)

        def scaled(name: str) -> pa.Array:
            values, null = pattern[name].at(index)
            return pa.array(values * by, mask=null)

        def call(stream: str, sequence: str) -> pa.Array:
            which, null = pattern[stream].at(index)
            behind = turn * pattern.of_stream[which] + pattern[sequence].at(index)[0]
            return pa.array((copy * of["streams"] + which << SEQUENCE) + behind, mask=null)

        shared = pattern["shared"].values[index] != 0
        tree, start = pattern["tree_start"].values[index], pattern["start"].values[index]
        computed = {
            "id": call("stream", "id"),
            "parent": call("parent_stream", "parent_seq"), "own": call("own_stream", "own_seq"),
            "stream": shifted("stream", copy * of["streams"]), "process": pa.array(rank), "rank": pa.array(rank),
            "call": shifted("call", turn * pattern.outermost[pattern["process"].values[index]]),
            "object": shifted("object", copy * of["objects"]),
            "file": shifted("file", np.where(shared, 0, copy * of["private_files"])),
            "start": pa.array(turn * of["period"] + tree * MOST + (start - tree) * by),
            "duration": scaled("duration"), "nested": scaled("nested"), "own_duration": scaled("own_duration"),
            "file_offset": shifted("file_offset", np.where(shared, copy * pattern["extent"].values[index], 0)),
            "selection": shifted("selection", copy * of["selections"]),
            "collective": shifted("collective", turn * of["collectives"]),
        }  # fmt: skip
        return pa.table(
            {
                name: computed[name] if name in computed else self._same(name, index)
                for name in packed.SCHEMAS["calls"].names
            }
        )

    def _same(self, name: str, index: Numbers) -> pa.Array:
        if name in self.pattern.texts:
            words = self.pattern.texts[name]
            return pa.DictionaryArray.from_arrays(
                words.indices.take(pa.array(index)), words.dictionary
            )
        values, null = self.pattern[name].at(index)
        return pa.array(values, mask=null)


def write_part(table: pa.Table, path: Path) -> None:
    """One part, coded as the packer does."""
    word = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [f.with_type(word) if f.type == pa.string() else f for f in packed.SCHEMAS["calls"]]
    )
    text = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    whole = {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if pa.types.is_integer(field.type) and field.type.bit_width >= 32
    }
    pq.write_table(
        table.cast(schema), path, compression="zstd", use_dictionary=text, column_encoding=whole,
        store_schema=False, row_group_size=122_880,
    )  # fmt: skip


def _read(connection: duckdb.DuckDBPyConnection, recorded: Path, files: str) -> Pattern:
    """The calls of a run's ranks on these files."""
    connection.execute("create schema recorded")
    for name in packed.SCHEMAS:
        at = (
            recorded
            / "tables"
            / (f"{name}/*.parquet" if name in packed.PARTED else f"{name}.parquet")
        )
        if name not in packed.DERIVED:
            connection.execute(f"create view recorded.{name} as from read_parquet('{at}')")
    packed.run(connection, HERE / "base.sql", files=files)
    pattern = Pattern(connection)
    if not pattern.base.num_rows:
        raise CannotGrow(f"{recorded}: no rank made a call on a file {files}")
    count = partial(_count, connection)
    counted = count("recorded.counters where calls <> recorded")
    odd = count("new_collective where ranks_expected <> (select count(*) from new_process)")
    several = count("new_process") - count("(select distinct number from new_process)")
    for number, what in (
        (counted, "sums of calls that were only counted: record all layers at level call"),
        (odd, "collectives of some of its ranks only"),
        (several, "ranks of several processes"),
    ):
        if number:
            raise CannotGrow(f"{recorded}: {number} {what}")
    return pattern


def _sized(
    connection: duckdb.DuckDBPyConnection, pattern: Pattern, ranks: int, calls: int
) -> Growth:
    """At least so many ranks and calls: whole copies, whole repetitions."""
    processes = len(pattern.outermost)
    copies = -(-ranks // processes)
    repetitions = max(1, -(-calls // (copies * pattern.base.num_rows)))
    sizes = {
        "ranks": copies * processes, "template_ranks": processes, "copies": copies, "repetitions": repetitions,
        "most": MOST, "period": pattern.lasts, "duration": pattern.lasts * repetitions,
        "events": copies * repetitions * pattern.base.num_rows, "streams": len(pattern.of_stream),
        "private_files": _count(connection, "new_file where not shared"),
    }  # fmt: skip
    sizes |= {
        f"{name}s": _count(connection, f"new_{name}")
        for name in ("object", "selection", "collective")
    }
    return Growth(pattern, sizes)


def _stretch(growth: Growth) -> pa.Table:
    """How often each rank lasts each times as long, first and last when."""
    of = growth.sizes
    turns, stretches = np.arange(of["repetitions"]), []
    for rank in range(of["ranks"]):
        by = chance(np.full(len(turns), rank), turns)
        for m in range(1, MOST + 1):
            where = np.flatnonzero(by == m)
            if len(where):
                stretches.append((rank, m, len(where), where[0], where[-1]))
    columns = np.array(stretches, dtype=np.int64).T
    return pa.table(dict(zip(("rank", "m", "repeated", "first", "last"), columns, strict=True)))


def grow(recorded: Path, path: Path, ranks: int, calls: int, files: str = "*") -> Grown:
    """Writes the run directory; one that is there is replaced. At least so many ranks and calls."""
    connection = packed.connect()
    growth = _sized(connection, _read(connection, recorded, files), ranks, calls)
    tables = packed.begin(path)
    packed.constants(connection, growth.sizes)
    connection.register("stretch", _stretch(growth))
    packed.run(connection, HERE / "tables.sql")
    connection.execute("create table generated_calls as from base")
    packed.run(connection, packed.HERE / "counted.sql")
    packed.run(connection, HERE / "sums.sql")
    _write_calls(connection, growth, tables / "calls")
    packed.write_others(connection, tables, {"calls"})
    layers = [
        name for (name,) in connection.sql("select distinct layer from base order by 1").fetchall()
    ]
    packed.say(path, "grown", growth.sizes["ranks"], layers)
    return Grown(path, growth.sizes["ranks"], growth.sizes["repetitions"], growth.sizes["events"])


def _write_calls(connection: duckdb.DuckDBPyConnection, growth: Growth, folder: Path) -> None:
    """Part by part, each by a process of its own; what was read and written when is summed here."""
    folder.mkdir()
    of = growth.sizes
    parts = enumerate(pieces(growth.pattern, of["copies"], of["repetitions"]))
    anew = multiprocessing.get_context("spawn")  # a fork would copy the database's threads' locks
    with ProcessPoolExecutor(mp_context=anew) as processes:
        for heated in processes.map(partial(_write_numbered, growth, folder), parts):
            connection.register("of_part", heated)
            connection.execute("insert into heated from of_part")
            connection.unregister("of_part")


def _write_numbered(growth: Growth, folder: Path, numbered: tuple[int, Piece]) -> pa.Table:
    """One part of `calls`; what `heat` holds of it."""
    number, piece = numbered
    piece_rows = growth.rows(piece)
    write_part(piece_rows, folder / f"{number:08d}.parquet")
    with packed.connect() as connection:
        packed.constants(connection, growth.sizes)
        connection.register("generated_calls", piece_rows)
        packed.run(connection, packed.HERE / "heated.sql")
        return connection.sql("from heated").to_arrow_table()
