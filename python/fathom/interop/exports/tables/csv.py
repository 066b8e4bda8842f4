"""A table as comma-separated values (RFC 4180): text in quotes, nothing for null, lists as JSON."""

import json
from pathlib import Path

import pyarrow as pa
from pyarrow.csv import CSVWriter

from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Selected
from fathom.interop.exports.tables import rows


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    batches = rows(selected, progress)
    schema = pa.schema([_flat_field(field) for field in batches.schema])
    with CSVWriter(out, schema) as writer:
        for batch in batches:
            columns = [_flat(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    return []


def _flat_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.string()) if pa.types.is_list(field.type) else field


def _flat(column: pa.Array) -> pa.Array:
    if not pa.types.is_list(column.type):
        return column
    texts = (
        None if one is None else json.dumps(one, ensure_ascii=False) for one in column.to_pylist()
    )
    return pa.array(texts, pa.string())
