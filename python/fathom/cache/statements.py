"""Rows of slow statements, cached in files beside a run's tables. The page of `show` and the first screen of `view` of
a large run are then there at once."""

import contextlib
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fathom.analysis import Source, question
from fathom.cache.files import SLOW, CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.run import macros
from fathom.run.store import Run

#: Bytes that rows in a file may have.
MOST = 16 << 20
FOLDER = "page"
#: Macros that several statements of a page stand on.
SHARED = frozenset(("own_processes", "everyone", "bytes_moved"))


class SharedRows:
    """A run that is asked for a page: what several statements stand on is worked out once."""

    def __init__(self, run: Run) -> None:
        """Nothing is asked yet."""
        self._run = run

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""
        for macro in macros.named(text):
            if macro.name in SHARED:
                self._run.keep_macro(macro.name)
        return self._run.sql(text, **values)


class CachedStatements:
    """A source whose slow statements are asked once for each packing of a run: the statement itself is the key, so what
    another version of this program asks is another one."""

    def __init__(self, source: Source, run: Path) -> None:
        """`source` answers what nobody asked before; `run`: the directory whose tables it reads."""
        self._source, self._run = source, run
        self._files = CacheFolder(run / "tables" / FOLDER, lambda: self._fingerprint)

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one statement."""
        key = question(text, values)
        content = self._files.read(key)
        if content is not None:
            with contextlib.suppress(pa.ArrowException):
                return pa.ipc.open_stream(content).read_all()
        began = time.monotonic()
        rows = self._source.sql(text, **values)
        if time.monotonic() - began > SLOW and rows.nbytes <= MOST:
            self._files.write(key, _to_bytes(rows))
        return rows

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._run, f"{duckdb.__version__} {macros.version()}")


def _to_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())
