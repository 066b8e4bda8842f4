"""fathom import: make a run of what another tool recorded.

`strace`: what `strace -f -ttt -T -y -o FILE` wrote, or all the files of `-ff`. The run has the system calls of files,
by process and thread; nothing of libraries above them, which strace does not see.

examples:
  strace -f -ttt -T -y -s 0 -o log ./program; fathom import strace log -o program
  fathom import strace log.* -o program && fathom show program
"""

# ruff: noqa: N999  (a command's module has the command's name)

import argparse
from pathlib import Path

from fathom import onefile
from fathom.directory import engine
from fathom.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which tool's, the files, and the run's name."""
    parser.add_argument("tool", choices=["strace"], metavar="TOOL", help="strace")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what it wrote")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="NAME", help="run directory NAME (default: of FILE)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Imports, and says where the run is."""
    named: Path = arguments.output or Path(arguments.files[0].name)
    into = named if named.suffix == onefile.SUFFIX else named.with_name(named.name + onefile.SUFFIX)
    if into.exists():
        raise UsageError(f"import: {into} exists; name another with -o, or remove it")
    engine(arguments.tool, str(into), *map(str, arguments.files))
    print(into)
    return 0
