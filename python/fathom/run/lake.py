"""A lake: one row a run of many, and tables beside it, as a partitioned Parquet data set that any engine reads.

Many write at once without a word to each other, and may be killed at any moment. Three rules make that safe:

- A file's name says which runs it holds, so a file of that name is that file, whoever wrote it. It is written aside and
  renamed, and taken away only when another file, whole and on disk, holds its runs as well.
- The rows of `jobs` are written last: a run is in the lake when it has one.
- A reader takes each run from one file of a table, though several may hold it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fathom.catalog import columns
from fathom.errors import DamagedRun, RunError, UsageError, printable
from fathom.files import is_file, is_there, listed, remove_abandoned, replace_text, replacing
from fathom.run import database, scratch

MARK, FORMAT = "lake.json", 1
LAST = "jobs"  # the table that is written last
#: Files of a table and day from which on they are put together: of single runs, of several.
MANY, MANY_TOGETHER = 256, 64
#: How often a reader starts again when files were put together under it.
PATIENCE = 20
#: Days before the last one that has jobs: what is read where nobody says since when.
RECENT = 30
TYPES = {"text": pa.string(), "i64": pa.int64(), "f64": pa.float64(), "time": pa.timestamp("us")}
SINGLE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.parquet")
DAY_FOLDER = re.compile(r"date=(\d{4}-\d\d-\d\d)")

#: Rows of one run by table.
Summary = Mapping[str, Sequence[Mapping[str, Any]]]
Key = tuple[str, str]


@cache
def schemas() -> dict[str, pa.Schema]:
    """Of each table, those that others refer to last."""
    empty = {table.name: _schema(table) for table in columns.tables(columns.OF_LAKE)}
    return {name: empty[name] for name in sorted(empty, key=lambda name: name == LAST)}


def _schema(table: columns.Table) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, pa.list_(TYPES[one.type]) if one.is_list else TYPES[one.type])
            for one in table.columns
            for name in one.names
        ]
    )


def is_lake(path: Path) -> bool:
    """Is it one, by its mark?"""
    return is_file(path / MARK)


def make(path: Path) -> Lake:
    """The lake in this directory, made if it is empty or not there; what killed writers left in it goes. Errors:
    UsageError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = [one for one in listed(path) if not one.name.startswith(".")]
        if not is_lake(path):
            if others:
                raise UsageError(
                    f"{printable(path)}: is neither a lake nor empty; name a directory of its own"
                )
            replace_text(path / MARK, json.dumps({"format": FORMAT}) + "\n")
        remove_abandoned(path)
    except OSError as error:
        raise _failed(path, error) from error
    return Lake(path)


def _failed(path: Path, error: OSError) -> RunError:
    return RunError(
        f"{printable(error.filename or path)}: {printable(error.strerror or error)}; what was written stays good"
    )


def _name(keys: Sequence[Key]) -> str:
    """Of a file that holds these runs, each once."""
    if len(keys) == 1:
        return f"{keys[0][0]}-{keys[0][1]}.parquet"
    text = "\n".join(" ".join(key) for key in sorted(keys))
    return f"together-{hashlib.sha256(text.encode()).hexdigest()[:32]}.parquet"


def _keys_of(rows: pa.Table) -> list[Key]:
    pairs = zip(rows["id"].to_pylist(), rows["version"].to_pylist(), strict=True)
    return sorted(set(pairs))


def _text(value: Any) -> Any:
    """Names are hostile text: what is no UTF-8 is written as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_text(one) for one in value] if isinstance(value, list) else value


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    arrays = [
        pa.array([_text(row.get(field.name)) for row in rows], field.type)
        for field in schemas()[name]
    ]
    return pa.table(arrays, schema=schemas()[name])


def _day(summary: Summary) -> date:
    started: datetime = summary[LAST][0]["started"]
    return started.date()


def moment(ns: int) -> datetime:
    """A time of a run, as the tables have it; none that a calendar has not."""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(ns / 1e9, UTC).replace(tzinfo=None)
    return datetime(1970, 1, 1)


def _write(folder: Path, keys: Sequence[Key], rows: pa.Table) -> Path:
    """The file of these runs in the folder of a table and day, written in the lake's own: there is one place alone to
    look for what killed writers left, and other engines meet whole files."""
    file = folder / _name(keys)
    if not is_there(file):
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(file, beside=folder.parent.parent) as partial:
            pq.write_table(rows, partial, compression="zstd")
    return file


def _files(folder: Path) -> list[Path]:
    return [one for one in listed(folder, "*.parquet") if not one.name.startswith(".")]


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Is nobody else putting files together? Two would do no harm, but the work twice."""
    descriptor = os.open(path / ".compacting", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """False: another has the lock. A file system without locks gives it to everybody. Errors: OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise
    return True


class Lake:
    """One, to write to and to ask."""

    def __init__(self, path: Path) -> None:
        """Errors: UsageError where it is none, or of a later version."""
        try:
            content = json.loads((path / MARK).read_text(encoding="utf-8"))
            given = content["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{printable(path)}: is no lake; fathom collect --into DIR RUN makes one"
            ) from error
        if given != FORMAT:
            raise UsageError(
                f"{printable(path)}: its format is {printable(repr(given))}; this version has {FORMAT}"
            )
        self.path = path.absolute()
        self._known: dict[Path, list[Key]] = {}

    def days(self) -> list[date]:
        """Those with runs, in order."""
        folders = (DAY_FOLDER.fullmatch(one.name) for one in listed(self.path / LAST, "date=*"))
        return sorted(date.fromisoformat(one[1]) for one in folders if one)

    def _folder(self, table: str, day: date) -> Path:
        return self.path / table / f"date={day.isoformat()}"

    def has(self, day: date, key: Key) -> bool:
        """Is this version of the run in the lake?"""
        folder = self._folder(LAST, day)
        if is_there(folder / _name([key])):
            return True
        for file in _files(folder):
            # A file that went was put together with others, under a name that is new to us.
            if file not in self._known and not SINGLE.fullmatch(file.name):
                with contextlib.suppress(FileNotFoundError):
                    self._known[file] = _keys_of(_read(file, ["id", "version"]))
        return any(key in keys for file, keys in self._known.items() if file.parent == folder)

    def add(self, summaries: Sequence[Summary]) -> int:
        """Rows of runs, all of those of a day in one file a table; how many were not there. Errors: RunError; what was
        written stays good."""
        different = {(one[LAST][0]["id"], one[LAST][0]["version"]): one for one in summaries}
        new = {key: one for key, one in different.items() if not self.has(_day(one), key)}
        days: dict[date, list[Summary]] = {}
        for one in new.values():
            days.setdefault(_day(one), []).append(one)
        try:
            for table in schemas():
                for day, of_day in days.items():
                    rows = _table(table, [row for one in of_day for row in one.get(table, ())])
                    if rows.num_rows:
                        _write(self._folder(table, day), _keys_of(rows), rows)
            for day in days:
                self._tidy(day)
        except OSError as error:
            raise _failed(self.path, error) from error
        return len(new)

    def fill(self, table: str, rows: pa.Table) -> None:
        """Rows of a table, each with its `date`, `jobs` last."""
        for day in sorted(rows["date"].unique().to_pylist()):
            of_day = rows.filter(pc.equal(rows["date"], day)).drop_columns("date")
            of_day = of_day.select(schemas()[table].names).cast(schemas()[table])
            _write(self._folder(table, day), _keys_of(of_day), of_day)

    def _tidy(self, day: date) -> None:
        """Many small files become one."""
        for table in schemas():
            folder = self._folder(table, day)
            files = _files(folder)
            single = [one for one in files if SINGLE.fullmatch(one.name)]
            together = len(files) - len(single)
            if len(single) > MANY or together > MANY_TOGETHER:
                with _alone(self.path) as alone:
                    if alone:
                        _compact(folder, files if together > MANY_TOGETHER else single)

    def compact(self) -> int:
        """One file a table and day; how many files that leaves out. Errors: RunError."""
        gone = 0
        try:
            remove_abandoned(self.path)
            for table in schemas():
                for folder in listed(self.path / table, "date=*"):
                    gone += _compact(folder, _files(folder))
        except OSError as error:
            raise _failed(self.path, error) from error
        return gone

    def listing(self, since: date | None) -> dict[str, list[Path]]:
        """The files of each table. A directory that changes while it is read may show neither what went nor what took
        its place: so it is read until it is the same twice."""
        before: dict[str, list[Path]] = {}
        for _ in range(PATIENCE):
            files = {
                table: [
                    file
                    for folder in listed(self.path / table, "date=*")
                    if since is None or folder.name >= f"date={since.isoformat()}"
                    for file in _files(folder)
                ]
                for table in schemas()
            }
            if files == before:
                break
            before = files
        return before

    def reading(self, since: date | None = None) -> Reader:
        """The runs that are in the lake now, of the days from `since` on. Errors: RunError."""
        for left in reversed(range(PATIENCE)):
            try:
                return Reader(self.listing(since))
            except duckdb.IOException as error:
                if not left:
                    raise RunError(
                        f"{printable(self.path)}: {database.first_line(error)}"
                    ) from error
            except duckdb.Error as error:
                raise _damaged(database.first_line(error)) from error
        raise AssertionError

    def since(self, word: date | None) -> date | None:
        """The first day to read: this one, else so many before the newest with runs."""
        newest = max(self.days(), default=None)
        return word or (newest - timedelta(days=RECENT) if newest else None)


def _damaged(why: str) -> DamagedRun:
    return DamagedRun(f"{printable(why)}; remove that file and collect its runs again")


def _read(file: Path, names: list[str] | None = None) -> pa.Table:
    try:
        with pq.ParquetFile(file) as opened:
            return opened.read(columns=names)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _damaged(f"{file}: {error}") from error


def _compact(folder: Path, files: Sequence[Path]) -> int:
    """Puts these together in one file, then removes them; how many went."""
    seen: set[Key] = set()
    parts: list[pa.Table] = []
    inputs: list[Path] = []
    for file in files:
        with contextlib.suppress(FileNotFoundError):  # another one put it together
            rows = _read(file)
            new = set(_keys_of(rows)) - seen
            pairs = zip(rows["id"].to_pylist(), rows["version"].to_pylist(), strict=True)
            parts.append(rows.filter(pa.array([pair in new for pair in pairs], pa.bool_())))
            seen |= new
            inputs.append(file)
    if len(inputs) < 2:
        return 0
    output = _write(folder, sorted(seen), pa.concat_tables(parts).combine_chunks())
    gone = [file for file in inputs if file != output]
    for file in gone:
        file.unlink(missing_ok=True)
    return len(gone)


class Reader:
    """A lake's tables as they were at one moment, each run once, with the macros of analysis/sql."""

    def __init__(self, files: Mapping[str, Sequence[Path]]) -> None:
        """Reads them. Errors: those of DuckDB."""
        self._connection = duckdb.connect(":memory:")
        with contextlib.suppress(duckdb.InvalidInputException):
            self._connection.execute("set enable_progress_bar = false")
        self._connection.execute(f"set temp_directory = {database.quoted(str(scratch.spill()))}")
        for table in reversed(schemas()):
            self._connection.execute(f"create table {table} as {_rows(table, files[table])}")
        self._connection.execute("set enable_external_access = false")

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one reading statement."""
        return database.ask(self._connection, text, values or None)


def _rows(table: str, files: Sequence[Path]) -> str:
    """The statement of a table's rows, each run once: its last version, of one file."""
    if not files:
        none = (f"null::{_sql(field.type)} as {field.name}" for field in schemas()[table])
        return f"select {', '.join(none)}, null::date as date limit 0"
    parts = ", ".join(database.quoted(str(file)) for file in files)
    every = f"read_parquet([{parts}], hive_partitioning = true, hive_types = {{date: date}}, filename = true)"
    if table == LAST:
        return (
            f"select * exclude (filename) from {every} qualify row_number() over"
            " (partition by id order by collected desc, version, filename) = 1"
        )
    return (
        f"select * exclude (filename) from {every} semi join {LAST} using (id, version)"
        " qualify rank() over (partition by id order by filename) = 1"
    )


def _sql(kind: pa.DataType) -> str:
    names = {pa.string(): "varchar", pa.int64(): "bigint", pa.float64(): "double"}
    if pa.types.is_list(kind):
        return f"{names[kind.value_type]}[]"
    return names.get(kind, "timestamp")
