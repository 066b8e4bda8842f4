"""fathom landscape: many runs in one table: which I/O, how long, by whom, what, when.

examples:
  fathom landscape *.fathom
  fathom landscape stripe16 stripe64 --baseline stripe1 --group 'rst=*.rst' --group 'athdf=*.athdf'
  fathom landscape s3d --layer posix
  fathom landscape *.fathom --layer posix --rank 0 --plot operations.svg   one rank; shares as a picture
  fathom landscape *.fathom --csv > landscape.csv
  fathom landscape /spool --jobs > jobs.csv    a job table, for XDMoD and ClusterCockpit
  fathom landscape s3d other s3d.alone --interference
  fathom landscape both --interference     programs of one run, with the servers they used
  fathom landscape /spool/2026-11 --by opens   all runs below, those that open most at once first
  fathom landscape /lake                       a lake of fathom collect: who and what loses most
  fathom landscape /lake --history s3d.4711    a job beside the earlier runs of its program
  fathom landscape /spool --site site.json     what accesses cost on each mount; FATHOM_SITE=site.json uses it
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import fathom
from fathom.analysis import interference, lake, landscape
from fathom.analysis import site as mounts
from fathom.cli import landscape_lake
from fathom.cli.arguments import add_with_runtime, not_negative, positive
from fathom.errors import FathomError, RunError, UsageError
from fathom.pages import bars, landscapes
from fathom.pages import interference as shared
from fathom.pages import landscape as view
from fathom.pages.site import show_site
from fathom.run import database, site
from fathom.run.directory import resolve
from fathom.run.lake import Lake, is_lake
from fathom.run.store import Run, open_run
from fathom.text import tables
from fathom.text.quoting import json_text

T = TypeVar("T")


#: What runs are ranked by, and its column.
BY = {
    "opens": "peak_opens_per_second",
    "lost": "lost_seconds",
    "io": "io_seconds",
    "share": "io_share",
    "run": "run_seconds",
    "bytes": "bytes_moved",
}
TOP = 20


def _group(word: str) -> tuple[str, str]:
    name, equals, glob = word.partition("=")
    if not (name and equals and glob):
        raise argparse.ArgumentTypeError(f"'{word}' is no NAME=GLOB, as rst=*.rst")
    return name, glob


def _day(word: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is no date, as 2026-11-28") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN…, what to compare with, which calls."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="run directories; directories of runs; one lake"
    )
    add_with_runtime(parser)
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
        "--rank", type=not_negative, metavar="N",
        help="times, bytes and operations of this rank alone, not the mean of all",
    )  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, metavar="FILE",
        help="also draws the shares of the operations, a bar of each run: .png, .svg or .pdf",
    )  # fmt: skip
    parser.add_argument(
        "--interference",
        action="store_true",
        help="which runs used the same servers at the same time, and what each lost by it",
    )
    parser.add_argument(
        "--site", type=Path, metavar="FILE",
        help="writes what accesses cost in these runs, by mount: the reference of FATHOM_SITE=FILE",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=(*BY, *lake.TABLES),
        help="runs ranked in one table: most opens in a second, seconds lost, I/O time, its share, run time, bytes;"
        " of a lake one table: jobs, users, programs, mounts, causes, servers, risen, days",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=positive, metavar="N", help="with --by, or a lake: so many rows (default: 20)"
    )
    parser.add_argument(
        "--history",
        metavar="NAME",
        help="of a lake: this job beside the earlier runs of its program",
    )
    parser.add_argument(
        "--since", type=_day, metavar="DATE",
        help="of a lake: jobs from this day on, as 2026-11-28 (default: 30 days)",
    )  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    form.add_argument("--csv", action="store_true", help="one line per run, raw numbers")
    form.add_argument(
        "--jobs", action="store_true",
        help="a job table as CSV, for XDMoD and ClusterCockpit: job, user, times, nodes, bytes, what is lost",
    )  # fmt: skip


def _done(work_items: Iterable[Callable[[], T]]) -> tuple[list[T], int]:
    """What they give, and the status: of the last that could not, which is said."""
    results: list[T] = []
    status = 0
    for work in work_items:
        try:
            results.append(work())
        except FathomError as error:
            status = error.status
            if not error.reported:
                print(f"fathom: {error}", file=sys.stderr)
    return results, status


def rows(paths: list[str], wanted: landscapes.Wanted) -> tuple[list[dict[str, Any]], int]:
    """The rows of all runs that can be read, and the status: of the last that cannot."""
    rows, status = _done(landscapes.each(paths, wanted))
    return list({row["path"]: row for row in rows}.values()), status


def _distinct(rows: list[dict[str, Any]]) -> None:
    """Runs of one name in several folders are called by their paths."""
    names = Counter(row["run"] for row in rows)
    for row in rows:
        if names[row["run"]] > 1:
            row["run"] = row["path"]


def _compare(rows: list[dict[str, Any]], baseline: dict[str, Any]) -> None:
    landscape.add_speedups(rows, baseline)
    before = {group["group"]: group for group in baseline["groups"]}
    for row in rows:
        for group in row["groups"]:
            landscape.add_speedups([group], before.get(group["group"]), landscapes.GROUP_SECONDS)


def _groups_worth_showing(
    rows: list[dict[str, Any]], asked: list[tuple[str, str]] | None
) -> list[str]:
    if asked:
        return list(dict.fromkeys(name for name, _ in asked))
    worth: dict[str, None] = {}
    for row in rows:
        for group in row["groups"]:
            if group["io_seconds"] >= landscapes.FEW * row["io_seconds"] > 0:
                worth[group["group"]] = None
    return list(worth)


def _interference(arguments: argparse.Namespace) -> int:
    others = (arguments.baseline, arguments.group, arguments.layer, arguments.with_runtime)
    if any(others) or arguments.rank is not None or arguments.plot:
        raise UsageError("landscape: --interference goes alone, or with --json or --csv")
    opened, unread = _done(partial(fathom.open, path) for path in arguments.runs)
    runs = {str(one.path): one for one in opened}
    names = Counter(one.name for one in runs.values())

    def parts(path: str, run: Run) -> list[interference.One]:
        command = [str(word) for word in run.manifest.get("command", [])]
        name = run.name if names[run.name] == 1 else path
        return interference.of_run(name, run, command)

    each, damaged = _done(partial(parts, path, run) for path, run in runs.items())
    every = [one for some in each for one in some]
    if len(every) < 2:
        raise UsageError(
            "landscape: --interference needs two runs, or one of several programs and the servers that they used"
        )
    overlaps = interference.interference(every)
    if arguments.json:
        print(json_text(shared.as_json(overlaps)))
    elif arguments.csv:
        tables.write_csv(database.table_of(shared.server_rows(overlaps)))
    else:
        shared.show_interference(overlaps)
    return damaged or unread


def _site(arguments: argparse.Namespace) -> int:
    """Writes the site's file, and prints what is in it."""
    others = (
        arguments.baseline,
        arguments.group,
        arguments.layer,
        arguments.interference,
        arguments.by,
        arguments.csv,
        arguments.rank is not None,
        arguments.plot,
    )
    if any(others):
        raise UsageError("landscape: --site goes alone, or with --json")
    each, status = _done(
        partial(lambda path: mounts.costs(open_run(path, quiet=True)), path)
        for path in arguments.runs
    )
    references = mounts.references([row for rows in each for row in rows])
    if not references:
        raise RunError(
            f"landscape: {arguments.site} is not written: no run shows what a byte costs;"
            " it takes 4 accesses of 256 KiB to files of one process on a known mount"
        )
    site.write(arguments.site, references)
    if arguments.json:
        print(json_text([asdict(one) for one in references]))
    else:
        show_site(references)
    return status


def _ranked(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of them by what was asked; those of which it is not known come last."""
    if not arguments.by:
        return rows
    for row in rows:
        row["bytes_moved"] = row["bytes_read"] + row["bytes_written"]
    key = BY[arguments.by]
    rows.sort(key=lambda row: (-(row[key] or 0), row["path"]))
    shown = arguments.top or (
        TOP if not (arguments.json or arguments.csv or arguments.jobs) else None
    )
    return rows[:shown]


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables, or the rows."""
    lakes = [path for path in arguments.runs if is_lake(Path(path))]
    if lakes:
        landscape_lake.check(arguments, len(lakes))
        return landscape_lake.run(Lake(Path(lakes[0])), arguments)
    _check(arguments)
    return _runs(arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Errors: UsageError where runs are asked like a lake, or two things at once."""
    if arguments.history or arguments.since or arguments.by in lake.TABLES:
        option = (
            "history" if arguments.history else "since" if arguments.since else f"by {arguments.by}"
        )
        raise UsageError(
            f"landscape: --{option} is of a lake, and none is named; see fathom collect"
        )
    if arguments.jobs and (arguments.site or arguments.interference or arguments.baseline):
        raise UsageError(
            "landscape: --jobs is of runs alone; not with --site, --interference, --baseline"
        )
    if arguments.by and (arguments.interference or arguments.baseline):
        raise UsageError("landscape: --by ranks many runs; not with --baseline or --interference")
    if arguments.top and not arguments.by:
        raise UsageError("landscape: --top goes with --by")
    if arguments.plot and not (arguments.site or arguments.interference):
        bars.check(arguments.plot, "landscape")


def _runs(arguments: argparse.Namespace) -> int:
    arguments.runs = landscapes.below(arguments.runs)
    if arguments.site:
        return _site(arguments)
    if arguments.interference:
        return _interference(arguments)
    first = str(resolve(arguments.baseline)) if arguments.baseline else None
    paths = [first] * bool(first) + arguments.runs
    globs = tuple(arguments.group or ())
    wanted = landscapes.Wanted(
        arguments.layer,
        globs,
        arguments.by == "lost" or arguments.jobs,
        arguments.with_runtime,
        arguments.rank,
    )
    every, status = rows(paths, wanted)
    ranked = _ranked(arguments, every)
    if not ranked or (first and ranked[0]["path"] != first):
        return status
    _distinct(ranked)
    if arguments.layer and not any(row["operation"] for row in ranked):
        raise UsageError(
            f"landscape: no run has calls of layer '{arguments.layer}'; fathom show lists them"
        )
    baseline = ranked[0]["run"] if first else None
    if baseline:
        _compare(ranked, ranked[0])
    groups = _groups_worth_showing(ranked, arguments.group) if baseline or arguments.group else []
    if arguments.plot:
        most = bars.most_of(arguments.plot)
        picture = view.operation_picture(ranked, arguments.rank, most)
        bars.save(arguments.plot, picture, "landscape")
    if arguments.json:
        whose = {"layer": arguments.layer, "rank": arguments.rank, "baseline": baseline}
        content = {"format": 1, **whose, "runs": ranked}
        print(json_text(content))
    elif arguments.csv:
        tables.write_csv(database.table_of([landscapes.flat(row, groups) for row in ranked]))
    elif arguments.jobs:
        tables.write_csv(database.table_of([landscapes.job(row) for row in ranked]))
    elif arguments.by:
        view.show_ranking(ranked, len(every), arguments.by)
    else:
        view.show_landscape(ranked, arguments.layer, baseline, groups, arguments.rank)
    return status
