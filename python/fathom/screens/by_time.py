"""A copy of a large run's calls, one part of its time after the other, so that a brush reads what is brushed. In
`calls` they lie thread after thread, and a second of the run is everywhere.

Of the columns, those that answers on a selection need. Exact: what it is cut to holds all calls that last into the
times, and each statement looks once more.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb

from fathom import database
from fathom.database import quoted
from fathom.derived import Derived, Watch
from fathom.screens.kept import FOLDER

COPY = Derived(f"{FOLDER}/calls_by_time.parquet", "fathom.calls_by_time", 2)
#: What sorting may take of memory; beyond it spills to disk.
MEMORY = "4 GiB"
#: Calls that are read or passed over together.
GROUP = 32_768
#: Parts of the run: one after the other, in each one process after the other, so that both find their calls together.
PARTS = 256
COLUMNS = (
    "id", "stream", "process", "rank", "parent", "depth", "layer", "op", "kind", "file", "start",
    "duration", "nested", "file_offset", "size", "bytes", "error", "selection",
)  # fmt: skip


def found(tables: Path) -> Path | None:
    """The copy, where there is one of these calls."""
    file = tables / COPY.name
    return file if COPY.is_made(file, tables) else None


def make(tables: Path, watch: Watch) -> Path | None:
    """The copy, made if it is not there; none where nothing can be written, or when it was interrupted."""
    file = tables / COPY.name
    there = found(tables)
    if there or not os.access(tables, os.W_OK):
        return there
    spill = Path(tempfile.mkdtemp(prefix="fathom-by-time-"))
    con = duckdb.connect(":memory:", config={"temp_directory": str(spill), "memory_limit": MEMORY})
    watch(con)
    try:
        con.execute("set enable_progress_bar = false")
        database.add_views(con, tables)
        file.parent.mkdir(exist_ok=True)
        order = f"start // greatest(1, (select max(duration) from runs) // {PARTS}), process, start"
        rows = f"select {', '.join(COLUMNS)}, start + duration as stop from calls order by {order}"
        COPY.write(con, rows, f"compression zstd, row_group_size {GROUP}", tables, file)
    except duckdb.InterruptException:
        return None
    except (duckdb.Error, OSError) as error:
        print(f"fathom: {file}: {error}; parts of the time take longer to answer", file=sys.stderr)
        return None
    finally:
        con.close()
        shutil.rmtree(spill, ignore_errors=True)
    return file


def within(file: Path, times: tuple[int, int]) -> str:
    """Calls that last into a time, its ends included: so with each selected call come all that hold it. A part of
    statements, after `from`."""
    return f"read_parquet({quoted(str(file))}) where start <= {times[1]} and stop >= {times[0]}"
