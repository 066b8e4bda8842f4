"""The store: a run directory as tables."""

import contextlib
import math
import os
import threading
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import pyarrow as pa

from fathom.errors import DamagedRun, FathomError, UsageError, unknown
from fathom.files import is_file, is_folder, is_there, listed
from fathom.run import database, foreign, lost, macros, manifest, onefile
from fathom.run.arrow import parquet
from fathom.run.directory import find, is_settled, resolve
from fathom.run.engine import engine
from fathom.run.logs import tool_of
from fathom.run.rings import are_done, own_rings, remove
from fathom.run.scratch import Scratch
from fathom.text.quoting import shell

if TYPE_CHECKING:
    from fathom.run.cluster import Workers

# Tables that every version wrote; those that came later are empty where they are missing (fathom.run.database).
ALWAYS = (
    "runs", "processes", "streams", "nodes", "clocks", "files", "objects", "selections", "calls", "args", "links",
    "collectives", "counters", "hints_in_force", "sites", "marks", "ops",
)  # fmt: skip


#: Directories of the runs that this process has opened.
opened: set[Path] = set()


class Run:
    """One run. Tables as Arrow: `run.table("calls")`; SQL: `run.sql("select …")`."""

    def __init__(self, path: Path, memory: str | None = None, with_runtime: bool = False) -> None:
        """Of a directory that is packed; `open_run` sees to that. `memory`: limit of the database's. `with_runtime`:
        also what is not the program's but a run-time's (docs/tables.md, `runtime`)."""
        self.path, self._memory, self.with_runtime = path, memory, with_runtime
        opened.add(path)
        self._stored_macros: set[str] = set()
        self._filled: dict[str, bool] = {}
        self._turn = threading.Lock()  # a connection keeps the rows of one statement
        self.name = path.name.removesuffix(".fathom")
        self.manifest = manifest.read(path)
        self.unpacked: Scratch | None = None  # goes when the run does
        self.workers: Workers | None = None  # who may be asked in parts

    @property
    def tables(self) -> list[str]:
        """Names of all tables."""
        return sorted(database.table_files(self.path / "tables"))

    def table(self, name: str) -> pa.Table:
        """A whole table. The big ones are better asked by SQL."""
        files = database.table_files(self.path / "tables")
        if name not in files:
            raise UsageError(unknown(f"{self.path}: no table", name, files))
        if name == "files" and self.manifest.get("mounts"):
            return self.sql("from files")  # which has their file systems from there
        import pyarrow.dataset  # takes as long to load as DuckDB; SQL does without

        pattern = files[name]
        try:
            parts = [str(part) for part in database.parts_of(pattern)]
            rows = pyarrow.dataset.dataset(parts, format="parquet")
            apart = name in database.APART and "runtime" in rows.schema.names
            return rows.to_table(
                filter=None if self.with_runtime or not apart else ~pyarrow.dataset.field("runtime")
            )
        except database.UNREADABLE as error:
            raise database.damaged(pattern, str(error)) from error

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The locked database (`fathom.run.database`)."""
        return database.connect(self.path / "tables", self._memory, with_runtime=self.with_runtime)

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one reading statement; `$name` in it stands for a value given by that name. Of millions: `many`."""
        with self._turn:
            return database.ask(self.connection, text, values or None)

    def many(self, text: str) -> pa.Table:
        """Rows of one reading statement, millions of them in half the memory that `sql` takes."""
        return database.many(self.connection, text)

    def in_parts(self, text: str, combine: str, **values: Any) -> pa.Table:
        """Rows of a statement that is asked of the calls of some ranks at a time, where there are workers; `combine` is
        asked of all these rows, `partials`."""
        partials = (
            self.workers.ask(self, text, values) if self.workers else [self.sql(text, **values)]
        )
        return database.combined(partials, combine, values)

    def keep(self, name: str, text: str) -> None:
        """Makes a table of one reading statement's rows, for what is asked of this run after it."""
        database.keep(self.connection, name, text)

    def has_rows(self, table: str) -> bool:
        """Has this table of the run any? Not of `calls`, of which a copy has others."""
        if table not in self._filled:
            some = self.sql(f'select exists (from "{table}") as some')
            self._filled[table] = bool(some["some"][0].as_py())
        return self._filled[table]

    def keep_macro(self, name: str, rows_of: str | None = None) -> None:
        """Works out a macro without parameters once: for what is asked of this run after it, a table has its rows.
        `rows_of`: the macro that gives them."""
        if name not in self._stored_macros:
            self.keep(f"kept_{name}", f"from {rows_of or name}()")
            macros.keep(self.connection, name, f"kept_{name}")
            self._stored_macros.add(name)

    def looking_at(self, text: str, **values: Any) -> "Run":
        """The same run, where `calls` are the rows of this statement."""
        copy = self._copy()
        database.keep(copy.connection, "calls", text, values)
        return copy

    def looking_at_rows(self, calls: pa.Table) -> "Run":
        """The same run, where these are the `calls`."""
        copy = self._copy()
        copy.connection.register("calls", calls)
        return copy

    def _copy(self) -> "Run":
        """One with tables of its own beside the run's."""
        copy = Run(self.path, self._memory)
        copy.connection, copy._filled = macros.cursor(self.connection), self._filled
        return copy


R = TypeVar("R", bound=Run)


def streams_lost(directory: Path) -> bool:
    """Is a stream file that the tables were made of no longer there? Then packing again would lose its calls."""
    known = _known_streams(directory)
    shared = any(path.startswith("sink/") for path in known)
    return (shared and not listed(directory, "sink/*.blocks")) or any(
        not is_there(directory / path) for path in known if path.startswith("streams/")
    )


def _streams_of_tables(directory: Path) -> bool:
    """Is there any that the tables were made of?"""
    return any(is_there(directory / path) for path in _known_streams(directory))


def _known_streams(directory: Path) -> list[str]:
    """Those that the tables were made of; none where it is not packed."""
    known = directory / "tables" / "streams.parquet"
    if not is_file(known):
        return []
    try:
        with parquet.ParquetFile(known) as file:
            return [str(path) for path in file.read(columns=["path"])["path"].to_pylist()]
    except database.UNREADABLE as error:
        raise database.damaged(known, str(error)) from error
    except KeyError:
        raise database.damaged(known, "has no column path") from None


def _pack(directory: Path, quiet: bool) -> None:
    """Asks the engine, which does nothing when the tables are up to date. What cannot be packed here
    (no engine, a read-only directory, streams that were deleted) is read as it is, if there is anything to read."""
    packed = is_file(directory / "tables" / "runs.parquet")
    if not is_folder(directory / "streams"):
        return
    if packed and not is_settled(directory) and _stays_as_it_is(directory):
        return
    try:
        if not os.access(directory, os.W_OK):
            raise FathomError(
                f"{directory} is not packed, and it is not writable: its owner packs it"
                f" ({shell(['fathom', 'pack', str(directory)])}), or read a copy"
            )
        engine("pack", *(["--quiet"] if quiet else []), str(directory))
    except DamagedRun:
        raise
    except FathomError:
        if not packed:
            raise


def _is_closed(directory: Path) -> bool:
    """Its streams are another's, who lets nobody read them; its tables may be read all the same."""
    nodes = [node for node in listed(directory / "streams") if is_folder(node)]
    return not all(os.access(node, os.R_OK | os.X_OK) for node in nodes)


def _stays_as_it_is(directory: Path) -> bool:
    """Streams of a packed run are gone, or may not be read."""
    if _is_closed(directory):
        return True
    if not streams_lost(directory):
        return False
    if listed(directory, "streams/*/*.fts") and not _streams_of_tables(directory):
        again = shell(["fathom", "pack", "--force", str(directory)])
        raise DamagedRun(f"{directory}: its tables are of another run; make its own: {again}")
    return True


def _tidy(run: "Run") -> None:
    """The node's control page has served once the run is over and no ring is left to save."""
    rings = own_rings(run.path)
    if rings is None or not are_done(rings):
        return
    alive = run.sql("select count(*) as n from processes where ended = 'open'")["n"][0].as_py()
    if not alive:
        with contextlib.suppress(OSError):
            remove(rings)


def _missing(directory: Path) -> list[str]:
    tables = database.table_files(directory / "tables")
    return [name for name in ALWAYS if name not in tables]


def _check(directory: Path) -> None:
    """The engine makes deleted tables again. Where that could not be done, there is nothing to read."""
    missing = _missing(directory)
    if not missing:
        return
    gone = f"{directory}: no table {', '.join(missing)}"
    if streams_lost(directory) or not (
        listed(directory, "streams/*/*.fts") or listed(directory, "sink/*.blocks")
    ):
        raise DamagedRun(f"{gone}, and the streams it was made of are gone too")
    raise DamagedRun(f"{gone}; it can be made again where the directory is writable")


def open_run(
    path: str | PathLike[str],
    memory: str | None = None,
    *,
    quiet: bool = False,
    with_runtime: bool = False,
) -> Run:
    """The run in this directory, or in this one file. The first reader packs it, and says so unless it is to be
    `quiet`; the engine locks out the second. `memory`: what its database may use, as `4 GiB`; None: most of the
    machine's. `with_runtime`: also what is not the program's but a run-time's."""
    return open_as(Run, path, memory, quiet=quiet, with_runtime=with_runtime)


def open_as(
    kind: type[R],
    path: str | PathLike[str],
    memory: str | None = None,
    *,
    quiet: bool = False,
    with_runtime: bool = False,
) -> R:
    """The same, of a class that can more."""
    if is_file(Path(path)) and not find(path) and not tool_of(Path(path)):
        unpacked = _unpacked(kind, Path(path), memory, with_runtime)
        if not quiet:
            lost.say(unpacked.sql, Path(path))
        return unpacked
    directory = resolve(path)
    with foreign.readable(directory):
        # Who packs it says what is lost.
        known = is_file(directory / "tables" / "runs.parquet")
        _pack(directory, quiet)
        _check(directory)
        run = kind(directory, memory, with_runtime)
        if not _is_closed(directory):
            manifest.complete(run.path, run.sql)
        _tidy(run)
        if known and not quiet:
            lost.say(run.sql, run.path)
    return run


def _unpacked(kind: type[R], file: Path, memory: str | None, with_runtime: bool) -> R:
    """The run in this file. What is wrong is said of the file: nobody knows where it is unpacked to."""
    unpacked = Scratch()
    directory = onefile.unpack(file, unpacked.path)
    try:
        if missing := _missing(directory):
            raise DamagedRun(f"{directory}: no table {', '.join(missing)}")
        run = kind(directory, memory, with_runtime)
        run.unpacked = unpacked
        assert run.connection
    except DamagedRun as error:
        raise DamagedRun(str(error).replace(f"{unpacked.path}/", f"{file}: ")) from error
    return run


def as_json(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON has them. u64 columns (ids) become text, since a reader's numbers are often doubles."""
    wide = {field.name for field in table.schema if pa.types.is_uint64(field.type)}
    return [
        {
            key: str(value) if key in wide and value is not None else plain(value)
            for key, value in row.items()
        }
        for row in table.to_pylist()
    ]


def plain(value: Any) -> Any:
    """A value as JSON has it. Sums of 64-bit columns come as decimals; what JSON has no form for becomes text."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str | int | float | bool | NoneType):
        return value
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value)
