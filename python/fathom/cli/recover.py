"""fathom recover: save what killed processes left in this node's shared memory.

Every reader on the node does the same; this is for the other nodes, before they are given back.

example:
  srun --ntasks-per-node=1 fathom recover s3d
"""

import argparse

from fathom.cli.arguments import add_run
from fathom.run.directory import engine, resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN."""
    add_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Copies the rings of dead processes into the run directory."""
    engine("recover", str(resolve(arguments.run)))
    return 0
