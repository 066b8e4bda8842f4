"""fathom collect: take what the agents of other nodes send, into one run directory.

For nodes that share no file system with this one. The first line printed is what their `fathom run` has to be
told: `--collect HOST:PORT/KEY`, or the same in FATHOM_COLLECT.

examples:
  fathom collect -o s3d --nodes 2
  fathom collect -o s3d --listen 10.0.0.1:7777
"""

import argparse
import subprocess

from fathom.cli.arguments import positive
from fathom.errors import FathomError
from fathom.run import paths
from fathom.run.directory import to_make


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to listen, where to keep it, and for how many nodes."""
    parser.add_argument("-o", "--output", required=True, metavar="NAME", help="run directory NAME")
    parser.add_argument(
        "--listen", metavar="[ADDRESS:]PORT", default="0", help="default: any port, all addresses"
    )
    parser.add_argument(
        "--nodes",
        type=positive,
        metavar="N",
        help="end when as many have sent all (default: go on)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the engine, whose first line goes to stdout, until it ends."""
    into = to_make(arguments.output)
    listen = arguments.listen if ":" in arguments.listen else f"0.0.0.0:{arguments.listen}"
    command = [str(paths.engine()), "collect", str(into), "--listen", listen]
    if arguments.nodes:
        command += ["--nodes", str(arguments.nodes)]
    try:
        return subprocess.call(command)
    except OSError as error:
        raise FathomError(f"{command[0]}: {error.strerror}") from error
