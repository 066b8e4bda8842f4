"""fathom landscape: many runs in one table: which I/O, how long, by whom, what, when.

examples:
  fathom landscape *.fathom
  fathom landscape stripe16 stripe64 --baseline stripe1 --group 'rst=*.rst' --group 'athdf=*.athdf'
  fathom landscape s3d --layer posix
  fathom landscape *.fathom --csv > landscape.csv
  fathom landscape s3d other s3d.alone --interference
  fathom landscape both --interference     programs of one run, with the servers they used
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

import fathom
from fathom.analysis import Remembered, interference, landscape
from fathom.directory import resolve
from fathom.errors import FathomError, UsageError
from fathom.store import Run
from fathom.view import interference as shared
from fathom.view import landscape as view
from fathom.view import numbers, tables

T = TypeVar("T")

GROUP_SECONDS = ("io", "open", "read", "write", "close")
FEW = 0.01  # of a run's I/O time: file groups found by suffix that have less are not printed


def _group(word: str) -> tuple[str, str]:
    name, equals, glob = word.partition("=")
    if not (name and equals and glob):
        raise argparse.ArgumentTypeError(f"'{word}' is no NAME=GLOB, as rst=*.rst")
    return name, glob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN…, what to compare with, which calls."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument("--baseline", metavar="RUN", help="adds speed-ups over this run")
    parser.add_argument(
        "--group",
        metavar="NAME=GLOB",
        type=_group,
        action="append",
        help="a group of files, repeatable, the first match counts (default: by suffix, with --baseline)",
    )
    parser.add_argument(
        "--layer",
        metavar="LAYER",
        help="this layer's calls, not the program's own (posix: the file system)",
    )
    parser.add_argument(
        "--interference",
        action="store_true",
        help="which runs used the same servers at the same time, and what each lost by it",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    form.add_argument("--csv", action="store_true", help="one line per run, raw numbers")


def _notes(run: Run, row: dict[str, Any]) -> list[str]:
    """What the reader must know of how much of the run is there."""
    notes = []
    level = run.manifest.get("configuration", {}).get("level", "call")
    if row["operation"] is None:
        notes.append("no I/O call was recorded: fathom doctor PROGRAM says why that can be")
    if row["ranks"] and row["ranks_seen"] < row["ranks"]:
        notes.append(f"{row['ranks_seen']:,} of {row['ranks']:,} ranks were recorded")
    if row["io_uncertain_seconds"] > FEW * row["io_seconds"]:
        most = numbers.seconds(row["io_uncertain_seconds"])
        notes.append(f"threads of a rank were added up: its I/O time may be up to {most} less")
    if not row["files_told"]:
        notes.append(
            f"level {level}: no file groups, sockets and pipes not told from files; record at level file"
        )
    gone = run.sql(
        "select (select count(*) from processes where ended = 'killed') as killed,"
        " chunks_missing + chunks_skipped as chunks from runs"
    ).to_pylist()[0]
    if gone["killed"]:
        ended = "did not end in order"
        notes.append(f"{numbers.things(gone['killed'], 'process', 'processes')} {ended}")
    if gone["chunks"]:
        notes.append(f"{numbers.things(gone['chunks'], 'chunk')} of its streams missing or damaged")
    return notes


def _row(path: str, layer: str | None, globs: list[tuple[str, str]]) -> dict[str, Any]:
    run = fathom.open(path)
    source = Remembered(run)
    row = {
        "run": run.name,
        "path": str(run.path),
        "command": [str(word) for word in run.manifest.get("command", [])],
        **landscape.row(source, layer),
    }
    row["groups"] = landscape.groups(source, globs, layer) if row["files_told"] else []
    row["notes"] = _notes(run, row)
    return row


def _done(each: Iterable[Callable[[], T]]) -> tuple[list[T], int]:
    """What they give, and the status: of the last that could not, which is said."""
    found: list[T] = []
    status = 0
    for work in each:
        try:
            found.append(work())
        except FathomError as error:
            status = error.status
            if not error.said:
                print(f"fathom: {error}", file=sys.stderr)
    return found, status


def rows(
    paths: list[str], layer: str | None, globs: list[tuple[str, str]]
) -> tuple[list[dict[str, Any]], int]:
    """The rows of all runs that can be read, and the status: of the last that cannot."""
    found, status = _done(partial(_row, path, layer, globs) for path in paths)
    return list({row["path"]: row for row in found}.values()), status


def _distinct(rows: list[dict[str, Any]]) -> None:
    """Runs of one name in several folders are called by their paths."""
    names = [row["run"] for row in rows]
    for row in rows:
        if names.count(row["run"]) > 1:
            row["run"] = row["path"]


def _compare(rows: list[dict[str, Any]], baseline: dict[str, Any]) -> None:
    landscape.add_speedups(rows, baseline)
    before = {group["group"]: group for group in baseline["groups"]}
    for row in rows:
        for group in row["groups"]:
            landscape.add_speedups([group], before.get(group["group"]), GROUP_SECONDS)


def _groups_worth_showing(
    rows: list[dict[str, Any]], asked: list[tuple[str, str]] | None
) -> list[str]:
    if asked:
        return list(dict.fromkeys(name for name, _ in asked))
    found: dict[str, None] = {}
    for row in rows:
        for group in row["groups"]:
            if group["io_seconds"] >= FEW * row["io_seconds"] > 0:
                found[group["group"]] = None
    return list(found)


def _flat(row: dict[str, Any], groups: list[str]) -> dict[str, Any]:
    """Lists as words apart by blanks; of each group its seconds, and speed-ups where there are some."""
    flat = {
        key: " ".join(str(one) for one in value) if isinstance(value, list) else value
        for key, value in row.items()
        if key not in ("groups", "when_parts")
    }
    flat["notes"] = "; ".join(row["notes"])
    have = {group["group"]: group for group in row["groups"]}
    for name in groups:
        for key in ("io_seconds", "read_seconds", "write_seconds"):
            flat[f"{name} {key}"] = have.get(name, {}).get(key)
        for key in GROUP_SECONDS if "speedup_run" in row else ():
            flat[f"{name} speedup_{key}"] = have.get(name, {}).get(f"speedup_{key}")
    return flat


def _interference(arguments: argparse.Namespace) -> int:
    if arguments.baseline or arguments.group or arguments.layer:
        raise UsageError("landscape: --interference goes alone, or with --json or --csv")
    opened, unread = _done(partial(fathom.open, path) for path in arguments.runs)
    runs = {str(one.path): one for one in opened}
    names = [one.name for one in runs.values()]

    def parts(path: str, run: Run) -> list[interference.One]:
        command = [str(word) for word in run.manifest.get("command", [])]
        name = run.name if names.count(run.name) == 1 else path
        return interference.of_run(name, run, command)

    each, damaged = _done(partial(parts, path, run) for path, run in runs.items())
    every = [one for some in each for one in some]
    if len(every) < 2:
        raise UsageError(
            "landscape: --interference needs two runs, or one of several programs and the servers that they used"
        )
    found = interference.interference(every)
    if arguments.json:
        print(json.dumps(shared.as_json(found), indent=2, ensure_ascii=False))
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(pa.Table.from_pylist(shared.server_rows(found))))
    else:
        shared.show_interference(found)
    return damaged or unread


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables, or the rows."""
    if arguments.interference:
        return _interference(arguments)
    first = str(resolve(arguments.baseline)) if arguments.baseline else None
    paths = [first] * bool(first) + arguments.runs
    found, status = rows(paths, arguments.layer, arguments.group or [])
    if not found or (first and found[0]["path"] != first):
        return status
    _distinct(found)
    if arguments.layer and not any(row["operation"] for row in found):
        raise UsageError(
            f"landscape: no run has calls of layer '{arguments.layer}'; fathom show lists them"
        )
    baseline = found[0]["run"] if first else None
    if baseline:
        _compare(found, found[0])
    groups = _groups_worth_showing(found, arguments.group) if baseline or arguments.group else []
    if arguments.json:
        content = {"format": 1, "layer": arguments.layer, "baseline": baseline, "runs": found}
        print(json.dumps(content, indent=2, ensure_ascii=False))
    elif arguments.csv:
        sys.stdout.write(
            tables.csv_text(pa.Table.from_pylist([_flat(row, groups) for row in found]))
        )
    else:
        view.show_landscape(found, arguments.layer, baseline, groups)
    return status
