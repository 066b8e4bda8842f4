"""One run as one row, after the landscape of Chang, Jin and Bauer (2016): which I/O, how long, by whom, what, when.

Everything comes from `counters`, so the answers are the same at every level and budget, but for two: the union of
a rank's threads, and when the I/O occurs, are exact only from `calls` (`io_uncertain_seconds`, `when_from` say so).
A rank's I/O time is the time during which at least one of its I/O calls ran. `layer` None: the program's own calls,
waiting for other ranks included; a layer's name: that layer's calls, whoever made them (the paper's: `posix`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from fathom.analysis import Source, statement, summary
from fathom.analysis.dominance import Dominance, dominant
from fathom.analysis.own import own_values
from fathom.analysis.when import when

OPERATIONS = ("open", "close", "read", "write", "other")
STACK = ("netcdf", "pnetcdf", "hdf5", "mpiio", "stdio", "aio", "posix", "dfs", "daos")
SECOND = 1e9


@dataclass(frozen=True)
class Rank:
    """I/O of one rank, or of one process where there is no MPI. ns."""

    number: int
    calls: int
    busy: int
    uncertain: int  # `busy` may be that much less: threads beside one another
    operations: Mapping[str, int]
    bytes_read: int
    bytes_written: int


def _io(source: Source, name: str, layer: str | None) -> list[dict[str, Any]]:
    """What `NAME.sql` says of the calls that count."""
    return source.sql(statement(name), layer=layer).to_pylist()  # type: ignore[no-any-return]


def _unions(source: Source, layer: str | None, rows: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Unions of the processes in which several threads made I/O calls and every one of them is in `calls`."""
    asked = {row["process"] for row in rows if row["beside"] and row["recorded"] == row["calls"]}
    if layer is not None or not asked:
        return {}
    found = source.sql(statement("busy_processes"), **own_values(source)).to_pylist()
    return {row["process"]: row["busy"] for row in found if row["process"] in asked}


def ranks(source: Source, layer: str | None = None) -> list[Rank]:
    """Each rank's I/O; of a run without MPI, each process's. Processes outside MPI of an MPI run are left out."""
    rows = _io(source, "landscape_ranks", layer)
    if any(row["rank"] is not None for row in rows):
        rows = [row for row in rows if row["rank"] is not None]
    unions = _unions(source, layer, rows)
    moved = {row["process"]: row for row in source.sql(statement("moved")).to_pylist()}
    lasted = summary.duration(source)
    images: dict[int, list[Rank]] = {}
    for row in rows:
        process = row["process"]
        # Sums of threads that a log of Darshan does not tell apart may be longer than the run.
        longer = max(0, row["time"] - lasted)
        image = Rank(
            process if row["rank"] is None else row["rank"],
            row["calls"],
            unions.get(process, row["time"] - longer),
            0 if process in unions else max(0, row["beside"] - longer),
            {name: row[name] for name in OPERATIONS},
            moved[process]["bytes_read"],
            moved[process]["bytes_written"],
        )
        images.setdefault(image.number, []).append(image)
    return [_together(number, parts) for number, parts in sorted(images.items())]


def _together(number: int, images: Sequence[Rank]) -> Rank:
    """A rank that replaced its program (exec) is one rank."""
    return Rank(
        number,
        sum(image.calls for image in images),
        sum(image.busy for image in images),
        sum(image.uncertain for image in images),
        {name: sum(image.operations[name] for image in images) for name in OPERATIONS},
        sum(image.bytes_read for image in images),
        sum(image.bytes_written for image in images),
    )


def _place(layer: str) -> tuple[int, str]:
    """In the order in which one calls the other; a user's own first."""
    name = layer.removeprefix("<")
    return (STACK.index(name) if name in STACK else -1, layer)


def _layers(functions: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Layers used, `<` before one that another layer used; MPI-IO functions used."""
    layers, mpiio = set(), set()
    for row in functions:
        if row["kind"] == "comm" or row["caller"] in ("mpi", row["layer"]):
            continue
        layers.add(row["layer"] if row["caller"] == "program" else f"<{row['layer']}")
        if row["layer"] == "mpiio":
            mpiio.add(row["op"])
    return sorted(layers, key=_place), sorted(mpiio)


def _dominance(prefix: str, found: Dominance, alike: bool) -> dict[str, Any]:
    """Who dominates is not known where of some ranks less is known than of others."""
    if not alike:
        return {f"{prefix}_by": "unknown", f"{prefix}_by_ranks": [], f"{prefix}_by_share": None}
    return {
        f"{prefix}_by": found.how,
        f"{prefix}_by_ranks": list(found.ranks),
        f"{prefix}_by_share": found.share,
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


def files_told(source: Source, layer: str | None = None) -> bool:
    """Are files told apart? At level job only opening knows its file."""
    rows = _io(source, "landscape_functions", layer)
    data = [row for row in rows if row["operation"] in ("read", "write", "close")]
    unfiled, time = (sum(row[key] for row in data) for key in ("unfiled", "time"))
    return bool(2 * unfiled <= time)


def opens(source: Source) -> dict[str, Any]:
    """Opens of files, and the most in any second: from calls, or estimated where some are in counters only."""
    found = source.sql(statement("opens_peak")).to_pylist()[0]
    return {
        "opens": found["opens"],
        "peak_opens_per_second": found["peak"],
        "peak_opens_from": "counters" if found["counted"] else "calls",
    }


def _left_out(source: Source) -> dict[str, Any]:
    """What is a run-time's, not the program's."""
    (row,) = summary.beside(source).to_pylist()
    return {f"left_out_{name}": value for name, value in row.items()}


def row(source: Source, layer: str | None = None) -> dict[str, Any]:
    """The run's row. Seconds of open, close, read, write and other are means over the ranks; those of
    `operation` are of all ranks together; `share` is of the run time."""
    run = source.sql("select duration, ranks, ranks_seen, coverage from runs").to_pylist()[0]
    units = ranks(source, layer)
    count = max(1, len(units))
    duration = max(1, run["duration"])
    most = max(units, key=lambda unit: unit.busy, default=None)
    mean = sum(unit.busy for unit in units) / count / SECOND
    layers, mpiio = _layers(summary.functions(source).to_pylist())
    moments = when(source)
    alike = not source.sql(statement("in_part"))["files"][0].as_py()
    functions = _io(source, "landscape_functions", layer)
    return {
        "ranks": run["ranks"] or None,
        "ranks_seen": len(units),
        "run_seconds": run["duration"] / SECOND,
        "io_seconds": mean,
        "io_most_seconds": most.busy / SECOND if most else 0.0,
        "io_most_rank": most.number if most else None,
        "io_share": mean * SECOND / duration,
        "io_most_share": most.busy / duration if most else 0.0,
        "io_uncertain_seconds": sum(unit.uncertain for unit in units) / count / SECOND,
        **{
            f"{name}_seconds": sum(unit.operations[name] for unit in units) / count / SECOND
            for name in OPERATIONS
        },
        **_operation(functions),
        "bytes_read": sum(unit.bytes_read for unit in units),
        "bytes_written": sum(unit.bytes_written for unit in units),
        **_dominance("time", dominant({unit.number: unit.busy for unit in units}), alike),
        **_dominance(
            "bytes",
            dominant({unit.number: unit.bytes_read + unit.bytes_written for unit in units}),
            alike,
        ),
        "layers": layers,
        "mpiio_functions": mpiio,
        "when": moments.pattern,
        "when_first_seconds": moments.first,
        "when_last_seconds": moments.last,
        "when_bursts": [list(burst) for burst in moments.bursts],
        "when_period_seconds": moments.period,
        "when_from": moments.source,
        "when_parts": moments.parts,
        "files_told": files_told(source, layer),
        **opens(source),
        **_left_out(source),
        "coverage": run["coverage"],
    }


def _named(path: str, globs: Sequence[tuple[str, str]]) -> str | None:
    base = PurePosixPath(path).name
    hits = (name for name, glob in globs if fnmatchcase(path, glob) or fnmatchcase(base, glob))
    return next(hits, None)


def groups(
    source: Source, globs: Sequence[tuple[str, str]] = (), layer: str | None = None
) -> list[dict[str, Any]]:
    """One row per group of files, the most time first: group; files; seconds (mean over the ranks) of all I/O
    and of each operation; bytes_read, bytes_written. The first of `globs` (name, glob) that a path or its last
    part matches names its group, no other file is in any; without globs the suffix does, else the name."""
    count = max(1, len(ranks(source, layer)))
    found: dict[str, dict[str, Any]] = {}
    keys = ("time", *OPERATIONS, "bytes_read", "bytes_written")
    for row in _io(source, "landscape_files", layer):
        name = _named(row["path"], globs) if globs else row["file_group"]
        if name is None:
            continue
        group = found.setdefault(name, dict.fromkeys(("files", *keys), 0))
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
        for name, group in sorted(found.items(), key=lambda item: (-item[1]["time"], item[0]))
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
