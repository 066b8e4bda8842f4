"""Two runs, A and B: seconds, calls and bytes side by side, and what was set otherwise.

Tables have a column of names, then for each quantity `NAME_a`, `NAME_b`; null where the run has no such row. The
difference is B's less A's; the largest comes first. Times of layers and functions are summed over calls, of
files over outermost calls; of ranks and of the whole they are unions.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from fathom.analysis import Remembered, Source, landscape, own, pairing, part, summary
from fathom.analysis.own import has_ranks
from fathom.run import database
from fathom.run.arrow import compute as pc
from fathom.run.database import added
from fathom.run.manifest import failure
from fathom.run.store import Run
from fathom.text.numbers import plural

SECOND = 1e9
APART = 0.01  # coverages that differ by less are the same
RUN, MEAN = "run time", "I/O, mean of the"
#: To be said of every difference.
ONE_EACH = (
    "one run of each: how far apart runs of the same program lie is not known, so a change may be chance;"
    " fathom study repeats runs"
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    manifest: Mapping[str, Any]
    source: Source


def side(run: Run) -> Side:
    """A run that is open, asked each question once."""
    return Side(run.name, run.manifest, Remembered(run))


def _joined(
    first: pa.Table, second: pa.Table, keys: Sequence[str], values: Sequence[str]
) -> pa.Table:
    """Rows with equal keys side by side, the largest difference of the last value first."""
    sums = ", ".join(f"sum(coalesce({value}, 0)) as {value}" for value in values)
    names = ", ".join(keys)
    columns = [f"coalesce(a.{key}, b.{key}) as {key}" for key in keys]
    columns += [f"{side}.{value} as {value}_{side}" for value in values for side in "ab"]
    alike = " and ".join(f"a.{key} is not distinct from b.{key}" for key in keys)
    return database.over(
        f"""with a as (select {names}, {sums} from first group by {names}),
            b as (select {names}, {sums} from second group by {names})
        select {", ".join(columns)}, coalesce(b.{values[-1]}, 0) - coalesce(a.{values[-1]}, 0) as difference
        from a full join b on {alike}
        order by abs(difference) desc, {names}""",
        first=first,
        second=second,
    )


def unit(a: Side, b: Side) -> str:
    """What a row of `ranks` is: `rank`; `process` where a run has none."""
    return "rank" if has_ranks(a.source) and has_ranks(b.source) else "process"


def _times(source: Source, unit: str) -> dict[str, float | None]:
    io = landscape.together(source)
    times: dict[str, float | None] = {
        RUN: summary.duration(source) / SECOND,
        f"{MEAN} {plural(unit)}": io["busy"] / SECOND / max(1, io["units"]),
        f"I/O, {unit} with the most": io["most"] / SECOND,
    }
    for layer in summary.layers(source).to_pylist():
        full = layer["recorded"] == layer["calls"]
        times[f"{layer['layer']}, anywhere"] = layer["busy_seconds"] if full else None
    return times


def whole(a: Side, b: Side) -> pa.Table:
    """quantity; seconds_a; seconds_b; difference: run time, I/O time of the mean rank (process, without ranks) and of
    the one with the most, and of each layer the time during which one of its calls ran anywhere (null unless all are
    in full)."""
    sides = [_times(side.source, unit(a, b)) for side in (a, b)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    columns = [[side.get(name) for name in names] for side in sides]
    both = [None if None in pair else pair[1] - pair[0] for pair in zip(*columns, strict=True)]
    numbers = dict(zip(("seconds_a", "seconds_b", "difference"), (*columns, both), strict=True))
    return pa.table(
        {"quantity": names, **{k: pa.array(v, pa.float64()) for k, v in numbers.items()}}
    )


def _layer_rows(source: Source, columns: Sequence[str]) -> pa.Table:
    both = (summary.layers(source), source.sql("from difference_mpi()"))
    return pa.concat_tables([rows.select(columns) for rows in both], promote_options="permissive")


def layers(a: Side, b: Side) -> pa.Table:
    """layer (`mpi < mpiio`: what MPI-IO made MPI communicate); calls; bytes; exclusive_seconds; inclusive_seconds."""
    values = ["calls", "bytes", "exclusive_seconds", "inclusive_seconds"]
    first, second = (_layer_rows(side.source, ["layer", *values]) for side in (a, b))
    return _joined(first, second, ["layer"], values)


def functions(a: Side, b: Side) -> pa.Table:
    """op; layer; caller; calls; errors; bytes; seconds."""
    first, second = (summary.functions(side.source) for side in (a, b))
    return _joined(
        first, second, ["op", "layer", "caller"], ["calls", "errors", "bytes", "seconds"]
    )


def _line_rows(source: Source) -> pa.Table:
    return database.over(
        "select source || ':' || line as line, op, calls, bytes, time / 1e9 as seconds"
        " from lines where line is not null",
        lines=own.lines(source),
    )


def lines(a: Side, b: Side) -> pa.Table:
    """line (FILE:LINE, of the program's own calls that are in full); op; calls; bytes; seconds."""
    first, second = (_line_rows(side.source) for side in (a, b))
    return _joined(first, second, ["line", "op"], ["calls", "bytes", "seconds"])


def files(a: Side, b: Side) -> pa.Table:
    """Files that last: path (A's, where the file has been paired); calls; opens; bytes_read; bytes_written; seconds."""
    first, second = (_lasting(summary.files(side.source)) for side in (a, b))
    second = _named_as(second, _same_files(a, b, first["path"], second["path"]))
    values = ["calls", "opens", "bytes_read", "bytes_written", "seconds"]
    return _joined(first, second, ["path"], values)


def _lasting(rows: pa.Table) -> pa.Table:
    """Without pipes, sockets and what the kernel makes up of a process: each run has its own."""
    passing = pc.is_in(rows["kind"], pa.array(["fifo", "socket", "other"]))
    for start in ("/proc/", "/sys/", "anon_inode:"):
        passing = pc.or_(passing, pc.starts_with(rows["path"], start))
    return rows.filter(pc.invert(passing))


def _same_files(
    a: Side, b: Side, first: pa.ChunkedArray, second: pa.ChunkedArray
) -> dict[str, str]:
    pairs = pairing.folders(a.manifest, b.manifest)
    return pairing.files(first.to_pylist(), second.to_pylist(), pairs)


def _named_as(rows: pa.Table, same: Mapping[str, str]) -> pa.Table:
    """Rows with the paths that their files have in the other run."""
    paths = [same.get(path, path) for path in rows["path"].to_pylist()]
    place = rows.column_names.index("path")
    return rows.set_column(place, "path", pa.array(paths, pa.string()))


def _rank_rows(source: Source) -> pa.Table:
    rows = landscape.ranks(source)
    return pa.table(
        {
            "rank": rows["unit"],
            "calls": rows["calls"],
            "bytes_moved": added(rows["bytes_read"], rows["bytes_written"]),
            "seconds": summary.seconds(rows["busy"]),
        }
    )


def ranks(a: Side, b: Side) -> pa.Table:
    """rank (of a run without MPI the process); calls; bytes_moved (by it, whoever asked); seconds."""
    first, second = (_rank_rows(side.source) for side in (a, b))
    return _joined(first, second, ["rank"], ["calls", "bytes_moved", "seconds"])


def _settings(side: Side) -> dict[tuple[str, str], str]:
    """What a run was started with."""
    manifest, settings = side.manifest, {}
    settings["run", "directory"] = str(manifest.get("directory", ""))
    settings["run", "launcher"] = str(manifest.get("launcher", ""))
    for name, value in manifest.get("environment", {}).items():
        settings["environment", name] = str(value)
    for name, value in manifest.get("configuration", {}).items():
        if name not in ("ring", "library"):
            settings["recording", name] = " ".join(value) if isinstance(value, list) else str(value)
    settings["version", "fathom"] = str(manifest.get("fathom", ""))
    for name, value in manifest.get("versions", {}).items():
        settings["version", name] = str(value)
    for name, values in _distinct(side.source).items():
        settings[name] = values
    return {key: value for key, value in settings.items() if value}


def _commands(a: Side, b: Side) -> tuple[str, str]:
    """Of commands with as many words, those that differ."""
    first, second = ([str(word) for word in side.manifest.get("command", [])] for side in (a, b))
    if len(first) != len(second):
        return shlex.join(first), shlex.join(second)
    apart = [(x, y) for x, y in zip(first, second, strict=True) if x != y]
    return shlex.join(x for x, _ in apart), shlex.join(y for _, y in apart)


def _distinct(source: Source) -> dict[tuple[str, str], str]:
    (row,) = source.sql(
        "select ranks, nodes, (select string_agg(distinct mpi, ' | ' order by mpi) from processes) as mpi"
        " from runs"
    ).to_pylist()
    return {
        ("version", "MPI"): row["mpi"] or "",
        ("run", "ranks"): str(row["ranks"] or ""),
        ("run", "nodes"): str(row["nodes"]),
    }


def configuration(a: Side, b: Side) -> pa.Table:
    """what (`run`, `environment`, `recording`, `version`, `asked`, `in force`, `file system`); of (class of what it is
    set for); setting; a; b; files, example (of how many paired files, datasets; one of them)."""
    first, second = _settings(a), _settings(b)
    first["run", "command"], second["run", "command"] = _commands(a, b)
    rows = [
        {"what": key[0], "of": "", "setting": key[1], "a": first.get(key), "b": second.get(key),
         "places": None, "example": None}
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]  # fmt: skip
    rows += _hints(a, b).to_pylist()
    names = ("what", "of", "setting", "a", "b", "places", "example")
    types = {"places": pa.int64()}
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], types.get(name, pa.string()))
            for name in names
        }
    )


def _placed(source: Source) -> pa.Table:
    """What each file, dataset and variable was set to: path, class, name, source, setting, value."""
    return pa.concat_tables(
        [source.sql(f"from {name}()") for name in ("difference_hints", "difference_places")]
    )


def _hints(a: Side, b: Side) -> pa.Table:
    """Settings of files that both runs have, alike differences together."""
    first, second = _placed(a.source), _placed(b.source)
    same = _same_files(a, b, first["path"], second["path"])
    return database.over(
        "from difference_settings('first', 'second')", first=first, second=_named_as(second, same)
    )


def _facts(side: Side) -> dict[str, Any]:
    (row,) = side.source.sql(
        "select ranks, chunks_missing + chunks_skipped as lost,"
        " (select count(*) from processes where ended = 'killed') as killed from runs"
    ).to_pylist()
    counted = side.manifest.get("configuration", {}).get("counted", [])
    calls = summary.coverage(side.source, counted)
    every = calls["recorded"] + calls["counted"]
    row["coverage"] = calls["recorded"] / every if every else 1.0
    row["files_told"] = landscape.are_files_known(side.source)
    row["programs"] = _program(side)
    configuration = side.manifest.get("configuration", {})
    row["layers"] = sorted({*configuration.get("layers", []), *configuration.get("counted", [])})
    row["chosen"] = {name: configuration.get(name) or None for name in ("ranks", "files")}
    return row  # type: ignore[no-any-return]


def _program(side: Side) -> str:
    """What the user started, with what did most of the I/O where that has another name: not helpers."""
    busiest = side.source.sql(
        "select exe from runs, processes left join lane_sums() using (process)"
        " where exe <> '' and (rank is not null or runs.ranks is null)"
        ' order by coalesce("io time", 0) desc, exe limit 1'
    )["exe"].to_pylist()
    started = PurePosixPath(str(side.manifest.get("program", ""))).name
    worked = PurePosixPath(busiest[0]).name if busiest else started
    # python3 is python3.11.
    return worked or started if worked.startswith(started) else f"{started} ({worked})"


def incomparable(a: Side, b: Side) -> list[str]:
    """Why differences between these runs may not mean what they seem to; one sentence each."""
    first, second = _facts(a), _facts(b)
    reasons = [
        f"other {words}: {first[key] or nothing} and {second[key] or nothing}"
        for key, words, nothing in (
            ("programs", "programs", "an unknown one"), ("ranks", "numbers of ranks", "no MPI"),
        )
        if first[key] != second[key]
    ]  # fmt: skip
    if first["layers"] != second["layers"]:
        reasons.append(f"other layers recorded: {_only(a, b, first['layers'], second['layers'])}")
    if first["chosen"] != second["chosen"]:
        reasons.append("other ranks or files were chosen to be recorded (see the configuration)")
    if abs(first["coverage"] - second["coverage"]) > APART:
        shares = " and ".join(f"{100 * side['coverage']:.0f} %" for side in (first, second))
        reasons.append(
            f"coverage differs: {shares} of the calls are in full; sums agree, unions of threads may not"
        )
    return reasons + [
        line for side, facts in ((a, first), (b, second)) for line in _lacking(side, facts)
    ]


def _lacking(side: Side, facts: Row) -> Iterator[str]:
    """What is missing of one run."""
    failed = failure(side.manifest)
    if failed:
        yield f"{side.name}: {failed}"
    for less in part.in_part(side.source, side.manifest):
        yield f"{side.name}: {less}"
    if not facts["files_told"]:
        yield f"{side.name}: recorded at level job, which tells no file's time and bytes; {part.FILES_UNTOLD}"
    if facts["killed"]:
        yield f"{side.name}: processes that did not end in order: {facts['killed']}"
    if facts["lost"]:
        yield f"{side.name}: chunks of its streams that are missing or damaged: {facts['lost']}"


def _only(a: Side, b: Side, first: Sequence[str], second: Sequence[str]) -> str:
    parts = [
        f"only in {side.name}: {' '.join(sorted(set(mine) - set(other)))}"
        for side, mine, other in ((a, first, second), (b, second, first))
        if set(mine) - set(other)
    ]
    return ", ".join(parts)


def slower(table: pa.Table, percent: float) -> list[str]:
    """Which of run time and I/O time of the mean rank grew by more than this; of `whole`."""
    grown = []
    for row in table.to_pylist():
        counts = row["quantity"] == RUN or row["quantity"].startswith(MEAN)
        if counts and row["seconds_b"] > row["seconds_a"] * (1 + percent / 100):
            grown.append(row["quantity"])
    return grown


#: Tables of two runs side by side, by what a row is of.
BY = {
    "layer": layers,
    "function": functions,
    "line": lines,
    "rank": ranks,
    "file": files,
    "configuration": configuration,
}
