"""Makes table `tiles` (docs/tables.md) of a run's calls: by the first reader that needs it, or by `fathom pack`."""

import bisect
import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from fathom import database
from fathom.derived import Derived, Watch, ignore
from fathom.errors import DamagedRun
from fathom.tiles import statements
from fathom.tiles.geometry import LEVELS, Geometry, Level

#: A level has at most this part of the calls as cells; else it is no quicker to read than they are.
PART = 8
# A small run gets levels of so many cells all the same, up to 512 bins and a row for each lane: about two megabytes.
FLOOR = 131_072
TILES = Derived("tiles.parquet", "fathom.tiles", 2)
# Below so many calls a line of progress is not worth it.
MANY = 1_000_000
# Of many calls the cells of a level are counted in every so many of its rows.
EVERY = 8
# Cells that are read at a time: a tile is at most a few of these.
GROUP = 32_768


def _deepest(con: duckdb.DuckDBPyConnection, geometry: Geometry, calls: int) -> int:
    """The finest level that is worth it, about; each has more cells than the one before."""

    every = EVERY if calls >= MANY else 1

    def is_too_fine(level: Level) -> bool:
        most = max(calls // PART, FLOOR if level.z <= geometry.first_whole else 0)
        ((cells,),) = con.sql(statements.count(level, most, every)).fetchall()
        return bool(cells > most)

    return max(0, bisect.bisect_left(geometry.levels(LEVELS), True, key=is_too_fine) - 1)


def _make_levels(con: duckdb.DuckDBPyConnection, geometry: Geometry, deepest: int) -> None:
    """The finest of the calls, each other one of the one below it."""
    finest = geometry.level(deepest)
    con.execute(
        f"create temp table level_{finest.z} as with {statements.rows('calls')},"
        f" {statements.cells(finest, 0, finest.bins)} select * from cells"
    )
    for below in reversed(geometry.levels(deepest)[1:]):
        _make_coarser(con, below, geometry.level(below.z - 1))


def _make_coarser(con: duckdb.DuckDBPyConnection, below: Level, level: Level) -> None:
    con.execute(
        f"create temp table level_{level.z} as"
        f" select layer, op, kind, row // {level.lanes // below.lanes} as row, bin // 2 as bin,"
        " sum(calls)::bigint as calls, sum(time)::bigint as time, sum(bytes)::bigint as bytes,"
        " max(longest) as longest, arg_max(call, longest) as call"
        f" from level_{below.z} group by all"
    )


def _write(con: duckdb.DuckDBPyConnection, levels: list[Level], tables: Path, file: Path) -> None:
    every = "\nunion all\n".join(statements.file(one) for one in levels)
    rows = f"from ({every}) order by z, layer, y, x, cell, op"
    TILES.write(con, rows, f"compression zstd, row_group_size {GROUP}", tables, file)


def _of(con: duckdb.DuckDBPyConnection) -> tuple[Geometry, int]:
    """How the run is cut, and its calls."""
    facts = con.sql("select duration, (select count(*) from processes), events from runs")
    ((duration, lanes, events),) = facts.fetchall() or [(0, 0, 0)]
    if events >= MANY:
        print(f"fathom: tiles of {events:,} calls, this once", file=sys.stderr, flush=True)
    return Geometry(duration, lanes), events


def make(tables: Path, file: Path, watch: Watch = ignore) -> None:
    """Writes the table. Errors: DamagedRun."""
    began = time.monotonic()
    spill = Path(tempfile.mkdtemp(prefix="fathom-tiles-"))
    con = duckdb.connect(":memory:", config={"temp_directory": str(spill)})
    watch(con)
    try:
        con.execute("set enable_progress_bar = false; set preserve_insertion_order = true")
        database.add_views(con, tables)
        geometry, calls = _of(con)
        deepest = _deepest(con, geometry, calls)
        _make_levels(con, geometry, deepest)
        _write(con, geometry.levels(deepest), tables, file)
    except (duckdb.Error, OSError) as error:
        raise DamagedRun(f"{file}: the tiles could not be made: {error}") from error
    finally:
        con.close()
        shutil.rmtree(spill, ignore_errors=True)
    if time.monotonic() - began > 1:
        print(
            f"fathom: tiles made in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True
        )


def ensure(
    tables: Path, watch: Watch = ignore
) -> tuple[Path, tempfile.TemporaryDirectory[str] | None]:
    """The file with the run's tiles, made if it is not there; where the run cannot be written to, in a directory that
    goes when the second is dropped. `watch`: gets the connection that makes them, and may interrupt it."""
    file = tables / TILES.name
    if TILES.is_made(file, tables):
        return file, None
    if os.access(tables, os.W_OK):
        with contextlib.suppress(PermissionError):
            make(tables, file, watch)
            return file, None
    elsewhere = tempfile.TemporaryDirectory(prefix="fathom-tiles-")
    file = Path(elsewhere.name) / TILES.name
    make(tables, file, watch)
    return file, elsewhere
