"""fathom export: a run, or a part of it, for other tools.

examples:
  fathom export s3d.1 --to otf2
  fathom export s3d.1 --to otf2 --time 1.5-2.25 --ranks 0-63:8 --output slow
  fathom export s3d.1 --to otf2 --layers hdf5,mpiio,posix --files '*.h5'
  fathom export s3d.1 --to perfetto
  fathom export s3d.1 --to csv --table files
  fathom export s3d.1 --to openmetrics --output /var/lib/node_exporter/s3d.prom
"""

import argparse
import sys
from pathlib import Path

import fathom
from fathom.analysis import selection
from fathom.analysis.latency import segment
from fathom.cli.arguments import add_run
from fathom.errors import UsageError
from fathom.interop.exports import output
from fathom.interop.exports.formats import FORMATS
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.selected import Part, Selected
from fathom.text.tables import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the format, the output, the part of the run."""
    add_run(parser, last=True)
    lines = "; ".join(f"{name}: {form.what}" for name, form in FORMATS.items())
    parser.add_argument("--to", choices=tuple(FORMATS), metavar="FORMAT", help=lines)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="default: NAME and the format's ending, here",
    )
    parser.add_argument("--force", action="store_true", help="replace an export that is there")
    parser.add_argument(
        "--table", metavar="NAME", help="which table, of formats that hold one (default: calls)"
    )
    part = parser.add_argument_group("which calls (default: all that were recorded in full)")
    part.add_argument("--time", metavar="A-B", help="that last into these seconds of the run")
    part.add_argument("--ranks", metavar="LIST", help="of these ranks, as 0-63:8,70")
    part.add_argument("--layers", metavar="LIST", help="of these layers, as hdf5,mpiio")
    part.add_argument("--files", metavar="GLOB", help="on such files")


def _part(arguments: argparse.Namespace) -> Part:
    given = vars(arguments)
    return Part(
        time=segment.time(arguments.time, "export") if given["time"] is not None else None,
        ranks=selection.ranges("export: --ranks", arguments.ranks)
        if given["ranks"] is not None
        else None,
        layers=tuple(arguments.layers.split(",")) if given["layers"] is not None else None,
        file=arguments.files,
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the export; prints what its readers open."""
    if arguments.to is None:
        raise UsageError(f"export: --to is missing; there are {', '.join(FORMATS)}")
    form = FORMATS[arguments.to]
    if arguments.table is not None and not form.table:
        tables = ", ".join(name for name, one in FORMATS.items() if one.table)
        raise UsageError(f"export: --to {arguments.to} holds no table; --table goes with {tables}")
    write, part = form.writer(arguments.to), _part(arguments)
    if form.sums and (option := next((one for one, _ in part.conditions()), None)):
        raise UsageError(f"export: --to {arguments.to} is of the whole run; leave {option} out")
    opened = fathom.open(arguments.run, with_runtime=True)
    usual = "counters" if form.sums else "calls"
    table = usual if arguments.table is None else arguments.table
    name = f"{opened.name}.{table}" if form.table else opened.name
    out = arguments.output or Path(f"{name}{form.suffix}")
    output.check(out, form.anchor, arguments.force)
    selected = Selected(opened, part, table)
    if form.by_thread:
        selected.check_threads(arguments.to)
    progress = Progress(arguments.to, selected.calls)
    try:
        with output.aside(out, form.anchor) as place:
            lost = write(selected, place, progress)
    finally:
        progress.end()
    for line in lost:
        print(f"fathom: export: {line}", file=sys.stderr)
    print(shown(out / form.anchor if form.anchor else out))
    return 0
