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
  fathom import user_app_id4711.darshan -o app && fathom show app --findings
  fathom import dftracer traces/ -o app && fathom show app
  fathom import recorder recorder-20240131/120000.00-node1-me-app-4711 -o app
"""

# ruff: noqa: N999  (a command's module has the command's name)

import argparse
import os
from pathlib import Path

from fathom.errors import UsageError, printable, unknown, why
from fathom.run.directory import to_make
from fathom.run.importing import reading
from fathom.run.logs import tool_of
from fathom.run.manifest import TOOLS

# Tools of which one log is a whole run.
WHOLE = {
    "darshan": "a log of Darshan is a whole job",
    "recorder": "a directory of Recorder is a whole run",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which tool's, the files, and the run's name."""
    parser.usage = "fathom import [-h] [-o NAME] [TOOL] FILE [FILE ...]"
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE",
        help=f"what it wrote; where FILE does not tell the tool, one of {', '.join(TOOLS)} before it",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="NAME", help="run directory NAME (default: of FILE)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Imports, and says where the run is."""
    tool, files = _named(arguments.files)
    into = to_make(arguments.output or files[0].absolute().name)
    if os.path.lexists(into):
        raise UsageError(f"import: {printable(into)} exists; name another with -o, or remove it")
    for place, file in enumerate(files):
        if not file.exists():
            raise UsageError(f"import: {printable(file)}: there is no such file")
        if file in files[:place]:
            raise UsageError(f"import: {printable(file)} is named twice; name each file once")
    if tool in WHOLE and len(files) != 1:
        raise UsageError(f"import: {WHOLE[tool]}; name one")
    reading(tool, files, into)
    print(into)
    return 0


def _named(words: list[Path]) -> tuple[str, list[Path]]:
    """The tool, which the first word says, or the first file's look, and the files."""
    first = str(words[0])
    if first in TOOLS and len(words) > 1:
        return first, words[1:]
    try:
        tool = tool_of(words[0])
    except OSError as error:
        raise UsageError(f"import: {printable(first)}: {why(error)}") from error
    if tool:
        return tool, words
    if first in TOOLS:
        raise UsageError("import: FILE is missing; fathom help import says what it takes")
    if os.path.lexists(first):
        raise UsageError(
            f"import: {printable(first)}: it does not show whose log it is; write TOOL before it: {', '.join(TOOLS)}"
        )
    if len(words) > 1:
        raise UsageError(unknown("import: no", first, TOOLS))
    raise UsageError(f"import: {printable(first)}: there is no such file")
