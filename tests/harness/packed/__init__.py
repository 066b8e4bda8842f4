"""Packed runs that nobody recorded: their tables written with the columns and types of catalog/tables.toml.

A maker gives constants as SQL macros (`ranks()`, `duration()`, `events()` among them), rows of `calls` part by part,
and a view `rows_of_NAME` for each other table that is not to be empty; shared.sql has those that all makers have.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Set
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "python" / "tests"))

from schema import PARTED, SCHEMAS  # noqa: E402 - lies beside another suite

#: Made by the first reader.
DERIVED = {"tiles"}


def begin(path: Path) -> Path:
    """An empty folder of tables in a run directory; one that is there is replaced."""
    shutil.rmtree(path, ignore_errors=True)
    tables = path / "tables"
    tables.mkdir(parents=True)
    return tables


def connect() -> duckdb.DuckDBPyConnection:
    """An empty database with bounded memory."""
    connection = duckdb.connect()
    connection.execute("set memory_limit = '3GB'; set enable_progress_bar = false")
    return connection


def constants(connection: duckdb.DuckDBPyConnection, values: dict[str, int]) -> None:
    """Gives a database these constants, and what all makers have."""
    for name, value in values.items():
        kind = "boolean" if isinstance(value, bool) else "bigint"
        connection.execute(f"create macro {name}() as {value}::{kind}")
    run(connection, HERE / "shared.sql")


def run(connection: duckdb.DuckDBPyConnection, path: Path, **values: object) -> None:
    """Statements of a file, `$word` in them replaced."""
    text = path.read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(f"${word}", str(value))
    connection.execute(text)


def sums(connection: duckdb.DuckDBPyConnection) -> None:
    """Adds the calls of table `generated_calls` to what `counters` and `heat` will hold."""
    run(connection, HERE / "counted.sql")
    run(connection, HERE / "heated.sql")


def write(
    connection: duckdb.DuckDBPyConnection, tables: Path, name: str, rows: str, part: str = "0"
) -> None:
    """One table, or a part of one; columns that the rows leave out are null, 0 or empty."""
    given = connection.sql(rows).columns
    columns = ", ".join(
        f'cast({field.name if field.name in given else _nothing(field)} as {_sql_type(field.type)}) as "{field.name}"'
        for field in SCHEMAS[name]
    )
    path = tables / name / f"{part}.parquet" if name in PARTED else tables / f"{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    connection.execute(
        f"copy (select {columns} from ({rows})) to '{path}' (format parquet, compression zstd, row_group_size 122880)"
    )


def write_others(connection: duckdb.DuckDBPyConnection, tables: Path, written: Set[str]) -> None:
    """All tables but those that are written already: the rows of their views, or none."""
    views = {
        name for (name,) in connection.execute("select view_name from duckdb_views()").fetchall()
    }
    for name in SCHEMAS.keys() - written - DERIVED:
        there = f"rows_of_{name}" in views
        write(
            connection,
            tables,
            name,
            f"from rows_of_{name}" if there else "select 1 as none_of_it limit 0",
        )


def say(path: Path, program: str, ranks: int, layers: list[str]) -> None:
    """run.json."""
    manifest = {
        "format": 1, "fathom": "0.1.0", "program": program,
        "command": ["mpiexec", "-n", str(ranks), f"./{program}"],
        "configuration": {"layers": layers, "counted": [], "level": "call"},
        "exit": {"status": 0},
    }  # fmt: skip
    (path / "run.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


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
        "int32": "integer", "int64": "bigint", "uint8": "utinyint", "uint16": "usmallint", "uint32": "uinteger",
        "uint64": "ubigint", "double": "double", "string": "varchar", "bool": "boolean",
    }[text]  # fmt: skip
