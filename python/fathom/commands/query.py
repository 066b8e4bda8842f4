"""fathom query: ask a run's tables by SQL (DuckDB's), read-only.

examples:
  fathom query s3d.1 --schema
  fathom query s3d.1 --sql "select op, sum(bytes) as bytes from counters group by op"
  fathom query s3d.1 --csv --sql "from calls where layer = 'mpiio' order by duration desc limit 20"
  fathom query s3d.1 --json < slow.sql
"""

import argparse
import json
import sys

import pyarrow as pa

import fathom
from fathom.commands.arguments import add_run
from fathom.errors import UsageError
from fathom.store import as_json
from fathom.view import tables
from fathom.view.tables import Column, text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the question, the form of the answer."""
    add_run(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sql", metavar="TEXT", help="the statement (default: read from stdin)")
    what.add_argument("--schema", action="store_true", help="all tables and their columns")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--json", action="store_true", help="a list of objects; u64 ids as text")


SCHEMA = """
    select table_name as "table", column_name as "column", data_type as "type"
    from information_schema.columns
    order by table_name, ordinal_position
"""


def _statement(arguments: argparse.Namespace) -> str:
    if arguments.schema:
        return SCHEMA
    if arguments.sql is not None:
        return str(arguments.sql)
    if sys.stdin.isatty():
        raise UsageError(
            "query: which question? --sql TEXT, or SQL on stdin; --schema lists tables"
        )
    return sys.stdin.read()


def _print(rows: pa.Table) -> None:
    numeric = [
        pa.types.is_integer(field.type)
        or pa.types.is_floating(field.type)
        or pa.types.is_decimal(field.type)
        for field in rows.schema
    ]
    columns = [
        Column(name, name, text, right=right)
        for name, right in zip(rows.column_names, numeric, strict=True)
    ]
    tables.show(columns, rows)


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows."""
    statement = _statement(arguments)
    rows = fathom.open(arguments.run).sql(statement)
    if arguments.json:
        print(json.dumps(as_json(rows), indent=1, ensure_ascii=False))
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(rows))
    else:
        _print(rows)
    return 0
