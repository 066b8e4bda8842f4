"""Time in each layer, inclusive or exclusive: of all calls of a part of the run, of each process, of each call."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from fathom.analysis.latency.ask import Answer, Question, chosen
from fathom.analysis.own import SECOND
from fathom.catalog.layers import names
from fathom.run import database

#: From the program's call down; layers of a user's own catalog stand above.
STACK = names()


def stack(layers: Iterable[str]) -> list[str]:
    """Layers from the program's call down."""
    return sorted(layers, key=lambda name: (STACK.index(name) if name in STACK else -1, name))


def _layer_columns(groups: list[dict[str, float]], layers: list[str]) -> dict[str, pa.Array]:
    return {
        f"{name}_seconds": pa.array([group.get(name, 0.0) for group in groups], pa.float64())
        for name in layers
    }


def _after(groups: list[float], anything: bool) -> dict[str, pa.Array]:
    return {"after_return_seconds": pa.array(groups, pa.float64())} if anything else {}


def breakdown(ask: Question, views: frozenset[str]) -> Answer:
    """Views `call` (the longest), `process`, `layer`."""
    what, who = ask.query.name.rpartition(" ")[2], ask.part.who
    every = ask.ask("breakdown_ranks", by="who").to_pylist()
    layers = stack({row["layer"] for row in every if row["layer"] and (row["calls"] or row[what])})
    tables = {}
    if "call" in views:
        calls = chosen(ask.units("longest_units", {"top": ask.top}))
        rows = ask.narrowed(calls).ask("breakdown_calls", calls, base="picked", by="process, call")
        tables["call"] = _by_call(rows.to_pylist(), layers, what, who, ask.traced)
    tables["process"] = _by_process(every, layers, what, who, ask.traced)
    tables["layer"] = _by_layer(every, layers, what, who)
    return Answer(who, tables, layers)


def _by_call(
    rows: list[dict[str, Any]], layers: list[str], what: str, who: str, traced: bool
) -> pa.Table:
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    parts: dict[tuple[int, int], dict[str, float]] = {}
    after: dict[tuple[int, int], float] = {}
    for row in rows:
        key = (row["process"], row["call"])
        calls[key] = row
        parts.setdefault(key, {})[row["layer"]] = row[what] / SECOND
        after[key] = after.get(key, 0.0) + row["after"] / SECOND
    rows_ = list(calls.values())
    return pa.table(
        {
            who: pa.array([row["who"] for row in rows_], pa.int64()),
            "call": pa.array([row["call"] for row in rows_], pa.int64()),
            "function": pa.array([row["op"] for row in rows_], pa.string()),
            "start_seconds": pa.array(
                [None if row["start"] is None else row["start"] / SECOND for row in rows_],
                pa.float64(),
            ),
            "seconds": pa.array([row["time"] / SECOND for row in rows_], pa.float64()),
        }
        | _layer_columns(list(parts.values()), layers)
        | _after(list(after.values()), traced)
    )


def _by_process(
    rows: list[dict[str, Any]], layers: list[str], what: str, who: str, traced: bool
) -> pa.Table:
    totals = {row["who"]: row for row in rows if row["layer"] is None}
    parts: dict[int, dict[str, float]] = {number: {} for number in totals}
    after = dict.fromkeys(totals, 0.0)
    for row in rows:
        if row["layer"] is not None:
            parts[row["who"]][row["layer"]] = row[what] / SECOND
            after[row["who"]] += row["after"] / SECOND
    rows_ = list(totals.values())
    return pa.table(
        {
            who: pa.array(list(totals), pa.int64()),
            "calls": pa.array([row["calls"] for row in rows_], pa.int64()),
            "seconds": pa.array([row["inclusive"] / SECOND for row in rows_], pa.float64()),
            "mean_seconds": pa.array(
                [row["inclusive"] / SECOND / row["calls"] for row in rows_], pa.float64()
            ),
        }
        | _layer_columns(list(parts.values()), layers)
        | _after(list(after.values()), traced)
    )


def _by_layer(rows: list[dict[str, Any]], layers: list[str], what: str, who: str) -> pa.Table:
    """The mean is of one own call of the segment, whether it reached the layer or not."""
    own_calls = sum(row["calls"] for row in rows if row["layer"] is None)
    every = dict.fromkeys({row["who"] for row in rows}, 0)
    out = []
    for name in layers:
        of_layer = every | {row["who"]: row[what] for row in rows if row["layer"] == name}
        spent = sum(of_layer.values())
        most = min(of_layer, key=lambda number: (-of_layer[number], number))
        out.append(
            {
                "layer": name,
                "calls": sum(row["calls"] for row in rows if row["layer"] == name),
                "seconds": spent / SECOND,
                "mean_seconds": spent / SECOND / own_calls,
                "least_seconds": min(of_layer.values()) / SECOND,
                "most_seconds": of_layer[most] / SECOND,
                f"most_{who}": most,
            }
        )
    return database.table_of(out)
