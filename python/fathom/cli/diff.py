"""fathom diff: two runs side by side: what takes more or less time, and what was set otherwise.

Exit status 1 with --fail-over when B is slower.

examples:
  fathom diff before after
  fathom diff before after --by function --top 20
  fathom diff before after --by configuration
  fathom diff before after --fail-over 10
"""

import argparse
import sys

import fathom
from fathom.analysis import difference, summary
from fathom.analysis.difference import Side
from fathom.cli.arguments import add_with_runtime, positive
from fathom.errors import UsageError
from fathom.pages import coverage_footer, written
from fathom.pages import difference as view
from fathom.text import tables


def _percent(word: str) -> float:
    try:
        value = float(word.removesuffix("%"))
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{word}' is no percentage, as 10")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A, B, and what to print."""
    parser.add_argument("first", metavar="A", help="run directory")
    parser.add_argument("second", metavar="B", help="run directory")
    add_with_runtime(parser)
    parser.add_argument("--by", choices=difference.BY, help="only this table, all of its rows")
    parser.add_argument("--top", type=positive, metavar="N", help="most rows of a table (page: 10)")
    parser.add_argument(
        "--fail-over",
        type=_percent,
        metavar="PERCENT",
        help="exit 1 when run time, or I/O time of the mean rank or process, grew by more",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="all rows, raw numbers, units in the names"
    )
    form.add_argument("--csv", action="store_true", help="one table (needs --by), raw numbers")


def _side(path: str, with_runtime: bool) -> Side:
    return difference.side(fathom.open(path, with_runtime=with_runtime))


def _left_out(a: Side, b: Side) -> list[str]:
    """Of both together."""
    rows = [row for side in (a, b) for row in summary.beside(side.source).to_pylist()]
    return coverage_footer.left_out(**{name: sum(row[name] for row in rows) for name in rows[0]})


def _one(arguments: argparse.Namespace, a: Side, b: Side) -> None:
    table = difference.BY[arguments.by](a, b)
    if arguments.json:
        written.show(table.slice(0, arguments.top))
    elif arguments.csv:
        tables.write_csv(table.slice(0, arguments.top))
    elif arguments.by == "configuration":
        view.show_configuration(table.slice(0, arguments.top))
    else:
        unit = difference.unit(a, b) if arguments.by == "rank" else ""
        view.show_table(arguments.by, table, arguments.top, unit)
        for line in (difference.ONE_EACH, *_left_out(a, b)):
            tables.note(f"fathom: {line}", sys.stderr)


def _all(arguments: argparse.Namespace, a: Side, b: Side) -> None:
    whole, warnings = difference.whole(a, b), difference.incomparable(a, b)
    by_name = {by: ask(a, b) for by, ask in difference.BY.items()}
    if arguments.json:
        content = {
            "format": 1,
            "a": a.name,
            "b": b.name,
            "incomparable": warnings,
            "whole": whole,
        }
        content |= {by: table.slice(0, arguments.top) for by, table in by_name.items()}
        written.show(content)
    else:
        names, top = (a.name, b.name), arguments.top or 10
        view.show_difference(names, warnings, whole, by_name, top, difference.unit(a, b))
        for line in _left_out(a, b):
            print()
            tables.note(line)


def _failed(limit: float, a: Side, b: Side) -> bool:
    grown = difference.slower(difference.whole(a, b), limit)
    for what in grown:
        print(f"fathom: {what}: slower by more than {limit:g} %", file=sys.stderr)
    return bool(grown)


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables; the status says whether B is too slow."""
    if arguments.csv and not arguments.by:
        raise UsageError(f"diff: --csv prints one table; add --by {', '.join(difference.BY)}")
    a, b = (_side(path, arguments.with_runtime) for path in (arguments.first, arguments.second))
    if arguments.by:
        _one(arguments, a, b)
    else:
        _all(arguments, a, b)
    return int(arguments.fail_over is not None and _failed(arguments.fail_over, a, b))
