"""Tables that are made of a run's calls by whoever needs them first: is one there, and of these calls?"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from fathom.files import listed, replacing
from fathom.run import macros
from fathom.run.arrow import parquet as pq
from fathom.run.database import quoted

Watch = Callable[[duckdb.DuckDBPyConnection], None]
"""Takes the connection that makes a table, to interrupt it."""


def ignore(_: duckdb.DuckDBPyConnection) -> None:
    """Nobody will interrupt it."""


@dataclass(frozen=True)
class Derived:
    """One such table."""

    name: str  # of its file, below `tables`
    key: str  # in the file's metadata: of which calls it was made, by which version of the rules
    version: int

    def fingerprint(self, tables: Path) -> str:
        """Tells one packing of a run's calls from another."""
        stats = [(part.name, part.stat()) for part in listed(tables / "calls", "*.parquet")]
        words = [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats]
        return f"{self.version} {' '.join(words)}"

    def is_current(self, file: Path, tables: Path) -> bool:
        """Is it there, and of these calls?"""
        try:
            metadata = pq.read_metadata(file).metadata or {}
        except (OSError, ValueError):
            return False
        return bool(metadata.get(self.key.encode()) == self.fingerprint(tables).encode())

    def write(
        self, con: duckdb.DuckDBPyConnection, rows: str, options: str, fingerprint: str, file: Path
    ) -> None:
        """The rows of a statement as the table's file, whole or not at all."""
        with replacing(file) as partial:
            macros.execute(
                con,
                f"copy ({rows}) to {quoted(str(partial))} (format parquet, {options},"
                f" kv_metadata {{'{self.key}': {quoted(fingerprint)}}})",
            )
