"""The tables and run.json of a run, written again with other names."""

import contextlib
import json
import pwd
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fathom.catalog import columns
from fathom.catalog.layers import names as layers
from fathom.errors import RunError
from fathom.files import listed
from fathom.run import manifest
from fathom.run.anonymise import described
from fathom.run.anonymise.names import Names
from fathom.run.database import UNREADABLE, damaged, parts_of, table_files
from fathom.run.store import Run

Change = Callable[[str], str]
#: Classes that need all names to be known: what is said of them in sentences.
LAST = {"note", "manifest"}


def copy(run: Run, into: Path, names: Names) -> list[str]:
    """Writes the run to a directory. Gives what of it was left out. Errors: RunError of a table or column that the
    catalog does not have."""
    source = run.path / "tables"
    files = table_files(source)
    classes = columns.private()
    if strange := sorted(files.keys() - classes.keys()):
        raise RunError(f"anonymise: {source}: no table {strange[0]} is known to this version")
    _hide_people(run, names)
    ordered = sorted(files, key=lambda name: not LAST.isdisjoint(classes[name].values()))
    text = ""
    for name in ordered:
        if not text and not LAST.isdisjoint(classes[name].values()):
            text = json.dumps(described.changed(run.manifest, names), ensure_ascii=False)
        for part in parts_of(files[name]):
            changes = _changes(classes[name], names, text)
            _rewrite(part, into / "tables" / part.relative_to(source), changes)
    manifest.write(into / "run.json", json.loads(text or "{}"))
    return _left_out(run.path, files)


def functions(run: Run) -> set[str]:
    """Functions of Fathom's own layers, and their arguments: no user named them."""
    rows = run.table("ops").to_pylist()
    known = set(layers()) - {"user"}
    return {word for row in rows if row["layer"] in known for word in (row["op"], *row["fields"])}


def _hide_people(run: Run, names: Names) -> None:
    """Hosts and the user first: no suffix of a file is one of them."""
    for host in run.table("nodes")["host"].to_pylist():
        names.host(host)
    user = run.manifest.get("user")
    if isinstance(user, int):
        with contextlib.suppress(KeyError, OverflowError):  # of another machine
            names.name(pwd.getpwuid(user).pw_name)


def _changes(classes: Mapping[str, str], names: Names, text: str) -> dict[str, Change]:
    """What becomes of each column's texts."""
    every = {
        column: names.by_class[whose]
        for column, whose in classes.items()
        if whose not in ("public", "manifest")
    }
    every |= {
        column: partial(_instead, text) for column, whose in classes.items() if whose == "manifest"
    }
    return every


def _instead(text: str, _: str) -> str:
    return text


def _rewrite(part: Path, into: Path, changes: dict[str, Change]) -> None:
    """One file of a table, a group of rows at a time."""
    into.parent.mkdir(parents=True, exist_ok=True)
    try:
        with pq.ParquetFile(part) as file:
            schema = file.schema_arrow.remove_metadata()
            _check(part, schema)
            with pq.ParquetWriter(into, schema, compression="zstd") as writer:
                for group in range(file.num_row_groups):
                    rows = file.read_row_group(group)
                    arrays = [
                        changed(rows[field.name].combine_chunks(), field, changes.get(field.name))
                        for field in schema
                    ]
                    writer.write_table(pa.table(arrays, schema=schema), row_group_size=len(rows))
    except UNREADABLE as error:
        raise damaged(part, str(error)) from error


def _check(part: Path, schema: pa.Schema) -> None:
    """Is it known whose every column is?"""
    name = part.stem if part.parent.name == "tables" else part.parent.name
    known = {column for table in columns.tables() if table.name == name for column in _names(table)}
    if strange := sorted(set(schema.names) - known):
        raise RunError(f"anonymise: {part}: no column {strange[0]} is known to this version")


def _names(table: columns.Table) -> list[str]:
    return [name for column in table.columns for name in column.names]


def changed(array: pa.Array, field: pa.Field, change: Change | None) -> pa.Array:
    """Each different text is changed once."""
    if change is None:
        return array
    if pa.types.is_list(array.type):
        values = changed(array.values, array.type.value_field, change)
        every = pa.ListArray.from_arrays(array.offsets, values, mask=array.is_null())
        return every.cast(field.type)
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = [None if one is None else change(one) for one in coded.dictionary.to_pylist()]
    again = pa.array(texts, pa.string())
    return pa.DictionaryArray.from_arrays(coded.indices, again).cast(pa.string()).cast(field.type)


def _left_out(run: Path, files: dict[str, Path]) -> list[str]:
    """Entries of the run and of its tables that no copy has, by name."""
    stored = {pattern.name for pattern in files.values()} | set(files) | {"packed"}
    beside = [path.name for path in listed(run) if path.name not in ("run.json", "tables")]
    below = [f"tables/{path.name}" for path in listed(run / "tables") if path.name not in stored]
    return sorted(beside) + sorted(below)
