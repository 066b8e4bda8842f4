"""Makes table `tiles` (docs/tables.md) of a run's calls: by the first reader that needs it, or by `fathom pack`."""

import bisect
import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from fathom.analysis.pictured import OUTERMOST
from fathom.cache import answers
from fathom.cache.derived import Derived, Watch, ignore
from fathom.errors import DamagedRun, FathomError
from fathom.run import cluster, database, macros
from fathom.run.scratch import Scratch
from fathom.text import numbers
from fathom.webapi.tiles import statements
from fathom.webapi.tiles.geometry import ZOOMS, Geometry, Zoom

#: A zoom has at most this part of the calls as cells; else it is no quicker to read than they are.
PART = 8
# A small run gets zooms of so many cells all the same, up to 512 bins and a row for each lane: about two megabytes.
FLOOR = 131_072
TILES = Derived("tiles.parquet", "fathom.webapi.tiles", 5)
#: Those of the run-time's calls too: no table of the run, so they lie with what the page keeps.
OF_ALL = Derived(f"{answers.FOLDER}/tiles_of_all.parquet", TILES.key, TILES.version)
#: Times that tiles are made again where a packer has replaced their tables meanwhile.
AGAIN = 8
# Below so many calls a line of progress is not worth it.
MANY = 1_000_000
# Of many calls the cells of a zoom are counted in every so many of its rows.
EVERY = 8
# Cells that are read at a time: a tile is at most a few of these.
GROUP = 32_768
# MiB that the database may use, and more for each thread and each million calls; what is more goes to disk, but of sums
# for many cells not all can.
MEMORY, OF_THREAD, OF_MILLION = 1024, 32, 4
#: Of folders of files that serve while tiles are made. Those beside the tables are guarded by the lock of a table that
#: every run has: held by each who makes such a folder, alone by who clears what killed ones left.
FOLDER, GUARD = "fathom-tiles-", "runs.parquet"


@dataclass(frozen=True)
class Source:
    """A run's calls, asked by us or by workers for some rows of the picture each."""

    con: duckdb.DuckDBPyConnection
    tables: Path
    folder: Path  # of files that workers write
    workers: cluster.Workers | None = None

    def number(self, zoom: Zoom, text: str) -> int:
        """Of a statement that gives one, which is the sum of those of a zoom's rows."""
        if self.workers is None:
            return _number(self._rows(text))
        together = self._together(zoom)
        return sum(map(_number, self.workers.each(self.tables, together, cluster.answer, text, {})))

    def keep(self, zoom: Zoom, text: str) -> None:
        """Rows of a statement, where none is of several of a zoom's rows, as table `zoom_z`."""
        if self.workers is not None:
            together, folder = self._together(zoom), str(self.folder)
            files = self.workers.each(self.tables, together, cluster.write, text, folder)
            if files:  # of a run without calls nobody is asked
                text = f"from read_parquet([{', '.join(map(database.quoted, files))}])"
        macros.execute(self.con, f"create temp table zoom_{zoom.z} as {text}")

    def _together(self, zoom: Zoom) -> pa.Table:
        return self._rows(statements.together(zoom))

    def _rows(self, text: str) -> pa.Table:
        macros.load(self.con, text)
        return self.con.sql(text).to_arrow_table()


def _number(rows: pa.Table) -> int:
    return int(rows[0][0].as_py())


def _deepest(source: Source, geometry: Geometry, calls: int) -> int:
    """The finest zoom that is worth it, about; each has more cells than the one before."""

    every = EVERY if calls >= MANY else 1

    def is_too_fine(zoom: Zoom) -> bool:
        most = max(calls // PART, FLOOR if zoom.z <= geometry.first_whole else 0)
        return source.number(zoom, statements.count(zoom, most, every)) > most

    return max(0, bisect.bisect_left(geometry.zooms(ZOOMS), True, key=is_too_fine) - 1)


def _make_zooms(source: Source, geometry: Geometry, deepest: int) -> None:
    """The finest of the calls, each other one of the one below it."""
    finest = geometry.zoom(deepest)
    cells = statements.cells(finest, 0, finest.bins)
    source.keep(finest, f"with {statements.rows('calls', OUTERMOST)} from {cells}")
    for below in reversed(geometry.zooms(deepest)[1:]):
        _make_coarser(source.con, below, geometry.zoom(below.z - 1))


def _make_coarser(con: duckdb.DuckDBPyConnection, below: Zoom, zoom: Zoom) -> None:
    macros.execute(
        con,
        f"create temp table zoom_{zoom.z} as"
        f" select layer, op, kind, row // {zoom.lanes // below.lanes} as row, bin // 2 as bin,"
        " sum(calls)::bigint as calls, sum(time)::bigint as time, sum(bytes)::bigint as bytes,"
        " max(longest) as longest, longest_id(longest, call) as call"
        f" from zoom_{below.z} group by all",
    )


def _write(con: duckdb.DuckDBPyConnection, zooms: list[Zoom], fingerprint: str, file: Path) -> None:
    # Each zoom is sorted by itself: a sort of all at once needs more than the limit, whatever goes to disk.
    order = "order by layer, y, x, cell, op, kind"
    rows = "\nunion all\n".join(f"(from ({statements.file(one)}) {order})" for one in zooms)
    TILES.write(con, rows, f"compression zstd, row_group_size {GROUP}", fingerprint, file)


def _of(con: duckdb.DuckDBPyConnection) -> tuple[Geometry, int]:
    """How the run is cut, and its calls."""
    facts = con.sql("select duration, (select count(*) from processes), events from runs")
    ((duration, lanes, events),) = facts.fetchall() or [(0, 0, 0)]
    if events >= MANY:
        print(
            f"fathom: tiles of {numbers.things(events, 'call')}, this once",
            file=sys.stderr,
            flush=True,
        )
    return Geometry(duration, lanes), events


def _limit(con: duckdb.DuckDBPyConnection, calls: int) -> None:
    memory = MEMORY + OF_THREAD * (os.cpu_count() or 1) + OF_MILLION * (calls // 1_000_000)
    con.execute(f"set memory_limit = '{memory} MiB'")


def _fingerprint(tables: Path) -> str:
    """As Derived has it; empty: the tables are just being replaced."""
    try:
        return TILES.fingerprint(tables)
    except OSError:
        return ""


class _MadeAnewError(DamagedRun):
    """Another has packed the run meanwhile."""


def _check_same(tables: Path, fingerprint: str) -> None:
    """Errors: DamagedRun where these are not the tables any more that tiles were to be made of."""
    if not fingerprint or _fingerprint(tables) != fingerprint:
        raise _MadeAnewError(f"{tables}: made anew while tiles were made of them; try again")


@contextlib.contextmanager
def _folder(tables: Path | None) -> Iterator[Path]:
    """One that goes at the end; beside the tables if they are named, for workers write nowhere else."""
    with contextlib.ExitStack() as held:
        if tables is None:
            scratch = Scratch()
            held.callback(scratch.remove)
            yield scratch.path
            return
        guard = held.enter_context((tables / GUARD).open("rb"))
        with contextlib.suppress(OSError):  # no locks here: nobody will clear anything
            fcntl.flock(guard, fcntl.LOCK_SH)
        folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=tables))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _clear(tables: Path) -> None:
    """Removes what makers left that were killed, unless another is at work."""
    left = list(tables.glob(f"{FOLDER}*"))
    if left:
        with contextlib.suppress(OSError), (tables / GUARD).open("r+b") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for folder in left:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _database(spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config={"temp_directory": str(spill)}) as con:
        con.execute("set enable_progress_bar = false; set preserve_insertion_order = true")
        yield con


def make(
    tables: Path,
    file: Path,
    watch: Watch = ignore,
    workers: cluster.Workers | None = None,
    with_runtime: bool = False,
) -> None:
    """Writes the table. Errors: DamagedRun, RunError of workers."""
    began = time.monotonic()
    fingerprint = _fingerprint(tables)
    try:
        with _folder(tables if workers else None) as spill, _database(spill) as con:
            watch(con)
            database.add_views(con, tables, with_runtime=with_runtime)
            geometry, calls = _of(con)
            _limit(con, calls)
            source = Source(con, tables, spill, workers)
            deepest = _deepest(source, geometry, calls)
            _make_zooms(source, geometry, deepest)
            _write(con, geometry.zooms(deepest), fingerprint, file)
    except (duckdb.Error, OSError, FathomError) as error:
        _check_same(tables, fingerprint)
        if isinstance(error, FathomError):
            raise
        raise DamagedRun(
            f"{file}: the tiles could not be made: {database.first_line(error)}"
        ) from error
    _check_same(tables, fingerprint)
    if time.monotonic() - began > 1:
        print(
            f"fathom: tiles made in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True
        )


def ensure(
    tables: Path,
    watch: Watch = ignore,
    workers: cluster.Workers | None = None,
    with_runtime: bool = False,
) -> tuple[Path, Scratch | None]:
    """The file with the run's tiles, made if it is not there; where the run cannot be written to, in a directory that
    goes when the second is dropped. `watch`: gets the connection that makes them, and may interrupt it. `workers`: make
    most of it, where the run can be written to. `with_runtime`: also of what is a run-time's, which workers do not look
    at."""
    for _ in range(AGAIN):
        with contextlib.suppress(_MadeAnewError):
            return _ensured(tables, watch, workers, with_runtime)
    return _ensured(tables, watch, workers, with_runtime)


def _ensured(
    tables: Path, watch: Watch, workers: cluster.Workers | None, with_runtime: bool
) -> tuple[Path, Scratch | None]:
    """The same, once. Errors: _MadeAnewError."""
    which = OF_ALL if with_runtime else TILES
    file = tables / which.name
    writable = os.access(tables, os.W_OK)
    if writable:
        _clear(tables)
    if which.is_current(file, tables):
        return file, None
    if writable:
        with contextlib.suppress(PermissionError):
            file.parent.mkdir(exist_ok=True)
            make(tables, file, watch, None if with_runtime else workers, with_runtime)
            return file, None
    elsewhere = Scratch()
    file = elsewhere.path / file.name
    make(tables, file, watch, with_runtime=with_runtime)
    return file, elsewhere
