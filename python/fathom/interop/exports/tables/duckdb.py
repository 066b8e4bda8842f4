"""A table as a DuckDB database."""

import contextlib
from pathlib import Path

import duckdb

from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected
from fathom.interop.exports.tables import rows


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    batches = rows(selected, progress)
    try:
        with contextlib.closing(duckdb.connect(str(out))) as into:
            into.register("batches", batches)
            into.execute(f'create table "{selected.table}" as from batches')
    except duckdb.Error as error:
        raise OSError(str(error).strip().splitlines()[0]) from error
    finally:
        out.with_name(f"{out.name}.wal").unlink(missing_ok=True)
    return []
