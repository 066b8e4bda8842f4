"""One run as one row, after the landscape of Chang, Jin and Bauer (2016): which I/O, how long, by whom, what, when.

Everything comes from `counters`, so the answers are the same at every level and budget, but for two: the union of
a rank's threads, and when the I/O occurs, are exact only from `calls` (`io_uncertain_seconds`, `when_from` say so).
A rank's I/O time is the time during which at least one of its I/O calls ran. `layer` None: the program's own calls,
waiting for other ranks included; a layer's name: that layer's calls, whoever made them (the paper's: `posix`).
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from fathom.analysis import Source, ranklist, summary
from fathom.analysis.dominance import HOLD, LIKE
from fathom.analysis.own import has_ranks, own, own_values
from fathom.analysis.when import when
from fathom.catalog.layers import names

OPERATIONS = ("open", "close", "read", "write", "other")
#: Layers of I/O, from the program's call down.
STACK = names("library", "system", "store")
SECOND = 1e9


def _io(
    source: Source, name: str, layer: str | None, rank: int | None = None
) -> list[dict[str, Any]]:
    """What a macro says of the calls that count."""
    return source.sql(f"from {name}($layer, $rank)", layer=layer, rank=rank).to_pylist()  # type: ignore[no-any-return]


def _of_units(
    source: Source, name: str, layer: str | None, more: str = ""
) -> tuple[str, dict[str, Any]]:
    """The statement of a macro on what each rank did, and its values; `more`: arguments after the usual ones."""
    values: dict[str, Any] = {"layer": layer, "ranks": has_ranks(source)}
    unions = "no_unions()"
    if layer is None and source.sql("from landscape_threads()").to_pylist()[0]["n"]:
        unions, values = "busy_processes($regions, $talk)", values | own_values(source)
    return f"with unions_ as (from {unions}) from {name}($layer, $ranks, 'unions_'{more})", values


def ranks(source: Source, layer: str | None = None) -> pa.Table:
    """One row per rank, or per process of a run without MPI; processes outside MPI of an MPI run are left out.

    Columns, times in ns: unit (its number); calls; busy; uncertain (`busy` may be that much less: threads beside one
    another); open, close, read, write, other; bytes_read, bytes_written.
    """
    text, values = _of_units(source, "landscape_units", layer)
    return source.sql(text, **values)


def together(source: Source, layer: str | None = None) -> dict[str, Any]:
    """Sums of the columns of `ranks`; `units`: how many; `most`, `most_unit`: of the one with the most time; `time_by`,
    `bytes_by`: to whom these belong, a row of dominance() each."""
    text, values = _of_units(
        source,
        "landscape_together",
        layer,
        f", {HOLD}, {LIKE}",
    )
    row: dict[str, Any] = source.sql(text, **values).to_pylist()[0]
    return row


def _of_rank(source: Source, layer: str | None, rank: int) -> dict[str, Any]:
    """The same sums of one rank alone; a rank that is not there has done nothing."""
    table = ranks(source, layer)
    mine = [row for row in table.to_pylist() if row["unit"] == rank] if has_ranks(source) else []
    names = [name for name in table.column_names if name not in ("unit", "calls")]
    return {name: sum(row[name] for row in mine) for name in names}


def _place(layer: str) -> tuple[int, str]:
    """In the order in which one calls the other; a user's own first."""
    name = layer.removeprefix("<")
    return (STACK.index(name) if name in STACK else -1, layer)


def _layers(
    functions: Iterable[Mapping[str, Any]], own: Iterable[Mapping[str, Any]]
) -> tuple[list[str], list[str]]:
    """Layers used, `<` before one that another layer used; MPI-IO functions used. `own`: the program's own calls on
    files; what talks by sockets and pipes, or is a system call without a name here, makes no layer of I/O."""
    direct = {row["layer"] for row in own if row["op"] != "syscall"}
    layers, mpiio = set(), set()
    for row in functions:
        if row["kind"] == "comm" or row["caller"] in ("mpi", row["layer"]):
            continue
        if row["caller"] == "program" and row["layer"] not in direct:
            continue
        layers.add(row["layer"] if row["caller"] == "program" else f"<{row['layer']}")
        if row["layer"] == "mpiio":
            mpiio.add(row["op"])
    return sorted(layers, key=_place), sorted(mpiio)


def _dominance(prefix: str, dominant: Mapping[str, Any], alike: bool) -> dict[str, Any]:
    """Who dominates, the ranks as `--ranks` has them; not known where of some ranks less is known than of others."""
    if not alike:
        dominant = {"how": "unknown", "units": [], "share": None}
    return {
        f"{prefix}_by": dominant["how"],
        f"{prefix}_by_count": len(dominant["units"]),
        f"{prefix}_by_ranks": ranklist.compress(dominant["units"]),
        f"{prefix}_by_share": dominant["share"],
    }


def _operation(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The operation with the most time, over all ranks, and the function with the most of that."""
    sums = {
        name: sum(row["time"] for row in rows if row["operation"] == name) for name in OPERATIONS
    }
    name = max(sums, key=lambda key: sums[key])
    total = sum(sums.values())
    if not total:
        return {
            "operation": None,
            "operation_seconds": 0.0,
            "operation_share": None,
            "operation_function": None,
        }
    return {
        "operation": name,
        "operation_seconds": sums[name] / SECOND,
        "operation_share": sums[name] / total,
        "operation_function": next(row["op"] for row in rows if row["operation"] == name),
    }


def are_files_known(source: Source, layer: str | None = None) -> bool:
    """Are files told apart? At level job only opening knows its file."""
    rows = _io(source, "landscape_functions", layer)
    data = [row for row in rows if row["operation"] in ("read", "write", "close")]
    unfiled, time = (sum(row[key] for row in data) for key in ("unfiled", "time"))
    return bool(2 * unfiled <= time)


def opens(source: Source) -> dict[str, Any]:
    """Opens of files, and the most in any second: from calls, or estimated where some are in counters only."""
    row = source.sql("from opens_peak()").to_pylist()[0]
    return {
        "opens": row["opens"],
        "peak_opens_per_second": row["peak"],
        "peak_opens_from": "counters" if row["counted"] else "calls",
    }


def _left_out(source: Source) -> dict[str, Any]:
    """What is a run-time's, not the program's."""
    (row,) = summary.beside(source).to_pylist()
    return {f"left_out_{name}": value for name, value in row.items()}


def row(source: Source, layer: str | None = None, rank: int | None = None) -> dict[str, Any]:
    """The run's row. Seconds of open, close, read, write and other are means over the ranks, their shares those of
    all that; those of `operation` are of all ranks together; `share` is of the run time. With `rank` times, bytes and
    operations are of that rank alone; what is said of the most, of who and when is of all."""
    run = source.sql("select duration, ranks, ranks_seen, coverage from runs").to_pylist()[0]
    io = together(source, layer)
    count = max(1, io["units"]) if rank is None else 1
    if rank is not None:
        io |= _of_rank(source, layer, rank)
    duration = max(1, run["duration"])
    operations = sum(io[name] for name in OPERATIONS)
    mean = io["busy"] / count / SECOND
    layers, mpiio = _layers(summary.functions(source).to_pylist(), own(source).to_pylist())
    moments = when(source)
    alike = not source.sql("from ranks_in_part()")["files"][0].as_py()
    functions = _io(source, "landscape_functions", layer, rank)
    return {
        "ranks": run["ranks"] or None,
        "ranks_seen": io["units"],
        **source.sql("from landscape_nodes()").to_pylist()[0],
        "run_seconds": run["duration"] / SECOND,
        "io_seconds": mean,
        "io_most_seconds": io["most"] / SECOND,
        "io_most_rank": io["most_unit"],
        "io_share": mean * SECOND / duration,
        "io_most_share": io["most"] / duration,
        "io_uncertain_seconds": io["uncertain"] / count / SECOND,
        **{f"{name}_seconds": io[name] / count / SECOND for name in OPERATIONS},
        **{f"{name}_share": io[name] / operations if operations else None for name in OPERATIONS},
        **_operation(functions),
        "bytes_read": io["bytes_read"],
        "bytes_written": io["bytes_written"],
        **_dominance("time", io["time_by"], alike),
        **_dominance("bytes", io["bytes_by"], alike),
        "layers": layers,
        "mpiio_functions": mpiio,
        "when": moments.pattern,
        "when_first_seconds": moments.first,
        "when_last_seconds": moments.last,
        "when_bursts": [list(burst) for burst in moments.bursts],
        "when_period_seconds": moments.period,
        "when_from": moments.source,
        "when_parts": moments.parts,
        "files_told": are_files_known(source, layer),
        **opens(source),
        "closes": source.sql("select closes() as closes")["closes"][0].as_py(),
        **_left_out(source),
        "coverage": run["coverage"],
    }


def _named(path: str, globs: Sequence[tuple[str, str]]) -> str | None:
    base = PurePosixPath(path).name
    hits = (name for name, glob in globs if fnmatchcase(path, glob) or fnmatchcase(base, glob))
    return next(hits, None)


def groups(
    source: Source,
    globs: Sequence[tuple[str, str]] = (),
    layer: str | None = None,
    rank: int | None = None,
) -> list[dict[str, Any]]:
    """One row per group of files, the most time first: group; files; seconds (mean over the ranks, or of one) of
    all I/O and of each operation; bytes_read, bytes_written. The first of `globs` (name, glob) that a path or its last
    part matches names its group, no other file is in any; without globs the suffix does, else the name."""
    count = max(1, together(source, layer)["units"]) if rank is None else 1
    by_group: dict[str, dict[str, Any]] = {}
    keys = ("time", *OPERATIONS, "bytes_read", "bytes_written")
    for row in _io(source, "landscape_files", layer, rank):
        name = _named(row["path"], globs) if globs else row["file_group"]
        if name is None:
            continue
        group = by_group.setdefault(name, dict.fromkeys(("files", *keys), 0))
        group["files"] += 1
        for key in keys:
            group[key] += row[key]
    return [
        {
            "group": name,
            "files": group["files"],
            "io_seconds": group["time"] / count / SECOND,
            **{f"{key}_seconds": group[key] / count / SECOND for key in OPERATIONS},
            "bytes_read": group["bytes_read"],
            "bytes_written": group["bytes_written"],
        }
        for name, group in sorted(by_group.items(), key=lambda item: (-item[1]["time"], item[0]))
    ]


SPEEDUPS = ("run", "io", "open", "read", "write", "close")


def add_speedups(
    rows: Iterable[dict[str, Any]],
    baseline: Mapping[str, Any] | None,
    names: Sequence[str] = SPEEDUPS,
) -> None:
    """Adds `speedup_NAME` to each row: how many times faster than the baseline its `NAME_seconds` are; null
    where one of the two took no time, or there is no baseline."""
    for row in rows:
        for name in names:
            before = baseline[f"{name}_seconds"] if baseline else 0
            now = row[f"{name}_seconds"]
            row[f"speedup_{name}"] = before / now if before > 0 and now > 0 else None
