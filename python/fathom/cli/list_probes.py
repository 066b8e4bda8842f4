"""fathom list probes: list what Fathom can see, from the probe catalog; check and build your own.

examples:
  fathom list probes
  fathom list probes --layers mpiio
  fathom list probes --json | jq '.[] | select(.kind == "write") | .op'
  fathom list probes check my.toml --cflags=-I/opt/mine/include
  fathom list probes build my.toml --output libfathom-probes.so
"""

import argparse
import shlex
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fathom.catalog import user
from fathom.catalog.layers import catalog_files
from fathom.catalog.load import load
from fathom.catalog.model import Catalog, CatalogError
from fathom.cli.arguments import of_list
from fathom.errors import RunError, UsageError
from fathom.run import paths
from fathom.text import tables
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text

ACTIONS = "list (of these files, else of what is built in), check, build"
COLUMNS = (
    Column("layer", "layer", text, right=False),
    Column("function", "op", text, right=False),
    Column("kind", "kind", text, right=False),
    Column("symbols", "symbols", text, right=False),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows, in what form; or what to do with the user's own files."""
    parser.add_argument(
        "action", nargs="?", choices=("list", "check", "build"), default="list", help=ACTIONS
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="your catalogs")
    parser.add_argument("-o", "--output", type=Path, help="build: the library to make")
    parser.add_argument(
        "--cflags", default="", help="check: what the compiler needs to find their headers"
    )
    parser.add_argument("--layers", metavar="LIST", help="only of these layers, as hdf5,mpiio")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--json", action="store_true", help="a list of objects")


def built_in() -> list[Path]:
    """The catalog's files."""
    return catalog_files("probes")


def rows(read: Catalog) -> pa.Table:
    """Columns: layer, op, kind, symbols (blank-separated); in the catalog's order."""
    calls = [
        (api.layer, call.op, call.kind, " ".join(call.symbols()))
        for api in read.apis
        for call in api.recorded()
    ]
    return pa.table(
        {
            column.name: pa.array([call[i] for call in calls], pa.string())
            for i, column in enumerate(COLUMNS)
        }
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows, or checks or builds the user's own."""
    try:
        if arguments.action == "check":
            return check(arguments)
        if arguments.action == "build":
            return build(arguments)
        files = arguments.files
        read = user.load_user(files, built_in()) if files else load(built_in())
    except (CatalogError, user.BuildError) as error:
        raise RunError(str(error)) from error
    return show(arguments, rows(read))


def check(arguments: argparse.Namespace) -> int:
    """Says of each file that it is right; compiles it, and against its headers if it names them."""
    own = own_files(arguments)
    with tempfile.TemporaryDirectory(prefix="fathom-probes.") as place:
        user.build(own, paths.runtime(), Path(place, "check.so"))
    for api in own.apis:
        headers = f"not compared with headers: {api.path.name} names none"
        if api.headers:
            user.check_headers(api, shlex.split(arguments.cflags))
            headers = f"as in {', '.join(api.headers)}"
        print(f"{api.path}: {len(list(api.recorded()))} functions, {headers}")
    return 0


def build(arguments: argparse.Namespace) -> int:
    """Makes the library that `fathom run --probes` preloads."""
    if not arguments.output:
        raise UsageError("list probes build: where to? add --output FILE")
    user.build(own_files(arguments), paths.runtime(), arguments.output.absolute())
    return 0


def own_files(arguments: argparse.Namespace) -> Catalog:
    """The user's catalogs, checked."""
    if not arguments.files:
        raise UsageError(f"list probes {arguments.action}: which catalog? name its file")
    return user.load_user(arguments.files, built_in())


def show(arguments: argparse.Namespace, functions: pa.Table) -> int:
    """Prints the rows."""
    if arguments.layers is not None:
        wanted = of_list("list probes: no layer", arguments.layers, functions["layer"].to_pylist())
        functions = functions.filter(pc.field("layer").isin(wanted))
    if arguments.json:
        print(json_text(functions.to_pylist()))
    elif arguments.csv:
        tables.write_csv(functions)
    else:
        tables.show(COLUMNS, functions)
    return 0
