"""The tables of a lake, written again with other names."""

from pathlib import Path

import pyarrow as pa

from fathom.catalog import columns
from fathom.run.anonymise.copy import LAST, Change, changed
from fathom.run.anonymise.names import Names
from fathom.run.lake import Lake, make, schemas


def copy_lake(lake: Lake, into: Path, names: Names) -> None:
    """Writes each run of the lake once into a new one in this directory. Errors: RunError; OSError."""
    reader = lake.reading()
    tables = {name: reader.sql(f"from {name}") for name in schemas()}
    for host in tables["jobs"]["hosts"].combine_chunks().flatten().unique().to_pylist():
        names.host(host)
    for user in tables["jobs"]["user"].unique().to_pylist():
        names.name(user or "")
    for with_sentences in (False, True):
        for name, rows in tables.items():
            tables[name] = _changed(name, rows, names, with_sentences)
    copy = make(into)
    for name, rows in tables.items():
        copy.fill(name, rows)


def _changed(table: str, rows: pa.Table, names: Names, sentences: bool) -> pa.Table:
    """Its sentences or its other texts with other names: what sentences name must be known before."""
    for column, whose in columns.private(columns.OF_LAKE)[table].items():
        if whose != "public" and (whose in LAST) == sentences:
            change: Change = names.by_class[whose]
            place = rows.schema.get_field_index(column)
            field = rows.schema.field(place)
            values = changed(rows[column].combine_chunks(), field, change)
            rows = rows.set_column(place, field, values)
    return rows
