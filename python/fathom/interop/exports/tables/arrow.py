"""A table as an Arrow IPC file (Feather, version 2)."""

from pathlib import Path

import pyarrow as pa

from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected
from fathom.interop.exports.tables import rows


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    batches = rows(selected, progress)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(out), "wb") as file,
        pa.ipc.new_file(file, batches.schema, options=options) as to,
    ):
        for batch in batches:
            to.write_batch(batch)
    return []
