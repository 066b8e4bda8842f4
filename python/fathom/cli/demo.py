"""fathom demo: a small program that writes its files badly, recorded and explained.

examples:
  fathom demo
  fathom demo --python -o somewhere
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import FathomError
from fathom.run import paths

FOLDER = "fathom-demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, and which of the two programs."""
    parser.add_argument(
        "-o", "--output", metavar="DIRECTORY", default=FOLDER, type=Path,
        help=f"of the program, its files and its run (default: {FOLDER})",
    )  # fmt: skip
    parser.add_argument(
        "--python", action="store_true",
        help="the program in Python; default: the one in C, where mpicc and mpiexec are",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Says each command as a user would type it, and does it."""
    folder: Path = arguments.output
    if folder.exists():
        raise FathomError(f"{folder} is there already; remove it, or name another: -o DIRECTORY")
    folder.mkdir(parents=True)
    in_c = not arguments.python and shutil.which("mpicc") and shutil.which("mpiexec")
    source = paths.demo() / ("heat.c" if in_c else "heat.py")
    shutil.copy(source, folder)
    print(f"$ cd {shlex.quote(str(folder))}", flush=True)
    program = [sys.executable, source.name]
    if in_c:
        _do(folder, ["mpicc", "-g", "-O2", "-o", "heat", source.name])
        program = ["mpiexec", "-n", str(min(2, len(os.sched_getaffinity(0)))), "./heat"]
    _do(folder, [str(paths.native_command()), "run", "-o", "heat.fathom", "--", *program])
    print(f"\nIts source: {folder / source.name}. Now yours: fathom run -- PROGRAM", flush=True)
    return 0


def _do(folder: Path, words: Sequence[str]) -> None:
    """One command in the folder; what it prints is for the user."""
    typed = [Path(word).name if Path(word).is_absolute() else word for word in words]
    print(f"$ {shlex.join(typed)}", flush=True)
    # Open MPI starts nothing for root, who is the user of most containers, unless it is told twice.
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(words, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise FathomError(
            f"{shlex.join(typed)} ended with status {done.returncode}; "
            "fathom demo --python needs neither compiler nor MPI"
        )
