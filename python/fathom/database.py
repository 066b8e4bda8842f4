"""DuckDB over the Parquet files of one run: read-only, no other file within reach."""

import os
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa

from fathom.errors import DamagedRun, UsageError

# Tables that the packer splits into parts (docs/tables.md).
PARTED = ("calls", "args", "links")
# What a reader gets beside the stored columns.
COMPUTED = {"calls": ", duration - nested as exclusive"}


def table_files(directory: Path) -> dict[str, Path]:
    """Name of each table to the file, or the pattern of files, that holds it."""
    files = {path.stem: path for path in sorted(directory.glob("*.parquet"))}
    files.update({name: directory / name / "*.parquet" for name in PARTED})
    return {name: path for name, path in files.items() if list(path.parent.glob(path.name))}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def connect(directory: Path) -> duckdb.DuckDBPyConnection:
    """A view for each table in `directory`; then the database is locked to that directory."""
    # DuckDB may read and write where it spills to, so that is a folder of its own, made when needed.
    spill = Path(tempfile.gettempdir()) / f"fathom-sql-{os.getuid()}-{os.getpid()}"
    con = duckdb.connect(":memory:")
    con.execute("set enable_progress_bar = false")
    con.execute(f"set temp_directory = {_quoted(str(spill))}")
    con.execute(f"set allowed_directories = [{_quoted(str(directory) + '/')}]")
    con.execute("set enable_external_access = false")
    for name, path in table_files(directory).items():
        try:
            columns = f"*{COMPUTED.get(name, '')}"
            rows = f"read_parquet({_quoted(str(path))})"
            con.execute(f'create view "{name}" as select {columns} from {rows}')
        except duckdb.Error as error:
            raise DamagedRun(f"{path}: {_first_line(error)}; pack the run again") from error
    con.execute("set lock_configuration = true")
    return con


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def ask(con: duckdb.DuckDBPyConnection, text: str, values: object = None) -> pa.Table:
    """Runs one reading statement and gives its rows. Anything that would write is refused."""
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(f"SQL: {_first_line(error)}") from error
    if len(statements) != 1:
        raise UsageError(f"SQL: one statement is expected, {len(statements)} given")
    # SHOW, DESCRIBE and SUMMARIZE count as SELECT; EXPLAIN ANALYZE would run a COPY.
    if statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(f"SQL: only reading is allowed, this is {statements[0].type.name}")
    try:
        relation = con.sql(text, params=values) if values else con.sql(text)
        if relation is None:
            raise UsageError("SQL: the statement gives no rows")
        return relation.to_arrow_table()
    except duckdb.IOException as error:
        raise DamagedRun(_first_line(error)) from error
    except duckdb.Error as error:
        raise UsageError(f"SQL: {_first_line(error)}") from error
