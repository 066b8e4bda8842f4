"""The program's own I/O calls: those that no other recorded call holds but a region or a wait for threads. Their times
never count twice. What other analyses stand on. Times in ns. Of a hundred thousand ranks the database sums what is of
each; few rows come here. Errors: `fathom.errors.RunError` of a damaged run."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fathom.analysis import Source

SECOND = 1e9
# Parts of the run in which I/O is looked for, and lines of neighbouring ranks that are told apart in it.
PARTS, LINES = 100, 16
# Up to so many calls are looked at one by one to say when they were; of more, table `heat` says it sooner.
FINE = 2_000_000
# Layers that take less of the time are not what the program does its I/O by.
TOUCH = 0.05
# Reads and writes that take this much of the time are what the run's I/O is.
NEARLY = 0.9


def run_seconds(source: Source) -> float:
    """How long the run lasted."""
    return int(source.sql("select duration from runs")["duration"][0].as_py()) / SECOND


def own_values(source: Source) -> dict[str, bool]:
    """What statements on own calls must be told (own_calls()): are there regions, are there sockets or pipes?"""
    rows = source.sql(
        "select count(*) filter (enclosing_layer in ('user', 'threads') and recorded > 0) as regions,"
        " count(*) filter (not is_file(f.kind, f.path, f.file_system)) as talk"
        " from counters left join files as f using (file)"
    )
    return {"regions": bool(rows["regions"][0].as_py()), "talk": bool(rows["talk"][0].as_py())}


def own(source: Source) -> pa.Table:
    """The program's own calls of each function, over all processes, from counters.

    Columns: layer, op, kind, calls, recorded, complete (recorded all, in each process), bytes, time, longest,
    first_start, last_stop.
    """
    return source.sql("from own_functions()")


def is_complete(source: Source) -> bool:
    """Was each of the program's own calls recorded in full?"""
    return all(own(source)["complete"].to_pylist())


def lines(source: Source) -> pa.Table:
    """One row per place in the program that made I/O calls, the most time first; from `calls`.

    Columns: function, source, line (null: unknown), module, region (the program's, null: none), layer, op, kind, calls,
    errors, bytes, time, longest, processes, caller_function, caller_source, caller_line (of a function that is the
    program's own helper, for three or more callers; else null).
    """
    return source.sql("from source_lines($regions, $talk)", **own_values(source))


def heat(source: Source) -> tuple[str, pa.Table]:
    """How much I/O there was in each of PARTS equal parts of the run, and which table says so: `calls`: all of the
    program's own calls; `heat`: reads and writes only; `none`: not known.

    Columns: line (LINES of neighbouring ranks or processes; null: processes that are no rank, of a run that has ranks),
    first_unit, last_unit, units (of the line), bin (from 0; null: the line did no I/O), processes (time, of none more
    than the part lasts), ranks (the same of whole ranks).
    """
    complete, many = is_complete(source), sum(own(source)["recorded"].to_pylist()) > FINE
    common = {"bins": PARTS, "lines": LINES, "ranks": has_ranks(source)}
    if not complete or (many and _mostly_data(source)):
        layers = [
            name for name, share in shares(sums(own(source), "layer", "time")) if share >= TOUCH
        ]
        text = "from heat_counted($bins, $lines, $ranks, $layers)"
        counted = source.sql(text, layers=layers, **common)
        seen = any(counted["processes"].to_pylist())
        if not seen and not complete:
            # A log of Darshan may know when of the layers below alone.
            below = source.sql("select distinct layer from heat where layer <> 'mpi'")["layer"]
            if below:
                counted = source.sql(text, layers=below.to_pylist(), **common)
                seen = any(counted["processes"].to_pylist())
        if seen or not complete:
            return ("heat" if seen else "none"), counted
    every = "from heat_calls($bins, $lines, $ranks, $regions, $talk)"
    return "calls", source.sql(every, **common, **own_values(source))


def _mostly_data(source: Source) -> bool:
    """Do reads and writes take most of the time?"""
    kinds = dict(shares(sums(own(source), "kind", "time")))
    return bool(kinds.get("read", 0.0) + kinds.get("write", 0.0) > NEARLY)


def sums(table: pa.Table, key: str, value: str) -> list[tuple[Any, int]]:
    """(key, sum of value), the most first."""
    pairs = ((name, amount) for (name,), amount in totals(table, [key], value).items())
    return sorted(pairs, key=lambda pair: (-pair[1], str(pair[0])))


def totals(table: pa.Table, keys: Sequence[str], value: str) -> dict[tuple[Any, ...], int]:
    """Values of the keys -> sum of a column."""
    of: dict[tuple[Any, ...], int] = {}
    for *key, amount in zip(*(table[name].to_pylist() for name in (*keys, value)), strict=True):
        of[tuple(key)] = of.get(tuple(key), 0) + (amount or 0)
    return of


def shares(of: Sequence[tuple[Any, int]]) -> list[tuple[Any, float]]:
    """Each value as a part of all; 0 where all is."""
    total = sum(value for _, value in of) or 1
    return [(key, value / total) for key, value in of]


def busy_of(source: Source, layer: str) -> int | None:
    """ns during which an I/O call of the layer ran, anywhere: the union of their intervals; null: none recorded."""
    (alone,) = source.sql("from busy_alone($layer)", layer=layer).to_pylist()
    if alone["alone"]:
        return int(alone["busy"])
    busy = source.sql("from busy_layer($layer)", layer=layer)["busy"][0].as_py()
    return None if busy is None else int(busy)


def union_seconds(source: Source) -> float:
    """Seconds during which at least one of the program's own I/O calls ran, anywhere; from `calls`."""
    layers = set(own(source)["layer"].to_pylist())
    elsewhere = source.sql(
        "select count(*) as n from counters where layer = $layer and enclosing_layer is not null"
        " and enclosing_layer not in ('user', 'threads', $layer)",
        layer=min(layers, default=""),
    )
    # One layer only: the page has asked for its union already, and that is the costly part.
    if len(layers) == 1 and not elsewhere["n"][0].as_py() and not own_values(source)["talk"]:
        return float(busy_of(source, min(layers)) or 0) / SECOND
    rows = source.sql("from busy_own($regions, $talk)", **own_values(source))
    return float(rows["busy"][0].as_py() or 0) / SECOND


def everyone(source: Source) -> list[int]:
    """Ranks of the job, or, outside MPI, processes that made I/O calls."""
    units = source.sql("from everyone() order by unit")
    return list(units["unit"].to_pylist())


def has_ranks(source: Source) -> bool:
    """Is it a run of MPI?"""
    rows = source.sql("select count(rank) > 0 as ranks from processes")
    return bool(rows["ranks"][0].as_py())
