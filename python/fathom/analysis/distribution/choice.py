"""Patterns of files that a user chose; an error where there are none."""

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from fathom.analysis.distribution.patterns import Patterns
from fathom.errors import RunError, UsageError
from fathom.run.limitations import reads_and_writes
from fathom.run.store import Run
from fathom.text.quoting import shell

MOST = 12  # files that a message names


def of_files(command: str, of_run: Patterns, name: str, glob: str) -> Patterns:
    """The same of files like these; there must be one, or none at all."""
    matching = of_run.only(
        lambda path: fnmatchcase(path, glob) or fnmatchcase(PurePosixPath(path).name, glob)
    )
    names = sorted({PurePosixPath(path).name for use in of_run.uses for path in use.paths})
    if names and not (matching.patterns or matching.unplaced):
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        raise UsageError(
            f"{command}: no read or write of a file like '{glob}' in {name}; there are {', '.join(names[:MOST])}{more}"
        )
    return matching


def check_any(of_run: Patterns, run: Run) -> None:
    """Something must be there to show."""
    if of_run.patterns or of_run.unplaced:
        return
    name = run.name
    if of_run.data_calls:
        again = f"fathom show {shell([name])} --next prepares the run that has them"
        raise RunError(
            f"{name}: none of its {of_run.data_calls:,} reads and writes was recorded in full (level file or job):"
            f" {reads_and_writes(run.manifest, again)}"
        )
    raise RunError(
        f"{name}: no read or write of a file was seen: fathom doctor PROGRAM says why that can be"
    )
