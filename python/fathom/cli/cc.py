"""fathom cc: link a static program with Fathom inside, so that `fathom run` can record it.

Stands before the compiler's words and adds what the link of a static program needs. Everything else is done as ever:
a dynamic program needs nothing, since `fathom run` brings Fathom in.

examples:
  fathom cc -- mpicc -static solver.c -o solver
  fathom cc -- gfortran -static-pie solver.f90 -o solver
  make LDFLAGS="-static $(fathom cc --flags)"
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.run import paths
from fathom.text.tables import printable

LINKERS = ("ld", "ld.bfd", "ld.gold")
GROUPS = ("--start-group", "-(", "--end-group", "-)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The compiler's words, or what to add to them."""
    parser.add_argument("--flags", action="store_true", help="print what to add to a link")
    parser.add_argument(
        "command", nargs="*", metavar="COMPILER ARGUMENT…", help="a link, behind --"
    )


def run(arguments: argparse.Namespace) -> int:
    """Becomes the compiler."""
    parts = paths.linked()
    if arguments.flags == bool(arguments.command):
        raise UsageError("cc: give a compiler's words behind --, or --flags")
    if arguments.flags:
        print(*flags(parts))
        return 0
    words = command(arguments.command, parts)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise FathomError(f"cc: {printable(words[0])}: {error.strerror}") from error


def flags(parts: Path) -> list[str]:
    """For GNU's compilers and what wraps them: they change static links alone."""
    return [f"-specs={parts / 'fathom.specs'}", f"-L{parts}"]


def command(words: Sequence[str], parts: Path) -> list[str]:
    """The words that link with Fathom inside."""
    first, rest = words[0], list(words[1:])
    if Path(first).name.rpartition("-")[2] not in LINKERS:
        return [first, *flags(parts), *rest]
    if not {"-static", "-Bstatic", "-dn", "-non_shared"} & set(rest):
        return [first, *rest]
    rest = [word for word in rest if word not in GROUPS]
    runtime, names = (str(parts / f"libfathom-{part}.a") for part in ("static", "names"))
    options = f"@{parts / 'fathom.ld'}"
    return [first, options, "--start-group", *rest, runtime, "--end-group", names]
