"""Why a reader failed that expected something else of a run: its tables are none that an engine writes."""

from pathlib import Path

import duckdb

from fathom.catalog import columns
from fathom.errors import DamagedRun
from fathom.run import database

#: Columns whose values are rows of a table, by its column of the same name.
_OF_TABLES = {"process": "processes", "file": "files", "site": "sites"}


def strange(directory: Path) -> DamagedRun | None:
    """What in this run's tables no reader expects; `None`: nothing, so the fault is the reader's."""
    try:
        return _strange(directory)
    except (OSError, duckdb.Error):  # the run of one file is gone by now
        return None


def _strange(directory: Path) -> DamagedRun | None:
    files = database.table_files(directory / "tables")
    rows = {
        name: f"({database.rows_of(name, database.parts_of(path))})" for name, path in files.items()
    }
    with duckdb.connect() as con:
        for name, path in files.items():
            if what := _absent(con, name, rows[name]) or _elsewhere(con, name, rows):
                return database.damaged(path, what)
    return None


def _absent(con: duckdb.DuckDBPyConnection, name: str, rows: str) -> str:
    """A column that has a value in each row, and has not."""
    must = [
        one
        for table in columns.tables()
        if table.name == name
        for of in table.columns
        if not of.nullable and not of.later
        for one in of.names
    ]
    stored = [row[0] for row in con.execute(f"describe select * from {rows}").fetchall()]
    asked = [one for one in must if one in stored]
    if not asked:
        return ""
    counts = con.execute(
        f"select {', '.join(f'count(*) - count({one})' for one in asked)} from {rows}"
    ).fetchall()[0]
    return next(
        (
            f"{one} has no value in {count} rows"
            for one, count in zip(asked, counts, strict=True)
            if count
        ),
        "",
    )


def _elsewhere(con: duckdb.DuckDBPyConnection, name: str, rows: dict[str, str]) -> str:
    """A number that is of nothing."""
    stored = [row[0] for row in con.execute(f"describe select * from {rows[name]}").fetchall()]
    for column, table in _OF_TABLES.items():
        if column in stored and table in rows and table != name:
            found = con.execute(
                f"select {column} from {rows[name]} where {column} is not null"
                f" and {column} not in (select {column} from {rows[table]}) limit 1"
            ).fetchone()
            if found:
                return f"{column} {found[0]} is none of table {table}"
    return ""
