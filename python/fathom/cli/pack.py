"""fathom pack: make a run's tables, join the parts of its nodes, make it one file.

Every reader packs when it has to; this does it beforehand, or anew. Of nodes without a common file system, each
has a part of the run: named one after another they become one.

examples:
  fathom pack s3d.1
  fathom pack node1/s3d node2/s3d -o s3d
  fathom pack s3d --one-file s3d.zip
  fathom pack s3d.1 --cluster scheduler.json    # by the workers of a Dask cluster, on the job's nodes
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

import fathom
from fathom.cache.statements import CachedStatements
from fathom.cli.arguments import add_run
from fathom.errors import DamagedRun, UsageError
from fathom.pages import page
from fathom.run import cluster, onefile, packing
from fathom.run.directory import engine, resolve, to_make
from fathom.run.store import Run, streams_lost
from fathom.webapi.tiles import build as tiles

#: Calls from which on the page takes so long that it is worked out beforehand.
LARGE = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, parts of other nodes, and what to make of it all."""
    add_run(parser)
    parser.add_argument("parts", nargs="*", metavar="PART", help="the run's parts of other nodes")
    parser.add_argument("-o", "--output", metavar="NAME", help="join into this run, not into RUN")
    parser.add_argument("--one-file", type=Path, metavar="FILE", help="the run as one file")
    parser.add_argument(
        "--force",
        action="store_true",
        help="also when the tables are up to date, or streams are gone",
    )
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help=f"by the workers of a Dask cluster, a share of the processes each: {cluster.FORMS}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Joins, packs unless the tables are up to date, writes the file."""
    if arguments.output and not arguments.parts:
        raise UsageError("pack: -o NAME is for joining: name the run's parts of other nodes too")
    directory = _joined(arguments) if arguments.parts else resolve(arguments.run)
    if not arguments.force and streams_lost(directory):
        raise DamagedRun(
            f"{directory}: streams that its tables were made of are gone; "
            "--force makes tables of what is left"
        )
    words = ["--force"] if arguments.force else []
    if arguments.cluster is None:
        engine("pack", *words, str(directory))
        tiles.ensure(directory / "tables")
    else:
        with cluster.workers(arguments.cluster) as workers:
            packing.pack(directory, words, workers)
            tiles.ensure(directory / "tables", workers=workers)
    _ask_page(fathom.open(directory))
    if arguments.one_file:
        onefile.write(fathom.open(directory).path, arguments.one_file)
    return 0


def _ask_page(packed: Run) -> None:
    """What the page of a large run says takes long, so it is worked out here and kept."""
    if packed.sql("select events from runs")["events"][0].as_py() < LARGE:
        return
    began = time.monotonic()
    statements = CachedStatements(packed, packed.path)
    page.ask(page.compute(packed.name, packed.manifest, statements, None, lambda: None))
    print(f"fathom: page worked out in {time.monotonic() - began:.1f} s", file=sys.stderr)


def _joined(arguments: argparse.Namespace) -> Path:
    """The directory that all parts were brought into."""
    parts = [resolve(part) for part in (arguments.run, *arguments.parts)]
    if not arguments.output:
        engine("join", *map(str, parts))
        return parts[0]
    into = to_make(arguments.output)
    existed = into.exists()
    try:
        engine("join", str(into), *map(str, parts))
    except DamagedRun:
        if not existed:
            shutil.rmtree(into, ignore_errors=True)  # the parts before the one that is refused
        raise
    return into.resolve()
