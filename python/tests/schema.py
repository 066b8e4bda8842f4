"""Runs made of rows in a test. The schemas are those of catalog/tables.toml."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fathom.catalog import columns
from fathom.run.columns import PARTED

TYPES = {
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f64": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
}


def _schema(table: columns.Table) -> pa.Schema:
    fields = []
    for column in table.columns:
        kind = pa.list_(TYPES[column.type]) if column.is_list else TYPES[column.type]
        fields += [pa.field(name, kind, nullable=column.nullable) for name in column.names]
    return pa.schema(fields)


SCHEMAS = {table.name: _schema(table) for table in columns.tables()}
REGIONS = ("user", "threads")
STORAGE = ("posix", "stdio", "aio")


def _default(field: pa.Field) -> Any:
    if field.nullable:
        return None
    if pa.types.is_string(field.type):
        return ""
    if pa.types.is_list(field.type):
        return []
    if pa.types.is_boolean(field.type):
        return False
    return 0


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows of one table; what a row leaves out is null, 0 or empty."""
    schema = SCHEMAS[name]
    unknown = {key for row in rows for key in row} - set(schema.names)
    assert not unknown, f"catalog/tables.toml has no {name}.{unknown}"
    arrays = {
        field.name: pa.array([row.get(field.name, _default(field)) for row in rows], field.type)
        for field in schema
    }
    return pa.table(arrays, schema=pa.schema([f.with_nullable(True) for f in schema]))


def with_own_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls with what the packer says of the own call around each."""
    by_id = {call.get("id"): call for call in calls}
    first: dict[int, dict[str, Any]] = {}
    rows = []
    for call in calls:
        around, above = [call], call
        while above.get("parent") in by_id:
            above = by_id[above["parent"]]
            around.append(above)
        while around and around[-1]["layer"] in REGIONS:
            around.pop()
        own = around[-1] if around else call
        if own["layer"] in (*REGIONS, "fathom", "server", "disk") or own.get("kind") == "comm":
            own, around = call, []
        layers = [each["layer"] for each in around[1:]]
        row = call | {"topmost": call["layer"] not in layers}
        if own is not call:
            row |= {"own": own["id"], "own_duration": own.get("duration", 0)}
        if around and call["layer"] in STORAGE and not set(layers) & set(STORAGE):
            row["alone"] = id(own) not in first
            first.setdefault(id(own), row)["alone"] = row["alone"]
        rows.append(row)
    return rows


def write_run(directory: Path, **rows: list[dict[str, Any]]) -> Path:
    """A packed run of these rows."""
    rows["calls"] = with_own_calls(rows.get("calls", []))
    for name in SCHEMAS:
        path = directory / "tables" / f"{name}.parquet"
        if name in PARTED:
            path = directory / "tables" / name / "0.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(name, rows.get(name, [])), path)
    (directory / "run.json").write_text(
        '{"format": 1, "command": ["./s3d", "4 4"], "configuration": {"layers": '
        '["hdf5", "mpiio", "posix"]}, "exit": {"status": 3}}'
    )
    return directory


def counters_of(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the packer sums up, one row per call: the sums are then the functions' own."""
    by_id = {call["id"]: call for call in calls}
    rows = []
    for call in calls:
        parent = by_id.get(call.get("parent"))
        rows.append(
            {
                "process": call.get("process", 0),
                "thread_class": "main",
                "file": call.get("file"),
                "layer": call["layer"],
                "op": call["op"],
                "kind": call.get("kind", "meta"),
                "enclosing_layer": parent["layer"] if parent else None,
                "enclosing": parent["op"] if parent else None,
                "calls": 1,
                "recorded": 1,
                "errors": int(call.get("error", 0) != 0),
                "bytes": max(0, call.get("bytes") or 0),
                "time": call["duration"],
                "shortest": call["duration"],
                "longest": call["duration"],
                "first_start": call["start"],
                "last_stop": call["start"] + call["duration"],
            }
        )
    return rows
