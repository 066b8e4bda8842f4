"""fathom mcp: answers about the runs of a directory for an assistant, by the Model Context Protocol on stdio.

Nothing leaves the machine; no program is started without --allow-running.

examples:
  fathom mcp
  fathom mcp /scratch/me/runs
  fathom mcp --allow-running
"""

import argparse
from pathlib import Path

from fathom.errors import UsageError, needed, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The directory."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path(),
        help="where the runs lie, or in folders of it (default: the current one)",
    )
    parser.add_argument(
        "--allow-running",
        action="store_true",
        help="let the assistant record programs, and try findings, with your rights",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serves until stdin ends."""
    if not arguments.directory.is_dir():
        raise UsageError(
            f"mcp: {printable(arguments.directory)} is no directory; name one with runs"
        )
    with needed("mcp", "mcp"):
        from fathom.assist import server
    server.serve(arguments.directory, arguments.allow_running).run()
    return 0
