"""Two runs, A and B: seconds, calls and bytes side by side, and what was set otherwise.

Tables have a column of names, then for each quantity `NAME_a`, `NAME_b`; null where the run has no such row. The
difference is B's less A's; the largest comes first. Times of layers and functions are summed over calls, of
files over outermost calls; of ranks and of the whole they are unions.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from fathom.analysis import Source, landscape, pairing, part, statement, summary
from fathom.manifest import failure

SECOND = 1e9
APART = 0.01  # coverages that differ by less are the same
RUN, MEAN = "run time", "I/O, mean of the ranks"
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


def _joined(
    first: Iterable[Row], second: Iterable[Row], keys: Sequence[str], values: Sequence[str]
) -> pa.Table:
    """Rows with equal keys side by side, the largest difference of the last value first."""
    sides: list[dict[tuple[Any, ...], Row]] = []
    for rows in (first, second):
        sums: dict[tuple[Any, ...], Row] = {}
        for row in rows:
            total = sums.setdefault(tuple(row[key] for key in keys), dict.fromkeys(values, 0))
            for value in values:
                total[value] += row[value] or 0
        sides.append(sums)
    out = []
    for key in sides[0].keys() | sides[1].keys():
        a, b = (side.get(key) for side in sides)
        row = dict(zip(keys, key, strict=True))
        for value in values:
            row[f"{value}_a"], row[f"{value}_b"] = a and a[value], b and b[value]
        row["difference"] = (b[values[-1]] if b else 0) - (a[values[-1]] if a else 0)
        out.append(row)
    out.sort(key=lambda row: (-abs(row["difference"]), *(str(row[key]) for key in keys)))
    names = [*keys, *(f"{value}_{side}" for value in values for side in "ab"), "difference"]
    return pa.table({name: [row[name] for row in out] for name in names})


def _times(source: Source) -> dict[str, float | None]:
    busy = [rank.busy / SECOND for rank in landscape.ranks(source)]
    times: dict[str, float | None] = {
        RUN: summary.duration(source) / SECOND,
        MEAN: sum(busy) / max(1, len(busy)),
        "I/O, rank with the most": max(busy, default=0.0),
    }
    for layer in summary.layers(source).to_pylist():
        full = layer["recorded"] == layer["calls"]
        times[f"{layer['layer']}, anywhere"] = layer["busy_seconds"] if full else None
    return times


def whole(a: Side, b: Side) -> pa.Table:
    """quantity; seconds_a; seconds_b; difference: run time, I/O time of the mean rank and of the one with the most,
    and of each layer the time during which one of its calls ran anywhere (null unless all are in full)."""
    sides = [_times(side.source) for side in (a, b)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    columns = [[side.get(name) for name in names] for side in sides]
    both = [None if None in pair else pair[1] - pair[0] for pair in zip(*columns, strict=True)]
    numbers = dict(zip(("seconds_a", "seconds_b", "difference"), (*columns, both), strict=True))
    return pa.table(
        {"quantity": names, **{k: pa.array(v, pa.float64()) for k, v in numbers.items()}}
    )


def _layer_rows(source: Source) -> list[Row]:
    rows: list[Row] = summary.layers(source).to_pylist()
    rows += source.sql(statement("difference_mpi")).to_pylist()
    return rows


def layers(a: Side, b: Side) -> pa.Table:
    """layer (`mpi < mpiio`: what MPI-IO made MPI communicate); calls; bytes; exclusive_seconds; inclusive_seconds."""
    values = ["calls", "bytes", "exclusive_seconds", "inclusive_seconds"]
    return _joined(_layer_rows(a.source), _layer_rows(b.source), ["layer"], values)


def functions(a: Side, b: Side) -> pa.Table:
    """op; layer; caller; calls; errors; bytes; seconds."""
    first, second = (summary.functions(side.source).to_pylist() for side in (a, b))
    return _joined(
        first, second, ["op", "layer", "caller"], ["calls", "errors", "bytes", "seconds"]
    )


def files(a: Side, b: Side) -> pa.Table:
    """Files that last: path (A's, where the file has been paired); calls; opens; bytes_read; bytes_written; seconds."""
    first, second = (_lasting(summary.files(side.source).to_pylist()) for side in (a, b))
    same = _same_files(a, b, (row["path"] for row in first), (row["path"] for row in second))
    for row in second:
        row["path"] = same.get(row["path"], row["path"])
    values = ["calls", "opens", "bytes_read", "bytes_written", "seconds"]
    return _joined(first, second, ["path"], values)


def _lasting(rows: Iterable[Row]) -> list[Row]:
    """Without pipes, sockets and what the kernel makes up of a process: each run has its own."""
    return [
        row
        for row in rows
        if row["kind"] not in ("fifo", "socket", "other")
        and not row["path"].startswith(("/proc/", "/sys/", "anon_inode:"))
    ]


def _same_files(a: Side, b: Side, first: Iterable[str], second: Iterable[str]) -> dict[str, str]:
    return pairing.files(first, second, pairing.folders(a.manifest, b.manifest))


def _rank_rows(source: Source) -> list[Row]:
    return [
        {
            "rank": rank.number,
            "calls": rank.calls,
            "bytes_moved": rank.bytes_read + rank.bytes_written,
            "seconds": rank.busy / SECOND,
        }
        for rank in landscape.ranks(source)
    ]


def ranks(a: Side, b: Side) -> pa.Table:
    """rank (of a run without MPI the process); calls; bytes_moved (by it, whoever asked); seconds."""
    sides = (_rank_rows(a.source), _rank_rows(b.source))
    return _joined(sides[0], sides[1], ["rank"], ["calls", "bytes_moved", "seconds"])


def _settings(side: Side) -> dict[tuple[str, str], str]:
    """What a run was started with."""
    manifest, found = side.manifest, {}
    found["run", "directory"] = str(manifest.get("directory", ""))
    found["run", "launcher"] = str(manifest.get("launcher", ""))
    for name, value in manifest.get("environment", {}).items():
        found["environment", name] = str(value)
    for name, value in manifest.get("configuration", {}).items():
        if name not in ("ring", "library"):
            found["recording", name] = " ".join(value) if isinstance(value, list) else str(value)
    found["version", "fathom"] = str(manifest.get("fathom", ""))
    for name, value in manifest.get("versions", {}).items():
        found["version", name] = str(value)
    for name, values in _distinct(side.source).items():
        found[name] = values
    return {key: value for key, value in found.items() if value}


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
    rows += _hints(a, b)
    names = ("what", "of", "setting", "a", "b", "places", "example")
    types = {"places": pa.int64()}
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], types.get(name, pa.string()))
            for name in names
        }
    )


Place = tuple[str, str, str, str, str]  # what, class, setting, file, name in it


def _placed(source: Source) -> dict[Place, str]:
    found = {
        (row["source"], row["class"], row["setting"], row["path"], row["name"]): row["value"]
        for row in source.sql(statement("difference_hints")).to_pylist()
    }
    for row in source.sql(statement("difference_places")).to_pylist():
        found["file system", "file", "type", row["path"], ""] = row["file_system"]
        found["file system", "file", "mount", row["path"], ""] = row["mount"]
    return found


def _hints(a: Side, b: Side) -> list[Row]:
    """Settings of files that both runs have, alike differences together."""
    first, second = _placed(a.source), _placed(b.source)
    in_a, in_b = ({place[3] for place in side} for side in (first, second))
    same = _same_files(a, b, in_a, in_b)
    moved = {
        (*key[:3], same[key[3]], key[4]): value for key, value in second.items() if key[3] in same
    }
    both = set(same.values())
    rows: dict[tuple[Any, ...], Row] = {}
    for place in sorted(first.keys() | moved.keys()):
        values = (first.get(place), moved.get(place))
        if place[3] not in both or values[0] == values[1]:
            continue
        if place[0] == "file system" and None in values:
            continue  # counted at level job: which files were used is not told
        row = rows.setdefault(
            (*place[:3], *values),
            {"what": place[0], "of": place[1], "setting": place[2], "a": values[0], "b": values[1],
             "places": 0, "example": place[3] + (f": {place[4]}" if place[4] else "")},
        )  # fmt: skip
        row["places"] += 1
    return list(rows.values())


def _facts(side: Side) -> dict[str, Any]:
    (row,) = side.source.sql(
        "select ranks, chunks_missing + chunks_skipped as lost,"
        " (select count(*) from processes where ended = 'killed') as killed from runs"
    ).to_pylist()
    counted = side.manifest.get("configuration", {}).get("counted", [])
    calls = summary.coverage(side.source, counted)
    every = calls["recorded"] + calls["counted"]
    row["coverage"] = calls["recorded"] / every if every else 1.0
    exes = side.source.sql(
        "select distinct exe from processes, runs where rank is not null or runs.ranks is null"
    )
    row["files_told"] = landscape.files_told(side.source)
    programs = {PurePosixPath(exe).name for exe in exes["exe"].to_pylist() if exe}
    row["programs"] = " ".join(sorted(programs))
    configuration = side.manifest.get("configuration", {})
    row["layers"] = sorted({*configuration.get("layers", []), *configuration.get("counted", [])})
    row["chosen"] = {name: configuration.get(name) or None for name in ("ranks", "files")}
    return row  # type: ignore[no-any-return]


def incomparable(a: Side, b: Side) -> list[str]:
    """Why differences between these runs may not mean what they seem to; one sentence each."""
    first, second = _facts(a), _facts(b)
    said = [
        f"other {words}: {first[key] or 'none'} and {second[key] or 'none'}"
        for key, words in (("programs", "programs"), ("ranks", "numbers of ranks"))
        if first[key] != second[key]
    ]
    if first["layers"] != second["layers"]:
        said.append(f"other layers recorded: {_only(a, b, first['layers'], second['layers'])}")
    if first["chosen"] != second["chosen"]:
        said.append("other ranks or files were chosen to be recorded (see the configuration)")
    if abs(first["coverage"] - second["coverage"]) > APART:
        shares = " and ".join(f"{100 * side['coverage']:.0f} %" for side in (first, second))
        said.append(
            f"coverage differs: {shares} of the calls are in full; sums agree, unions of threads may not"
        )
    return said + [
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
    found = []
    for row in table.to_pylist():
        if row["quantity"] in (RUN, MEAN) and row["seconds_b"] > row["seconds_a"] * (
            1 + percent / 100
        ):
            found.append(row["quantity"])
    return found
