"""A copy of a large run's calls, one part of its time after the other, so that a brush reads what is brushed. In
`calls` they lie thread after thread, and a second of the run is everywhere.

A database file, not Parquet: what is asked of a million calls is answered from it before they could be unpacked. Of
the columns, those that answers on a selection need. Exact: what it is cut to holds all calls that last into the times,
and each statement looks once more.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from fathom.cache.answers import FOLDER
from fathom.cache.derived import Derived, Watch
from fathom.errors import printable
from fathom.files import replacing
from fathom.run import database
from fathom.run.database import quoted
from fathom.run.scratch import Scratch

COPY = Derived(f"{FOLDER}/calls_by_time.duckdb", "fathom.calls_by_time", 4)
#: What sorting may take of memory; beyond it spills to disk.
MEMORY = "4 GiB"
#: Parts of the run: one after the other, in each one process after the other, so that both find their calls together.
PARTS = 256
COLUMNS = (
    "id", "stream", "process", "rank", "parent", "depth", "layer", "op", "kind", "file", "start",
    "duration", "nested", "file_offset", "size", "bytes", "error", "selection",
)  # fmt: skip
#: Columns of a few words, held as their numbers: grouped and compared in two thirds of the time.
WORDS = ("layer", "op", "kind")


def attach(connection: duckdb.DuckDBPyConnection, tables: Path) -> bool:
    """Lets the statements of a run's database see the copy, where there is one of these calls."""
    file = tables / COPY.name
    if not file.is_file():
        return False
    try:
        connection.execute(f"attach {quoted(str(file))} as by_time (read_only)")
        sources = connection.execute("select made_of from by_time.made").fetchall()
    except duckdb.Error:  # damaged, or of a newer version
        sources = []
    if sources == [(COPY.fingerprint(tables),)]:
        return True
    with contextlib.suppress(duckdb.Error):
        connection.execute("detach by_time")
    return False


def make(tables: Path, watch: Watch) -> bool:
    """Makes the copy, and says whether it did: not where nothing can be written, nor when it was interrupted."""
    file = tables / COPY.name
    if not os.access(tables, os.W_OK):
        return False
    spill = Scratch()
    con = duckdb.connect(
        ":memory:", config={"temp_directory": str(spill.path), "memory_limit": MEMORY}
    )
    watch(con)
    try:
        fingerprint = COPY.fingerprint(
            tables
        )  # before they are read: they may be packed anew meanwhile
        con.execute("set enable_progress_bar = false")
        database.add_views(con, tables)
        file.parent.mkdir(exist_ok=True)
        _write(con, fingerprint, file)
    except duckdb.InterruptException:
        return False
    except (duckdb.Error, OSError) as error:
        message = database.first_line(error)
        print(
            f"fathom: {printable(file)}: {message}; parts of the time take longer to answer",
            file=sys.stderr,
        )
        return False
    finally:
        con.close()
        spill.remove()
    return True


@contextlib.contextmanager
def _without_log(database_file: Path) -> Iterator[None]:
    """The log that a database leaves beside its file when it was interrupted goes, too."""
    try:
        yield
    finally:
        database_file.with_name(f"{database_file.name}.wal").unlink(missing_ok=True)


def _write(con: duckdb.DuckDBPyConnection, fingerprint: str, file: Path) -> None:
    part = f"start // greatest(1, (select max(duration) from runs) // {PARTS})"
    columns = [f"{name}::aside.{name}s as {name}" if name in WORDS else name for name in COLUMNS]
    rows = f"select {', '.join(columns)}, start + duration as stop from calls"
    with replacing(file) as partial, _without_log(partial):
        con.execute(f"attach {quoted(str(partial))} as aside (storage_version 'latest')")
        con.execute(f"create temp table words as select distinct {', '.join(WORDS)} from calls")
        for name in WORDS:
            con.execute(
                f"create type aside.{name}s as enum (select distinct {name} from words order by 1)"
            )
        con.execute(f"create table aside.calls as {rows} order by {part}, process, start")
        con.execute(f"create table aside.made as select {quoted(fingerprint)} as made_of")
        con.execute("detach aside")


def within(times: tuple[int, int]) -> str:
    """Calls that last into a time, its ends included: so with each selected call come all that hold it. A part of
    statements, after `from`."""
    return f"by_time.calls where start <= {times[1]} and stop >= {times[0]}"
