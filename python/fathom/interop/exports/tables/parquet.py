"""A table as Parquet."""

from pathlib import Path

from pyarrow.parquet import ParquetWriter

from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected
from fathom.interop.exports.tables import rows


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    batches = rows(selected, progress)
    with ParquetWriter(out, batches.schema, compression="zstd") as writer:
        for batch in batches:
            if len(batch):
                writer.write_batch(batch)
    return []
