"""fathom explain: the first screen of a run as data: each number with its unit, and the table or macro that it is from.

examples:
  fathom explain s3d.1
  fathom explain s3d.1 --json | jq .account.slowest.causes
  fathom explain s3d.1 --json | jq -r '.findings[0] | .title, .lost_seconds, .lines[]'
  fathom explain --schema > explain.schema.json
"""

import argparse

import pyarrow as pa

import fathom
from fathom.assist import explain
from fathom.cli.arguments import add_run, add_with_runtime, positive
from fathom.pages import facts, page
from fathom.pages.part import Page
from fathom.text import tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text

TOP = 3
COLUMNS = (
    Column("number", "number", text, right=False, is_key=True),
    Column("value", "value", text),
    Column("unit", "unit", text, right=False, spare=2),
    Column("from", "from", text, right=False, spare=1),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, and in which form."""
    add_run(parser, last=True)
    add_with_runtime(parser)
    parser.add_argument(
        "--top",
        type=positive,
        metavar="N",
        help=f"most findings and source lines (default: {TOP})",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    form.add_argument(
        "--schema", action="store_true", help="the JSON Schema of --json; no run is read"
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the numbers."""
    if arguments.schema:
        print(explain.SCHEMA.read_text(encoding="utf-8"), end="")
        return 0
    shown = page.of_run(fathom.open(arguments.run, with_runtime=arguments.with_runtime))
    content = explain.content(shown, arguments.top or TOP)
    if arguments.json:
        print(json_text(content))
    else:
        _print(shown, content)
    return 0


def _print(shown: Page, content: explain.Content) -> None:
    title, line = facts.of(shown)
    tables.heading(title)
    tables.note(line)
    rows = [
        {
            "number": number.name,
            "value": explain.written(number),
            "unit": number.unit,
            "from": number.source,
        }
        for number in explain.numbers(content)
    ]
    print()
    tables.show(COLUMNS, pa.Table.from_pylist(rows))
