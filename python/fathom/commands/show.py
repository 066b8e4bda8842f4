"""fathom show: one page that says where the I/O time of a run went.

examples:
  fathom show s3d.1
  fathom show s3d.1 --by function --top 50
  fathom show s3d.1 --by file --csv > files.csv
  fathom show s3d.1 --json | jq .layers
  fathom show s3d.1 --svg s3d.svg
"""

import argparse
import json
import sys
from pathlib import Path

import fathom
from fathom import cost
from fathom.commands.arguments import add_run, positive
from fathom.errors import UsageError
from fathom.store import as_json
from fathom.view import page, picture, tables
from fathom.view.part import Page
from fathom.view.parts import BY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, and what to print of it."""
    add_run(parser)
    parser.add_argument("--by", choices=BY, help="only this table, all of its rows")
    parser.add_argument("--top", type=positive, metavar="N", help="most rows of a table (page: 10)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="raw numbers, units in the names")
    form.add_argument("--svg", type=Path, metavar="FILE", help="the page as a picture")
    form.add_argument("--csv", action="store_true", help="one table (needs --by), raw numbers")


def run(arguments: argparse.Namespace) -> int:
    """Prints the page, or one table."""
    if arguments.svg and arguments.by:
        raise UsageError("show: --svg is a picture of the whole page; leave --by out")
    if arguments.csv and not arguments.by:
        raise UsageError(
            "show: --csv prints one table; add --by layer, function, rank, file or variable"
        )
    opened = fathom.open(arguments.run)
    if not arguments.by:
        content = page.compute(opened.name, opened.manifest, opened, cost.per_call())
        if arguments.json:
            print(page.to_json(content, arguments.top))
        elif arguments.svg:
            _save_picture(arguments.svg, content, arguments.top or 10)
        else:
            page.print_page(content, arguments.top or 10)
        return 0
    part = BY[arguments.by]
    rows = part.analyse(opened).slice(0, arguments.top)
    if arguments.json:
        print(json.dumps(as_json(rows), indent=2, ensure_ascii=False))
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(rows))
    else:
        tables.show(part.columns, rows)
    return 0


def _save_picture(path: Path, content: Page, top: int) -> None:
    try:
        picture.save(path, lambda: page.print_page(content, top))
    except OSError as error:
        raise UsageError(f"show: cannot write {path}: {error.strerror}") from error
    print(f"picture: {path}", file=sys.stderr)
