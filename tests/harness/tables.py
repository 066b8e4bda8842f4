"""A run's tables for tests: packed by the real command, read by DuckDB straight from Parquet."""

from __future__ import annotations

import glob
import subprocess
from pathlib import Path
from typing import Any

import duckdb

from harness import paths

PARTED = ("calls", "args", "links")


def pack(run: Path) -> None:
    done = subprocess.run(
        [paths.FATHOM, "pack", run], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise AssertionError(f"fathom pack: exit {done.returncode}\n{done.stderr}")


def connect(run: Path) -> Any:
    """A connection with one view per table, of a run that is packed first."""
    pack(run)
    return opened(run)


def opened(run: Path) -> Any:
    """The same of a run that is packed."""
    connection = duckdb.connect()
    connection.execute("set threads = 2")
    for table in sorted((run / "tables").iterdir()):
        name = table.name.removesuffix(".parquet")
        source = glob.escape(str(table)) + ("/*.parquet" if name in PARTED else "")
        if name not in PARTED and table.suffix != ".parquet":
            continue
        connection.execute(f"create view {name} as select * from read_parquet('{source}')")
    return connection


def ask(connection: Any, sql: str) -> list[list[Any]]:
    return [list(row) for row in connection.execute(sql).fetchall()]
