"""fathom probes: list what Fathom can see, from the probe catalogue.

examples:
  fathom probes
  fathom probes --layer mpiio
  fathom probes --json | jq '.[] | select(.kind == "write") | .op'
"""

import argparse
import json
import sys

import pyarrow as pa
import pyarrow.compute as pc

from fathom import catalogue, places
from fathom.errors import RunError, UsageError
from fathom.view import tables
from fathom.view.tables import Column, text

COLUMNS = (
    Column("layer", "layer", text, right=False),
    Column("function", "op", text, right=False),
    Column("kind", "kind", text, right=False),
    Column("symbols", "symbols", text, right=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows, in what form."""
    parser.add_argument("--layer", metavar="NAME", help="only this layer")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--json", action="store_true", help="a list of objects")


def rows() -> pa.Table:
    """Columns: layer, op, kind, symbols (blank-separated); in the catalogue's order."""
    files = sorted((places.catalog() / "probes").glob("*.toml"))
    try:
        calls = [
            (api.layer, call.op, call.kind, " ".join(call.symbols()))
            for api in catalogue.load(files).apis
            for call in api.recorded()
        ]
    except catalogue.CatalogueError as error:
        raise RunError(str(error)) from error
    return pa.table(
        {
            column.name: pa.array([call[i] for call in calls], pa.string())
            for i, column in enumerate(COLUMNS)
        }
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows."""
    found = rows()
    if arguments.layer:
        layers = sorted(set(found["layer"].to_pylist()))
        if arguments.layer not in layers:
            raise UsageError(f"probes: no layer '{arguments.layer}'; there are {', '.join(layers)}")
        found = found.filter(pc.equal(found["layer"], arguments.layer))
    if arguments.json:
        print(json.dumps(found.to_pylist(), indent=1))
    elif arguments.csv:
        sys.stdout.write(tables.csv_text(found))
    else:
        tables.show(COLUMNS, found)
    return 0
