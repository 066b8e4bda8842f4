"""Arguments that several commands take."""

import argparse
import sys
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from fathom.errors import UsageError, printable, unknown
from fathom.files import replace_text
from fathom.run.directory import newest


class Newest(PathLike[str]):
    """The newest run of the current directory: looked for, and named on stderr, when its path is first used."""

    def __init__(self) -> None:
        """Of no directory yet: what is wrong with the other arguments comes first."""
        self._path = ""

    def __fspath__(self) -> str:
        """Errors: NotARun."""
        if not self._path:
            self._path = newest_run()
        return self._path


def newest_run() -> str:
    """The path of the newest run of this directory, which is named on stderr. Errors: NotARun."""
    path = str(newest())
    print(f"fathom: {printable(path)}, the newest run here", file=sys.stderr)
    return path


def add_run(parser: argparse.ArgumentParser, last: bool = False) -> None:
    """The run directory; its suffix may be left out. `last`: it too, and the newest one here is meant."""
    if last:
        what = "run directory: NAME or NAME.fathom (default: the newest one here)"
        parser.add_argument("run", metavar="RUN", nargs="?", default=Newest(), help=what)
    else:
        parser.add_argument("run", metavar="RUN", help="run directory: NAME or NAME.fathom")


def add_what_is_recorded(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The short forms of a selection file, of programs that run; the group, for more."""
    from fathom.run.filter import LEVELS  # those who only read a run do without

    what = parser.add_argument_group("what is recorded")
    what.add_argument("--level", choices=LEVELS, help="how finely (default: call)")
    what.add_argument("--layers", metavar="LIST", help="layers, or +LAYER, -LAYER as in run")
    what.add_argument(
        "--files", metavar="GLOB", action="append", default=[], help="only these; !GLOB: not these"
    )
    return what


def add_with_runtime(parser: argparse.ArgumentParser) -> None:
    """Also what is not the program's."""
    parser.add_argument(
        "--with-runtime",
        action="store_true",
        help="also the MPI library's start and end, launchers, and files of the system and of interpreters",
    )


def save(command: str, path: Path, text: str) -> None:
    """Into a file that an option names, whole or not at all. Errors: UsageError, with the command and the file."""
    try:
        replace_text(path, text)
    except OSError as error:
        raise UsageError(f"{command}: cannot write {printable(path)}: {error.strerror}") from error


def positive(word: str) -> int:
    """A whole number above 0."""
    if not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number above 0")
    return int(word)


def not_negative(word: str) -> int:
    """A whole number, 0 or more."""
    if not word.isdigit():
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number from 0 on")
    return int(word)


def of_list(what: str, given: str, known: Iterable[str]) -> list[str]:
    """The words of a list with commas. Errors: UsageError for one that is not known; `what`: how that line begins."""
    words, names = given.split(","), dict.fromkeys(known)
    wrong = next((word for word in words if word not in names), None)
    if wrong is not None:
        raise UsageError(unknown(what, wrong, names))
    return words
