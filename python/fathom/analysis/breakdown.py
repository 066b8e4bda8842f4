"""Calls by any keys: `breakdown(source, ["rank", "function"])`.

Columns: those of the keys (`KEYS`), then calls; errors; bytes; seconds (summed); mean_seconds; longest_seconds;
mb_per_s (of one call); processes. Rows: the most time first, but parts of the run in their order. When a key tells the
layers apart (function, caller, layer) all calls count, else the program's own only, so that nothing counts twice.

From counters where they know all keys. From events, so only of what was recorded in full: `line`, and `time` and `size`
where all was. Else `size` comes from the histograms of counters, which know no bytes and no time, and `time` from table
`heat`: reads and writes only, layer by layer. Errors: `NotRecorded` where that is not enough,
`RunError` of a damaged run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from fathom.analysis import Source, statement
from fathom.analysis.own import is_complete, own_values
from fathom.analysis.summary import mean_seconds, rate, seconds
from fathom.errors import NotRecorded

BINS = 20
CALLER = f"if({statement('outermost')}, 'program', enclosing)"
LINE = """case when s.line is not null then s.source || ':' || s.line
	else coalesce(s.function || ' in ', '') || coalesce(s.module, 'unknown') end"""
SERVED = f"""(layer = 'server' or file in (select file from server_file) and {statement("latency/of_storage")}
)"""
# As histograms of counters have it: the last bin is of 1 GiB and more, the first also of sizes below zero.
SIZE_BIN = "if(c.size <= 0, 0, least(16, floor(log2(c.size) / 2)::int + 1))"


@dataclass(frozen=True)
class Key:
    """What calls can be told apart by: result columns and where they come from in SQL."""

    columns: dict[str, str]
    counters: bool = True  # known in counters
    heat: bool = False  # known in table `heat`
    layers: bool = False  # tells the layers apart


KEYS = {
    "function": Key({"op": "c.op", "layer": "c.layer"}, layers=True),
    "caller": Key({"caller": CALLER, "layer": "c.layer"}, layers=True),
    "layer": Key({"layer": "c.layer"}, heat=True, layers=True),
    "operation": Key({"operation": "c.kind"}, heat=True),
    "rank": Key({"rank": "p.rank", "process": "c.process"}, heat=True),
    "file": Key({"path": "f.path"}),
    "group": Key({"file_group": statement("file_group")}),
    "suffix": Key({"suffix": statement("file_suffix")}),
    "size": Key(
        {
            "size_from": f"if({SIZE_BIN} = 0, 0, pow(4, {SIZE_BIN} - 1))::bigint",
            "size_below": f"if({SIZE_BIN} = 16, null, pow(4, {SIZE_BIN}))::bigint",
        },
        counters=False,
    ),
    "time": Key(
        {
            "start_seconds": "c.bin * c.width / 1e9",
            "stop_seconds": "(c.bin + 1) * c.width / 1e9",
        },
        counters=False,
        heat=True,
    ),
    "line": Key({"source_line": LINE, "function": "s.function"}, counters=False),
    "server": Key({"server": "coalesce(server_process.server, server_file.server)"}),
}


def _columns(keys: Sequence[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for key in keys:
        columns |= KEYS[key].columns
    return columns


def _tells_layers(keys: Sequence[str]) -> bool:
    return any(KEYS[key].layers for key in keys)


def _which(keys: Sequence[str]) -> str:
    """The rows of counters that count, as SQL."""
    if "server" in keys:
        return SERVED
    if _tells_layers(keys):
        return "true"
    return f"{statement('own_io')}\n"


def _parts(columns: dict[str, str], keys: Sequence[str]) -> dict[str, str]:
    order = "start_seconds, time desc" if "time" in keys else f"time desc, {', '.join(columns)}"
    return {
        "columns": ", ".join(f"{sql} as {name}" for name, sql in columns.items()),
        "names": ", ".join(columns),
        "which": _which(keys),
        "order": order,
        "servers": statement("latency/servers"),
    }


def _from_calls(source: Source, keys: Sequence[str]) -> pa.Table:
    all_layers = "server" in keys or (_tells_layers(keys) and "line" not in keys)
    which = SERVED if "server" in keys else "true"
    if "size" in keys:
        which += " and kind in ('read', 'write') and size is not null"
    parts = _parts(_columns(keys), keys) | {"which": which}
    return source.sql(
        statement("by_calls", rows="every" if all_layers else "outermost", **parts),
        bins=BINS,
        cut="time" in keys,
        **own_values(source),
    )


def _from_heat(source: Source, keys: Sequence[str]) -> pa.Table:
    columns = _columns([*keys, *([] if "layer" in keys else ["layer"])])
    return source.sql(statement("by_heat", **_parts(columns, keys)), bins=BINS)


def _from_histograms(source: Source, keys: Sequence[str]) -> pa.Table:
    others = [key for key in keys if key != "size"] or ["layer", "operation"]
    return source.sql(statement("by_sizes", **_parts(_columns(others), others)))


def _rows(source: Source, keys: Sequence[str]) -> pa.Table:
    if all(KEYS[key].counters for key in keys):
        return source.sql(statement("by_counters", **_parts(_columns(keys), keys)))
    if "line" in keys or is_complete(source):
        return _from_calls(source, keys)
    if "size" in keys and "time" not in keys:
        return _from_histograms(source, keys)
    if all(KEYS[key].heat for key in keys):
        return _from_heat(source, keys)
    unknown = [key for key in keys if not KEYS[key].heat and key != "time"]
    raise NotRecorded(
        f"show: by time and {', '.join(unknown)} needs every call in full, which this run has not"
    )


def breakdown(source: Source, keys: Sequence[str]) -> pa.Table:
    """Calls by these keys of KEYS; columns and rows as the module says."""
    rows = _rows(source, keys)
    measures = {
        "calls": rows["calls"],
        "errors": rows["errors"],
        "bytes": rows["bytes"],
        "seconds": seconds(rows["time"]),
        "mean_seconds": mean_seconds(rows),
        "longest_seconds": seconds(rows["longest"]),
        "mb_per_s": rate(rows["bytes"], rows["time"]),
        "processes": rows["processes"],
    }
    named = [name for name in rows.column_names if name not in {*measures, "time", "longest"}]
    return pa.table({name: rows[name] for name in named} | measures)
