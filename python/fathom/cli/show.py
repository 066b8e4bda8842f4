"""fathom show: one screen that says where the I/O time of a run went, and what to change.

examples:
  fathom show s3d.1
  fathom show s3d.1 --all
  fathom show s3d.1 --by function --top 50
  fathom show s3d.1 --by rank,function
  fathom show s3d.1 --by percentile
  fathom show s3d.1 --by tree --svg flames.svg
  fathom show s3d.1 --by file --csv > files.csv
  fathom show s3d.1 --json | jq .answers
  fathom show s3d.1 --svg s3d.svg
  fathom show s3d.1 --next
  fathom show s3d.1 --findings
  fathom show s3d.1 --findings small my.sql --fail-over 5
  fathom show s3d.1 --on lustre
"""

import argparse
from os import PathLike
from pathlib import Path
from types import ModuleType

from fathom.cache.screens import Screen
from fathom.cli.arguments import add_run, add_with_runtime, positive
from fathom.errors import UsageError
from fathom.pages import screen
from fathom.run.directory import packing
from fathom.text import tables


class TableNames:
    """Of `--by`; known by what makes the tables, which the screen does without."""

    def __str__(self) -> str:
        """For help and errors."""
        from fathom.pages.sections import NAMES

        return ", ".join(NAMES)


def keys(word: str) -> list[str]:
    """`rank,function`: one table of its own, or keys that go together."""
    from fathom.pages.sections import check_keys

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
    by = parser.add_argument(
        "--by",
        type=keys,
        metavar="KEY[,KEY]…",
        help="only this table, all of its rows: %(names)s",
    )
    vars(by)["names"] = TableNames()
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
    form.add_argument(
        "--svg",
        type=Path,
        metavar="FILE",
        help="the page as a picture; of --by tree and --by frames a flame graph",
    )
    form.add_argument("--csv", action="store_true", help="one table (needs --by), raw numbers")


def run(arguments: argparse.Namespace) -> int:
    """Prints the page, or one table."""
    if arguments.svg and arguments.by not in (None, ["tree"], ["frames"]):
        raise UsageError("show: --svg is a picture of the whole page, or of --by tree or frames")
    if arguments.svg and arguments.by and arguments.top:
        raise UsageError("show: --top is of tables; a flame graph has all that can be seen")
    if arguments.csv and not arguments.by:
        raise UsageError(f"show: --csv prints one table; add --by {TableNames()}")
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
    if arguments.all or arguments.svg or _alone(arguments):
        status: int = _tables(arguments.run).run(arguments)
        return status
    for label, line in screen.lines(_content(arguments), tables.columns()):
        tables.labelled(label, line)
    return 0


def _content(arguments: argparse.Namespace) -> screen.Content:
    """What the screen says, kept for who looks next."""
    known = Screen(arguments.run, arguments.with_runtime).read()
    if known is not None:
        return screen.of_json(known)
    shown: screen.Content = _tables(arguments.run).content(arguments.run, arguments.with_runtime)
    return shown


def _tables(run: str | PathLike[str]) -> ModuleType:
    """What reads tables, and all that it needs; to load it takes as long as to make them."""
    from fathom.run import arrow

    with packing(run):
        arrow.leave_numpy_out()
        from fathom.cli import show_tables

    return show_tables


def _alone(arguments: argparse.Namespace) -> bool:
    """Is something else printed than the page?"""
    others = (arguments.by, arguments.json, arguments.csv, arguments.next, arguments.on)
    return any(others) or arguments.findings is not None
