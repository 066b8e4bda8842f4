"""fathom collect: add runs to a lake, the tables of all jobs of a centre.

A directory stands for all runs and logs of Darshan below it. What is in the lake already is left out, so the same
command may be repeated, by many at once, and after a kill.

examples:
  fathom collect --into /lake s3d.fathom
  fathom collect --into /lake /spool/2026-11-28     each night; in Slurm's epilog: one job
  fathom collect --compact /lake                    few large files in place of many small ones
  fathom landscape /lake                            which jobs, users, programs and servers lose most
"""

import argparse
import sys
import time
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.pages import landscapes, summaries
from fathom.run import lake
from fathom.run.lake import Summary
from fathom.text import numbers

BATCH, PAUSE = 64, 10.0  # runs, or seconds, after which they are written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """LAKE, RUN…."""
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--into", type=Path, metavar="DIR", help="the lake; made if it is not there")
    form.add_argument(
        "--compact", type=Path, metavar="DIR", help="puts this lake's small files together"
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="run directories, logs; directories of them"
    )


def run(arguments: argparse.Namespace) -> int:
    """Adds them, and says how many."""
    if arguments.compact:
        if arguments.runs:
            raise UsageError("collect: --compact takes no runs; collect them before it")
        gone = lake.Lake(arguments.compact).compact()
        print(f"{numbers.things(gone, 'file')} fewer")
        return 0
    if not arguments.runs:
        raise UsageError("collect: RUN is missing; fathom help collect says what it takes")
    return _collect(lake.make(arguments.into), landscapes.below(arguments.runs, logs=True))


def _collect(to: lake.Lake, paths: list[str]) -> int:
    new: list[Summary] = []
    added = good = status = 0
    written = time.monotonic()
    for work in summaries.each(to, paths):
        try:
            summary = work()
            good += 1
            new += [summary] if summary else []
        except FathomError as error:
            status = error.status
            if not error.reported:
                print(f"fathom: {error}", file=sys.stderr)
        if len(new) >= BATCH or time.monotonic() - written > PAUSE:
            added += to.add(new)
            new, written = [], time.monotonic()
    added += to.add(new)
    print(f"{numbers.things(added, 'run')} added, {good - added:,} there already")
    return status
