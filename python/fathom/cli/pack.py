"""fathom pack: make a run's tables, bring in its parts from other nodes, make it one file.

Every reader packs when it has to; this does it beforehand, or anew. Of nodes without a common file system, each
has a part of the run: named one after another they become one; or --collect takes them while the job runs. Its first
line is what `fathom run` on the nodes has to be told: `--collect HOST:PORT/KEY`, or the same in FATHOM_COLLECT.
With that in FATHOM_COLLECT one that was killed goes on where it was.
--recover brings in what killed processes left in the shared memory of the node that it is called on.

examples:
  fathom pack s3d.1
  fathom pack --collect -o s3d --nodes 2
  srun --ntasks-per-node=1 fathom pack --recover s3d
  fathom pack node1/s3d node2/s3d -o s3d
  fathom pack s3d --one-file s3d.zip
  fathom pack s3d.1 --skip io_helpers.c --skip mytools.io
  fathom pack s3d.1 --keep-calls-if 'io>10%,errors,unfinished,failed'
  fathom pack s3d.1 --cluster scheduler.json    # by the workers of a Dask cluster, on the job's nodes
"""

import argparse
import os
import re
import subprocess
from pathlib import Path

from fathom.cli.arguments import add_run, positive
from fathom.errors import FathomError, UsageError
from fathom.run import arrow, manifest, paths, rings
from fathom.run.directory import resolve, to_make
from fathom.run.engine import engine
from fathom.run.where import FORMS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, parts of other nodes, and what to make of it all."""
    add_run(parser, last=True)
    parser.add_argument("parts", nargs="*", metavar="PART", help="the run's parts of other nodes")
    parser.add_argument(
        "-o", "--output", metavar="NAME", help="join, or collect, into this run, not into RUN"
    )
    parser.add_argument("--one-file", type=Path, metavar="FILE", help="the run as one file")
    parser.add_argument(
        "--force",
        action="store_true",
        help="also when the tables are up to date, or streams are gone",
    )
    parser.add_argument(
        "--skip",
        action="append",
        metavar="NAME",
        help="a wrapper's lines are not the user's own, but those that call it: a library, source file, folder or"
        " Python module; repeatable; '' for none (default: what fathom run --skip said)",
    )
    parser.add_argument(
        "--keep-calls-if",
        metavar="LIST",
        help="keep the calls of a node only if it shows one of these, comma-separated, else their sums: io>10%% (of the"
        " run time), errors, unfinished, failed, finding>5s",
    )
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help=f"by the workers of a Dask cluster, a share of the processes each: {FORMS}",
    )
    nodes = parser.add_argument_group("of nodes that are given back, or share no file system")
    what = nodes.add_mutually_exclusive_group()
    what.add_argument(
        "--recover", action="store_true", help="only save what killed processes left on this node"
    )
    what.add_argument(
        "--collect", action="store_true", help="take what the nodes' agents send, into -o NAME"
    )
    nodes.add_argument(
        "--listen", metavar="[ADDRESS:]PORT", help="of --collect (default: any port, all addresses)"
    )
    nodes.add_argument(
        "--nodes", type=positive, metavar="N",
        help="of --collect: end when as many have sent all (default: go on)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Joins, packs unless the tables are up to date, writes the file; or recovers, or collects."""
    _check(arguments)
    if arguments.collect:
        return _collect(to_make(arguments.output), arguments.listen, arguments.nodes)
    if arguments.recover:
        return _recover(resolve(arguments.run))
    directory = _joined(arguments) if arguments.parts else resolve(arguments.run)
    if arguments.skip:
        manifest.skip(directory, [name for name in arguments.skip if name])

    arrow.leave_numpy_out()
    from fathom.cli import pack_calls, pack_tables  # with all that reads tables; nodes do without

    if arguments.keep_calls_if is not None:
        pack_calls.drop(directory, arguments.keep_calls_if)
    pack_tables.pack(directory, arguments.force, bool(arguments.skip), arguments.cluster)
    if arguments.one_file:
        pack_tables.write_one_file(directory, arguments.one_file)
    return 0


def _recover(directory: Path) -> int:
    """What killed processes left on this node; once the run is over nothing of it stays in memory."""
    engine("recover", str(directory))
    place = rings.own_rings(directory)
    if place and "end_ns" in manifest.read(directory) and rings.are_done(place):
        rings.remove(place)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """What goes together. Errors: UsageError."""
    given = [
        name
        for name in ("one_file", "force", "skip", "keep_calls_if", "cluster")
        if getattr(arguments, name)
    ]
    if arguments.collect:
        if not arguments.output:
            raise UsageError("pack: --collect into which run? add -o NAME")
        if isinstance(arguments.run, str):
            raise UsageError(f"pack: --collect makes a run; leave {arguments.run} out")
    elif arguments.listen is not None or arguments.nodes:
        raise UsageError("pack: --listen and --nodes go with --collect")
    if arguments.recover and (arguments.parts or arguments.output):
        raise UsageError("pack: --recover goes with one RUN")
    if given and (arguments.collect or arguments.recover):
        one = "collect" if arguments.collect else "recover"
        raise UsageError(f"pack: --{one} makes no tables; leave --{given[0].replace('_', '-')} out")
    if arguments.output and not (arguments.parts or arguments.collect):
        raise UsageError("pack: -o NAME is for joining: name the run's parts of other nodes too")


def _port_before() -> str:
    """That of the collector whose first line FATHOM_COLLECT is; `0`, any: it is not set. The engine takes its key."""
    before = re.fullmatch(r".+:(\d+)/\w+", os.environ.get("FATHOM_COLLECT", ""))
    return before[1] if before else "0"


def _collect(into: Path, listen: str | None, nodes: int | None) -> int:
    """Runs the engine, whose first line goes to stdout, until it ends."""
    listen = listen or _port_before()
    address = listen if ":" in listen else f"0.0.0.0:{listen}"
    command = [str(paths.engine()), "collect", str(into), "--listen", address]
    command += ["--nodes", str(nodes)] if nodes else []
    try:
        return subprocess.call(command)
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error


def _joined(arguments: argparse.Namespace) -> Path:
    """The directory that all parts were brought into."""
    parts = [resolve(part) for part in (arguments.run, *arguments.parts)]
    if not arguments.output:
        engine("join", *map(str, parts))
        return parts[0]
    into = to_make(arguments.output)
    engine("join", str(into), *map(str, parts))
    return into.resolve()
