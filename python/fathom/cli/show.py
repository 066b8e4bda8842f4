"""fathom show: one screen that says where the I/O time of a run went, and what to change.

examples:
  fathom show s3d.1
  fathom show s3d.1 --all
  fathom show s3d.1 --by function --top 50
  fathom show s3d.1 --by rank,function
  fathom show s3d.1 --by percentile
  fathom show s3d.1 --by file --csv > files.csv
  fathom show s3d.1 --json | jq .answers
  fathom show s3d.1 --svg s3d.svg
  fathom show s3d.1 --next
  fathom show s3d.1 --findings
  fathom show s3d.1 --findings small my.sql --fail-over 5
  fathom show s3d.1 --on lustre
"""

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import fathom
from fathom.analysis import findings as conclusions
from fathom.analysis import next_selection
from fathom.cache import conclusions as cached
from fathom.cli.arguments import add_run, add_with_runtime, positive
from fathom.errors import UsageError
from fathom.pages import answers, coverage_footer, findings, page, picture, screen, written
from fathom.pages import next_selection as words
from fathom.pages.part import Page
from fathom.pages.sections import NAMES, check_keys, rows_by
from fathom.run.limitations import every_call, explain_missing
from fathom.run.store import Run
from fathom.text import tables

# Why a table by this key has no row.
NOTHING = {
    "server": "no server was traced, and of no call is it known on which file it was: record at level file",
    "time": "of no call is it known when it ran (levels file and call)",
    "line": "no call was recorded in full: fathom show RUN --next prepares the run that knows lines",
    **dict.fromkeys(
        ("collective", "collective-function", "aggregator"),
        "of no collective read or write of MPI-IO is it known who made it together (level call; not in imported runs)",
    ),
    **dict.fromkeys(
        ("critical", "critical-path"),
        "nobody was found critical: fathom run --select critical looks for who is",
    ),
    "percentile": "no call was recorded in full: record at level call",
    "hint": "no hint, property or layout of a file is known (levels file and call)",
    "sieving": "no reads or writes of MPI-IO are known by file (levels file and call)",
    "sieved-call": "no call of MPI-IO that was recorded in full moved more than it asked for",
}


def keys(word: str) -> list[str]:
    """`rank,function`: one table of its own, or keys that go together."""
    names = word.split(",")
    try:
        check_keys(names)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return names


def seconds(word: str) -> float:
    """A time, not below 0."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{word}' is no number of seconds")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, and what to print of it."""
    add_run(parser, last=True)
    add_with_runtime(parser)
    parser.add_argument(
        "--by",
        type=keys,
        metavar="KEY[,KEY]…",
        help=f"only this table, all of its rows: {', '.join(NAMES)}",
    )
    parser.add_argument("--all", action="store_true", help="every table, not one screen")
    parser.add_argument(
        "--top", type=positive, metavar="N", help="most rows of a table (--all: 10)"
    )
    parser.add_argument(
        "--next",
        action="store_true",
        help="write NAME.next.toml, a selection for the next, closer run, and print its command",
    )
    parser.add_argument(
        "--findings",
        nargs="*",
        metavar="NAME|FILE",
        help="what loses time and what to do: all findings (those in $FATHOM_FINDINGS too), or these",
    )
    parser.add_argument(
        "--fail-over",
        type=seconds,
        metavar="SECONDS",
        help="with --findings: exit status 1 if one loses more",
    )
    parser.add_argument(
        "--on",
        metavar="STORE",
        help="what its requests would take on a store (lustre, nfs4, ...); --on list names them",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    form.add_argument("--svg", type=Path, metavar="FILE", help="the page as a picture")
    form.add_argument("--csv", action="store_true", help="one table (needs --by), raw numbers")


def run(arguments: argparse.Namespace) -> int:
    """Prints the page, or one table."""
    if arguments.svg and arguments.by:
        raise UsageError("show: --svg is a picture of the whole page; leave --by out")
    if arguments.csv and not arguments.by:
        raise UsageError(f"show: --csv prints one table; add --by {', '.join(NAMES)}")
    if arguments.next and (arguments.by or arguments.json or arguments.svg or arguments.csv):
        raise UsageError("show: --next goes alone: it prints the command of the next run")
    if arguments.all and _alone(arguments):
        raise UsageError(
            "show: --all goes alone or with --top or --svg; the others name what they print"
        )
    if arguments.top and not arguments.all and not _alone(arguments):
        raise UsageError("show: --top is of tables; add --all, --by, --findings or --json")
    if arguments.fail_over is not None and arguments.findings is None:
        raise UsageError("show: --fail-over goes with --findings")
    if arguments.on is not None:
        return _print_elsewhere(arguments)
    if arguments.findings is not None:
        return _print_findings(arguments)
    opened = fathom.open(arguments.run, with_runtime=arguments.with_runtime)
    content = page.of_run(opened)
    if arguments.next:
        _print_next(opened, content)
    elif arguments.by:
        _print_table(arguments, opened, content)
    elif arguments.json:
        written.show(page.content(content, arguments.top))
    elif arguments.svg:
        _save_picture(arguments.svg, lambda: _print(content, arguments))
    else:
        _print(content, arguments)
    return 0


def _alone(arguments: argparse.Namespace) -> bool:
    """Is something else printed than the page?"""
    others = (arguments.by, arguments.json, arguments.csv, arguments.next, arguments.on)
    return any(others) or arguments.findings is not None


def _print(content: Page, arguments: argparse.Namespace) -> None:
    if arguments.all:
        page.print_page(content, arguments.top or 10)
    else:
        screen.print_screen(content)


def _print_elsewhere(arguments: argparse.Namespace) -> int:
    from fathom.analysis import on_store  # the catalog of stores, which other pages do without
    from fathom.pages import on_store as elsewhere

    others = (arguments.by, arguments.svg, arguments.csv, arguments.next, arguments.findings)
    if any(other is not None and other is not False for other in others):
        raise UsageError("show: --on goes alone or with --json")
    if arguments.on == "list":
        print("\n".join(elsewhere.stores_listed()))
        return 0
    store = on_store.named(arguments.on)
    opened = fathom.open(arguments.run, with_runtime=arguments.with_runtime)
    prediction = on_store.predict(opened, store)
    if arguments.json:
        content = elsewhere.as_json(opened.name, prediction, arguments.top)
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        elsewhere.print_prediction(opened.name, prediction, arguments.top or 10)
    return 0


def _print_findings(arguments: argparse.Namespace) -> int:
    if arguments.by or arguments.svg or arguments.csv or arguments.next:
        raise UsageError("show: --findings goes alone or with --json")
    paths = conclusions.rules(arguments.findings, conclusions.own_folder())
    opened = fathom.open(arguments.run, with_runtime=arguments.with_runtime)
    all_ = cached.find(opened, paths)
    if arguments.json:
        listed = findings.listed(opened, opened.manifest, all_.conclusions[: arguments.top])
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    else:
        findings.print_findings(opened, all_, arguments.top)
    findings.complain(all_)
    if all_.broken:
        return UsageError.status
    over = arguments.fail_over is not None and any(
        (finding.lost or 0) > arguments.fail_over for finding in all_.conclusions
    )
    return 1 if over else 0


def _print_table(arguments: argparse.Namespace, source: Run, content: Page) -> None:
    with explain_missing(source.manifest, every_call):
        columns, rows = rows_by(source, arguments.by)
    rows = rows.slice(0, arguments.top)
    if arguments.json:
        written.show(rows)
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(rows))
    else:
        tables.show(columns, rows)
    for key, why in NOTHING.items():
        if key in arguments.by and not rows.num_rows:
            print(f"fathom: {why}", file=sys.stderr)
    print(f"fathom: {coverage_footer.one_line(content)}", file=sys.stderr)


def _print_next(opened: Run, content: Page) -> None:
    step = next_selection.step(content.source)
    if step.level == "none":
        seen = bool(content.table("layers").num_rows)
        print("This run has the calls themselves:" if seen else "No I/O call was recorded")
        for line in answers.lines(content.answers, content.name, content.manifest) if seen else ():
            print(f"  {line}")
    else:
        path = _write_selection(opened.name, words.selection(step, opened.name))
        print(words.command(path, opened.name, opened.manifest))
        print(f"fathom: {path} selects {words.why(step)}", file=sys.stderr)
        launcher = opened.manifest.get("launcher")
        if launcher:
            print(
                f"fathom: start it inside the launcher ({launcher}), as this run was",
                file=sys.stderr,
            )
    print(f"fathom: {coverage_footer.one_line(content)}", file=sys.stderr)


def _write_selection(name: str, content: str) -> str:
    """Into NAME.next.toml here; a file that says something else is left alone, and the next free name taken."""
    for number in itertools.count(1):
        path = Path(f"{name}.next{'' if number == 1 else f'.{number}'}.toml")
        try:
            if path.exists() and path.read_text(encoding="utf-8") != content:
                continue
            path.write_text(content, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"show: cannot write {path}: {error}") from error
        return str(path)
    raise AssertionError


def _save_picture(path: Path, print_it: Callable[[], None]) -> None:
    try:
        picture.save(path, print_it)
    except OSError as error:
        raise UsageError(f"show: cannot write {path}: {error.strerror}") from error
    print(f"picture: {path}", file=sys.stderr)
