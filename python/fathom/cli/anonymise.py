"""fathom anonymise: a copy of a run, or of a lake, without anybody's names, to be given away.

Paths, hosts, users, words of command lines, values of the environment, names in files and in the program are replaced
by hashes with a key, the same in all tables; sizes, times and what is concluded stay. Then each name is searched for
in all that was written: where one is found, nothing is left.

examples:
  fathom anonymise s3d.1 -o shared
  fathom anonymise s3d.1 -o shared --key ~/.fathom-key    # two runs stay comparable
  fathom anonymise s3d.1 -o shared --keep /usr --keep /proc
  fathom anonymise /lake -o /tmp/lake                     # all jobs of a lake
"""

import argparse
import os
import secrets
import stat
import sys
from pathlib import Path

import fathom
from fathom.cli.arguments import Newest, add_run
from fathom.errors import FathomError, RunError, UsageError, printable
from fathom.files import replacing
from fathom.run import lake
from fathom.run.anonymise.copy import copy, functions
from fathom.run.anonymise.names import Names
from fathom.run.anonymise.of_lake import copy_lake
from fathom.run.anonymise.search import Search, leaks
from fathom.run.directory import to_make

BYTES = 32  # of a key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the copy, the key, what stays readable."""
    add_run(parser, last=True)
    parser.add_argument("-o", "--output", metavar="NAME", help="the copy, which is not there yet")
    parser.add_argument(
        "--key", type=Path, metavar="FILE",
        help="hash with the key in this file, made if it is not there (default: a key that nobody keeps)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", action="append", default=[], metavar="PREFIX",
        help="leave paths below this folder as they are, as /usr; repeatable",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Writes the copy, searches it, prints its name."""
    is_lake = not isinstance(arguments.run, Newest) and lake.is_lake(Path(arguments.run))
    out = _out(arguments.output, is_lake)
    for prefix in arguments.keep:
        if not prefix.startswith("/") or not prefix.strip("/"):
            raise UsageError(
                f"anonymise: --keep {printable(prefix)}: give a folder's path, as /usr"
            )
    left_out: list[str] = []
    try:
        with replacing(out, folder=True) as place:
            if is_lake:
                names = Names(_key(arguments.key), arguments.keep)
                copy_lake(lake.Lake(Path(arguments.run)), place, names)
            else:
                opened = fathom.open(arguments.run, with_runtime=True)
                names = Names(_key(arguments.key), arguments.keep, functions(opened))
                left_out = copy(opened, place, names)
            search = Search(names)
            _check(search, place, out)
    except OSError as error:
        raise FathomError(f"anonymise: {printable(out)}: {error.strerror or error}") from error
    if left_out:
        print(f"fathom: anonymise: not copied: {printable(', '.join(left_out))}", file=sys.stderr)
    print(f"{out}: {search.searched:,} names searched for, none is in it")
    return 0


def _out(given: str | None, is_lake: bool) -> Path:
    if given is None:
        raise UsageError("anonymise: where to? add -o NAME")
    out = Path(given) if is_lake else to_make(given)
    if not out.parent.is_dir():
        raise UsageError(
            f"anonymise: {printable(out)}: there is no directory {printable(out.parent)}"
        )
    if os.path.lexists(out):
        raise UsageError(f"anonymise: {printable(out)} is there already: choose another -o NAME")
    return out


def _check(search: Search, place: Path, out: Path) -> None:
    """Errors: RunError with the first name that is found."""
    leak = next(leaks(place, search), None)
    if leak is not None:
        raise RunError(
            f"anonymise: the name '{printable(leak.name)}' is still in {leak.file}, so {printable(out)} is not written:"
            " report it"
        )


def _key(path: Path | None) -> bytes:
    """What the file holds; made where it is not there. Errors: UsageError of a file that others can read."""
    if path is None:
        return secrets.token_bytes(BYTES)
    try:
        if not path.exists():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
                file.write(secrets.token_hex(BYTES) + "\n")
            print(
                f"fathom: anonymise: made the key {printable(path)}: keep it secret; who has it can try names out",
                file=sys.stderr,
            )
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(
                f"anonymise: --key {printable(path)}: others can read it: chmod 600 it, if nobody has"
            )
        key = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"anonymise: --key {printable(path)}: {error.strerror}") from error
    if len(key) < BYTES:
        raise UsageError(
            f"anonymise: --key {printable(path)}: holds {len(key)} bytes; a key has {BYTES} and more"
        )
    return key
