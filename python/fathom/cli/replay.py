"""fathom replay: makes the I/O of a run again, without its program: the same calls, ranks and sizes on other files.
Where each rank did the same on its own part of the arrays, with other ranks and sizes, too.

examples:
  fathom replay s3d.1 --in /scratch/again
  fathom replay s3d.1 --layer posix --think 1 --in /scratch/again
  fathom replay s3d.1 --emit-c s3d_io.c
  fathom replay s3d.1 --nprocs 8 --in /scratch/again
  fathom replay s3d.1 --nprocs 8 --scale 1/2 --in /scratch/again
  fathom replay s3d.1 --build s3d_io && fathom tune -- mpiexec -n 4 ./s3d_io {out}
"""

import argparse
import shlex
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import fathom
from fathom.cli.arguments import add_run
from fathom.codegen.replay.calls import LAYERS
from fathom.codegen.replay.compare import differences
from fathom.codegen.replay.execute import build, launch, write
from fathom.codegen.replay.program import Program, Wanted, program
from fathom.errors import RunError, UsageError
from fathom.run.store import open_run
from fathom.text import numbers

MOST = 1_000_000  # ranks, and times the size
MOST_LINES = 12  # of differences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, what is made again and how, and what becomes of it."""
    add_run(parser, last=True)
    parser.add_argument(
        "--layer", metavar="LAYER", choices=list(LAYERS),
        help="whose calls are made again: hdf5, mpiio or posix (the highest that the run has in full)",
    )  # fmt: skip
    parser.add_argument(
        "--files",
        metavar="GLOB",
        help="only calls on files whose path, or its last part, is like this",
    )
    parser.add_argument(
        "--think", type=_factor, default=0.0, metavar="X",
        help="wait between calls as long as the run did, times X (0: not at all)",
    )  # fmt: skip
    parser.add_argument(
        "--nprocs", type=_ranks, metavar="N",
        help="on so many ranks: each one's part stays, arrays grow (weak scaling)",
    )  # fmt: skip
    parser.add_argument(
        "--scale", type=_scale, default=Fraction(1), metavar="K",
        help="each rank's part K times as large: 2, 0.5, 1/2",
    )  # fmt: skip
    parser.add_argument(
        "--in", dest="directory", metavar="DIR", help="run it: files go into this empty directory"
    )
    parser.add_argument("--emit-c", type=Path, metavar="FILE", help="write the program as C")
    parser.add_argument("--build", type=Path, metavar="FILE", help="write the program, compiled")
    parser.add_argument(
        "--compiler",
        type=shlex.split,
        metavar="WORDS",
        help="MPI's compiler (that of the run's MPI)",
    )
    parser.add_argument(
        "--launcher", type=shlex.split, metavar="WORDS",
        help="what starts the ranks, without their number (mpiexec of the run's MPI)",
    )  # fmt: skip


def _factor(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{word}' is no number from 0 on")
    return value


def _ranks(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 0 < int(word) <= MOST):
        raise argparse.ArgumentTypeError(f"'{word}' is no number of ranks from 1 to {MOST:,}")
    return int(word)


def _scale(word: str) -> Fraction:
    try:
        value = Fraction(word)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value < MOST:
        raise argparse.ArgumentTypeError(f"'{word}' is no number above 0, as 2, 0.5 or 1/2")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Writes, builds, runs, compares; status 1 where calls differ from the run's."""
    if not (arguments.directory or arguments.emit_c or arguments.build):
        raise UsageError("replay: say --in DIR to run it, --emit-c FILE or --build FILE to have it")
    wanted = Wanted(arguments.think, arguments.files, arguments.nprocs, arguments.scale)
    replay = program(fathom.open(arguments.run), arguments.layer, wanted)
    _tell(replay)
    if arguments.emit_c:
        write(replay, arguments.emit_c)
    if arguments.build:
        build(replay, arguments.build, arguments.compiler)
    if not arguments.directory:
        return 0
    with tempfile.TemporaryDirectory(prefix="fathom-replay-") as place:
        built = Path(place) / "replay"
        build(replay, built, arguments.compiler)
        record = Path(place) / "again.fathom"
        status = launch(replay, built, arguments.directory, arguments.launcher, record)
        return _check(replay, record, arguments.directory, status)


def _check(replay: Program, record: Path, directory: str, status: int) -> int:
    """Says whether it did what the run did."""
    if not record.exists():
        return status
    directory_path = str(Path(directory).absolute())
    try:
        lines = differences(replay.expected, open_run(record, quiet=True), directory_path)
    except RunError as why:
        _say(f"it cannot be compared with the run: {why}")
        return status or 1
    for line in lines[:MOST_LINES]:
        _say(f"differs: {line}")
    if len(lines) > MOST_LINES:
        _say(f"differs: {numbers.things(len(lines) - MOST_LINES, 'function')} more")
    if not lines and status == 0:
        _say("the same: its calls by layer, function, file, size, offset and bytes")
    return status or bool(lines)


def _say(line: str) -> None:
    print(f"fathom: replay: {line}", file=sys.stderr)


def _tell(replay: Program) -> None:
    ranks = numbers.things(replay.ranks, "rank")
    _say(f"{numbers.things(replay.calls, 'call')} of {ranks}, from layer {replay.layer} down")
    for remark in replay.remarks:
        _say(remark)
    for why, calls in replay.left_out.most_common():
        _say(f"left out: {numbers.things(calls, 'call')}: {why}")
