"""Rows of slow statements, cached in files beside a run's tables. The page of `show` and the first screen of `view` of
a large run are then there at once."""

import contextlib
import hashlib
import os
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fathom.analysis import Source, question
from fathom.cache.fingerprint import fingerprint

#: Seconds from which on rows are worth a file; bytes that one may have; files that there may be.
SLOW, MOST, FILES = 0.1, 16 << 20, 200
FOLDER, KEY = "page", b"fathom.made_of"


class CachedStatements:
    """A source whose slow statements are asked once for each packing of a run: the statement itself is the key, so what
    another version of this program asks is another one."""

    def __init__(self, source: Source, run: Path) -> None:
        """`source` answers what nobody asked before; `run`: the directory whose tables it reads."""
        self._source, self._run = source, run
        self._folder = run / "tables" / FOLDER

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""
        file = (
            self._folder
            / f"{hashlib.sha256(question(text, values).encode()).hexdigest()[:32]}.arrow"
        )
        rows = self._read(file)
        if rows is not None:
            return rows
        began = time.monotonic()
        rows = self._source.sql(text, **values)
        if time.monotonic() - began > SLOW and rows.nbytes <= MOST:
            self._write(file, rows)
        return rows

    @cached_property
    def _fingerprint(self) -> bytes:
        return fingerprint(self._run, duckdb.__version__).encode()

    def _read(self, file: Path) -> pa.Table | None:
        """Nothing where it is not there, damaged, or of other tables."""
        with contextlib.suppress(OSError, pa.ArrowException):
            rows = pa.ipc.open_file(pa.BufferReader(file.read_bytes())).read_all()
            if (rows.schema.metadata or {}).get(KEY) == self._fingerprint:
                return rows.replace_schema_metadata(None)
        return None

    def _write(self, file: Path, rows: pa.Table) -> None:
        """Made aside and moved over, so that a reader finds a whole file or none; none where nothing can be written."""
        partial = file.with_name(f"{file.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            if not file.exists() and sum(1 for _ in self._folder.iterdir()) >= FILES:
                return
            marked = rows.replace_schema_metadata({KEY: self._fingerprint})
            with (
                pa.OSFile(str(partial), "wb") as out,
                pa.ipc.new_file(out, marked.schema) as writer,
            ):
                writer.write_table(marked)
            partial.replace(file)
