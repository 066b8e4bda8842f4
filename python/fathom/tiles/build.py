"""Makes table `tiles` (docs/tables.md) of a run's calls: by the first reader that needs it, or by `fathom pack`."""

import bisect
import contextlib
import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from fathom import database
from fathom.database import quoted
from fathom.errors import DamagedRun
from fathom.tiles import statements
from fathom.tiles.geometry import DEEPEST, Geometry, Level

#: A level has at most this part of the calls as cells; else it is no quicker to read than they are.
PART = 8
# A small run gets levels of so many cells all the same, up to 512 bins and a row for each lane: about two megabytes.
FLOOR = 131_072
NAME = "tiles.parquet"
# In the file's metadata: of which calls it was made, and by which version of these rules.
MADE_OF = b"fathom.tiles"
VERSION = 1
# Below so many calls a line of progress is not worth it.
MANY = 1_000_000
# Cells that are read at a time: a tile is at most a few of these.
GROUP = 32_768


def fingerprint(tables: Path) -> bytes:
    """Tells one packing of a run's calls from another."""
    parts = sorted((tables / "calls").glob("*.parquet"))
    stats = [(part.name, part.stat()) for part in parts]
    words = [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats]
    return f"{VERSION} {' '.join(words)}".encode()


def is_made(file: Path, tables: Path) -> bool:
    """Is it there, and of these calls?"""
    try:
        metadata = pq.read_metadata(file).metadata or {}
    except (OSError, ValueError):
        return False
    return bool(metadata.get(MADE_OF) == fingerprint(tables))


def _deepest(con: duckdb.DuckDBPyConnection, geometry: Geometry, calls: int) -> int:
    """The finest level that is worth it; each has more cells than the one before."""

    def is_too_fine(level: Level) -> bool:
        ((cells,),) = con.sql(statements.count(level)).fetchall()
        is_needed = level.z <= geometry.first_whole
        return bool(cells > max(calls // PART, FLOOR if is_needed else 0))

    return max(0, bisect.bisect_left(geometry.levels, True, key=is_too_fine) - 1)


def _make_levels(con: duckdb.DuckDBPyConnection, geometry: Geometry) -> None:
    """The finest of the calls, each other one of the one below it."""
    finest = geometry.level(geometry.deepest)
    con.execute(
        f"create temp table level_{finest.z} as with {statements.rows('calls')},"
        f" {statements.cells(finest, 0, finest.bins)} select * from cells"
    )
    for below in reversed(geometry.levels[1:]):
        _make_coarser(con, below, geometry.level(below.z - 1))


def _make_coarser(con: duckdb.DuckDBPyConnection, below: Level, level: Level) -> None:
    con.execute(
        f"create temp table level_{level.z} as"
        f" select layer, op, kind, row // {level.lanes // below.lanes} as row, bin // 2 as bin,"
        " sum(calls)::bigint as calls, sum(time)::bigint as time, sum(bytes)::bigint as bytes,"
        " max(longest) as longest, arg_max(call, longest) as call"
        f" from level_{below.z} group by all"
    )


def _write(con: duckdb.DuckDBPyConnection, geometry: Geometry, tables: Path, file: Path) -> None:
    """Made aside and moved over, so that a reader finds a whole file or none."""
    levels = "\nunion all\n".join(statements.file(one) for one in geometry.levels)
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        made_of = quoted(fingerprint(tables).decode())
        con.execute(
            f"copy (from ({levels}) order by z, layer, y, x, cell, op) to {quoted(str(aside))}"
            f" (format parquet, compression zstd, row_group_size {GROUP},"
            f" kv_metadata {{'{MADE_OF.decode()}': {made_of}}})"
        )
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _of(con: duckdb.DuckDBPyConnection) -> tuple[Geometry, int]:
    """The run down to the deepest level there can be, and its calls."""
    facts = con.sql("select duration, (select count(*) from processes), events from runs")
    ((duration, lanes, events),) = facts.fetchall() or [(0, 0, 0)]
    if events >= MANY:
        print(f"fathom: tiles of {events:,} calls, this once", file=sys.stderr, flush=True)
    return Geometry(duration, lanes, DEEPEST), events


def make(tables: Path, file: Path) -> None:
    """Writes the table. Errors: DamagedRun."""
    began = time.monotonic()
    spill = Path(tempfile.mkdtemp(prefix="fathom-tiles-"))
    con = duckdb.connect(":memory:", config={"temp_directory": str(spill)})
    try:
        con.execute("set enable_progress_bar = false; set preserve_insertion_order = true")
        database.add_views(con, tables)
        every, calls = _of(con)
        geometry = replace(every, deepest=_deepest(con, every, calls))
        _make_levels(con, geometry)
        _write(con, geometry, tables, file)
    except (duckdb.Error, OSError) as error:
        raise DamagedRun(f"{file}: the tiles could not be made: {error}") from error
    finally:
        con.close()
        shutil.rmtree(spill, ignore_errors=True)
    if time.monotonic() - began > 1:
        print(
            f"fathom: tiles made in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True
        )


def ensure(tables: Path) -> tuple[Path, tempfile.TemporaryDirectory[str] | None]:
    """The file with the run's tiles, made if it is not there; where the run cannot be written to, in a directory that
    goes when the second is dropped."""
    file = tables / NAME
    if is_made(file, tables):
        return file, None
    if os.access(tables, os.W_OK):
        with contextlib.suppress(PermissionError):
            make(tables, file)
            return file, None
    elsewhere = tempfile.TemporaryDirectory(prefix="fathom-tiles-")
    file = Path(elsewhere.name) / NAME
    make(tables, file)
    return file, elsewhere
