"""fathom pack: make a run's tables from its streams.

Every reader packs when it has to; this does it beforehand, or anew.

examples:
  fathom pack s3d.1
  fathom pack s3d.1 --force
"""

import argparse

from fathom.commands.arguments import add_run
from fathom.store import engine, resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN."""
    add_run(parser)
    parser.add_argument("--force", action="store_true", help="also when the tables are up to date")


def run(arguments: argparse.Namespace) -> int:
    """Packs unless the tables are up to date."""
    engine("pack", *(["--force"] if arguments.force else []), str(resolve(arguments.run)))
    return 0
