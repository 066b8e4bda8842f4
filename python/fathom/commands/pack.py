"""fathom pack: make a run's tables from its streams.

Every reader packs when it has to; this does it beforehand, or anew.

examples:
  fathom pack s3d.1
  fathom pack s3d.1 --force
"""

import argparse

from fathom.commands.arguments import add_run
from fathom.errors import DamagedRun
from fathom.store import engine, resolve, streams_lost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN."""
    add_run(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="also when the tables are up to date, or streams are gone",
    )


def run(arguments: argparse.Namespace) -> int:
    """Packs unless the tables are up to date."""
    directory = resolve(arguments.run)
    if not arguments.force and streams_lost(directory):
        raise DamagedRun(
            f"{directory}: streams that its tables were made of are gone; "
            "--force makes tables of what is left"
        )
    engine("pack", *(["--force"] if arguments.force else []), str(directory))
    return 0
