"""fathom import: make a run of what another tool recorded.

`strace`: what `strace -f -ttt -T -y -o FILE` wrote, or all the files of `-ff`. The run has the system calls of files,
by process and thread; nothing of libraries above them, which strace does not see.
`darshan`: a log of Darshan. The run has its counters, and, where the log has DXT, each read and write. Needs Darshan's
own library: of an installation of darshan-util, or pip install 'fathom-io[darshan]'.
`dftracer`: the files that DFTracer wrote (.pfw, .pfw.gz), one for each process, or the directory with them.
`recorder`: the directory that Recorder 2.5 or 3.0 wrote of one run.

examples:
  strace -f -ttt -T -y -s 0 -o log ./program; fathom import strace log -o program
  fathom import strace log.* -o program && fathom show program
  fathom import darshan user_app_id4711.darshan -o app && fathom show app --findings
  fathom import dftracer traces/ -o app && fathom show app
  fathom import recorder recorder-20240131/120000.00-node1-me-app-4711 -o app
"""

# ruff: noqa: N999  (a command's module has the command's name)

import argparse
import os
from pathlib import Path

from fathom.errors import UsageError, printable
from fathom.run.directory import to_make
from fathom.run.importing import reading
from fathom.run.manifest import TOOLS

# Tools of which one log is a whole run.
WHOLE = {
    "darshan": "a log of Darshan is a whole job",
    "recorder": "a directory of Recorder is a whole run",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which tool's, the files, and the run's name."""
    parser.add_argument(
        "tool",
        choices=tuple(TOOLS),
        metavar="TOOL",
        help=", ".join(TOOLS),
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what it wrote")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="NAME", help="run directory NAME (default: of FILE)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Imports, and says where the run is."""
    into = to_make(arguments.output or arguments.files[0].absolute().name)
    if os.path.lexists(into):
        raise UsageError(f"import: {printable(into)} exists; name another with -o, or remove it")
    for place, file in enumerate(arguments.files):
        if not file.exists():
            raise UsageError(f"import: {printable(file)}: there is no such file")
        if file in arguments.files[:place]:
            raise UsageError(f"import: {printable(file)} is named twice; name each file once")
    if arguments.tool in WHOLE and len(arguments.files) != 1:
        raise UsageError(f"import: {WHOLE[arguments.tool]}; name one")
    reading(arguments.tool, arguments.files, into)
    print(into)
    return 0
