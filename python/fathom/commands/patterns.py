"""fathom patterns: how the data of a run are spread over its ranks, array by array, and how its files are used.

examples:
  fathom patterns s3d.1
  fathom patterns s3d.1 --top 50
  fathom patterns s3d.1 --file '*.field.nc'
  fathom patterns s3d.1 --json | jq -r '.patterns[0].key'
"""

import argparse
import json
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import fathom
from fathom.analysis import Remembered
from fathom.analysis.distribution.found import Patterns, patterns
from fathom.commands.arguments import add_all, add_run, positive
from fathom.errors import RunError, UsageError
from fathom.importing.lacks import reads_and_writes
from fathom.store import Run
from fathom.view import patterns as view


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, which files, how much."""
    add_run(parser)
    add_all(parser)
    parser.add_argument(
        "--file", metavar="GLOB", help="only files whose path, or its last part, is like this"
    )
    parser.add_argument(
        "--top", type=positive, metavar="N", help="most groups of files (page: 10; JSON: all)"
    )
    parser.add_argument("--json", action="store_true", help="raw numbers, units in the names")


MOST = 12  # files that a message names


def of_files(command: str, found: Patterns, name: str, glob: str) -> Patterns:
    """The same of files like these; there must be one, or none at all."""
    kept = found.only(
        lambda path: fnmatchcase(path, glob) or fnmatchcase(PurePosixPath(path).name, glob)
    )
    there = sorted({PurePosixPath(path).name for use in found.uses for path in use.paths})
    if there and not (kept.patterns or kept.unplaced):
        more = f" and {len(there) - MOST} more" if len(there) > MOST else ""
        raise UsageError(
            f"{command}: no read or write of a file like '{glob}' in {name}; there are {', '.join(there[:MOST])}{more}"
        )
    return kept


def check_any(found: Patterns, run: Run) -> None:
    """Something must be there to show."""
    if found.patterns or found.unplaced:
        return
    name = run.name
    if found.made:
        again = f"fathom show {name} --next prepares the run that has them"
        raise RunError(
            f"{name}: none of its {found.made:,} reads and writes was recorded in full (level file or job):"
            f" {reads_and_writes(run.manifest, again)}"
        )
    raise RunError(
        f"{name}: no read or write of a file was seen: fathom doctor PROGRAM says why that can be"
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the patterns."""
    opened = fathom.open(arguments.run, everything=arguments.all)
    found = patterns(Remembered(opened))
    if arguments.file:
        found = of_files("patterns", found, opened.name, arguments.file)
    check_any(found, opened)
    if arguments.json:
        content = view.as_json(found, opened.name, arguments.top)
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        view.show_patterns(found, opened.name, arguments.top or 10)
    return 0
