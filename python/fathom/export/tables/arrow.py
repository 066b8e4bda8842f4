"""A table as an Arrow IPC file (Feather, version 2)."""

from pathlib import Path

import pyarrow as pa

from fathom.export.progress import Progress
from fathom.export.selected import Selected
from fathom.export.tables import rows


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.export.formats.Writer` says."""
    found = rows(selected, progress)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(out), "wb") as file,
        pa.ipc.new_file(file, found.schema, options=options) as to,
    ):
        for batch in found:
            to.write_batch(batch)
    return []
