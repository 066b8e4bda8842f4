"""fathom doctor: what will not work here, and why.

Exit status 1 when something will not work.

examples:
  fathom doctor
  fathom doctor ./s3d
"""

import argparse
import json
from dataclasses import asdict

import pyarrow as pa

from fathom import checks
from fathom.view import tables
from fathom.view.tables import Column, text

COLUMNS = (
    Column("check", "what", text, right=False),
    Column("verdict", "verdict", text, right=False),
    Column("detail", "detail", text, right=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A program, or none."""
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="look at this program too")
    parser.add_argument("--json", action="store_true", help="a list of objects")


def run(arguments: argparse.Namespace) -> int:
    """Prints every check's verdict."""
    found = [asdict(finding) for finding in checks.all_of(arguments.program)]
    if arguments.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        tables.show(COLUMNS, pa.Table.from_pylist(found))
    return 1 if any(finding["verdict"] == "fails" for finding in found) else 0
