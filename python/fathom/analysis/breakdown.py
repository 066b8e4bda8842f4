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

from fathom.analysis import Source
from fathom.analysis.own import is_complete, own_values
from fathom.analysis.summary import mean_seconds, rate, seconds
from fathom.errors import NotRecorded

BINS = 20
#: Sums over calls in full and counters, over the histograms of counters, over `heat`.
SUMS = """sum(calls) as calls, sum(errors) as errors, coalesce(sum(bytes), 0) as bytes, sum(time) as time,
	max(longest)::bigint as longest"""
SIZES = """sum(calls) as calls, null::bigint as errors, null::bigint as bytes, null::bigint as time,
	null::bigint as longest"""
HEAT = """round(sum(calls))::hugeint as calls, null::bigint as errors, round(sum(bytes))::hugeint as bytes,
	round(sum(time))::hugeint as time, null::bigint as longest"""


@dataclass(frozen=True)
class Key:
    """What calls can be told apart by: columns of analysis/sql/breakdown.sql."""

    columns: tuple[str, ...]
    counters: bool = True  # known in counters
    heat: bool = False  # known in table `heat`
    layers: bool = False  # tells the layers apart


KEYS = {
    "function": Key(("op", "layer"), layers=True),
    "caller": Key(("caller", "layer"), layers=True),
    "layer": Key(("layer",), heat=True, layers=True),
    "operation": Key(("operation",), heat=True),
    "rank": Key(("rank", "process"), heat=True),
    "program": Key(("program",), heat=True),
    "file": Key(("path",)),
    "group": Key(("file_group",)),
    "suffix": Key(("suffix",)),
    "size": Key(("size_from", "size_below"), counters=False),
    "time": Key(("start_seconds", "stop_seconds"), counters=False, heat=True),
    "line": Key(("source_line", "function"), counters=False),
    "server": Key(("server",)),
}


def _names(keys: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(name for key in keys for name in KEYS[key].columns))


def _tells_layers(keys: Sequence[str]) -> bool:
    return any(KEYS[key].layers for key in keys)


def _which(keys: Sequence[str]) -> str:
    """The rows of counters that count."""
    if "server" in keys:
        return "is_served"
    return "true" if _tells_layers(keys) else "is_own"


def _summed(keys: Sequence[str], rows: str, sums: str = SUMS) -> str:
    names = _names(keys)
    order = f"{'start_seconds, ' if 'time' in keys else ''}time desc, {names}"
    return (
        f"select {names}, {sums}, count(distinct process)::bigint as processes"
        f" from {rows} group by {names} order by {order}"
    )


def _from_calls(source: Source, keys: Sequence[str]) -> pa.Table:
    every = "server" in keys or (_tells_layers(keys) and "line" not in keys)
    which = (
        "is_server_call(layer, file, enclosing_layer, enclosing)" if "server" in keys else "true"
    )
    if "size" in keys:
        which += " and kind in ('read', 'write') and size is not null"
    rows = "every_call()" if every else "own_call_rows($regions, $talk)"
    text = _summed(keys, f"call_keys('rows_', {BINS}, {'time' in keys})")
    values = {} if every else own_values(source)
    return source.sql(f"with rows_ as (select * from {rows} where {which}) {text}", **values)


def _from_heat(source: Source, keys: Sequence[str]) -> pa.Table:
    every = [*keys, *([] if "layer" in keys else ["layer"])]
    return source.sql(_summed(every, f"heat_keys({BINS})", HEAT))


def _from_histograms(source: Source, keys: Sequence[str]) -> pa.Table:
    others = [key for key in keys if key != "size"] or ["layer", "operation"]
    names = _names(others)
    return source.sql(
        f"select {names}, size_from(bin) as size_from, size_below(bin) as size_below, {SIZES},"
        " count(distinct process)::bigint as processes"
        f" from size_keys() where calls > 0 and {_which(others)}"
        f" group by {names}, bin order by {names}, bin"
    )


def _rows(source: Source, keys: Sequence[str]) -> pa.Table:
    if all(KEYS[key].counters for key in keys):
        return source.sql(_summed(keys, f"(from counter_keys() where {_which(keys)})"))
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
