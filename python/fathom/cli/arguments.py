"""Arguments that several commands take."""

import argparse
from collections.abc import Iterable

from fathom.errors import UsageError


def add_run(parser: argparse.ArgumentParser) -> None:
    """The run directory; its suffix may be left out."""
    parser.add_argument("run", metavar="RUN", help="run directory: NAME or NAME.fathom")


def add_with_runtime(parser: argparse.ArgumentParser) -> None:
    """Also what is not the program's."""
    parser.add_argument(
        "--with-runtime",
        action="store_true",
        help="also the MPI library's start and end, launchers, and files of the system and of interpreters",
    )


def positive(word: str) -> int:
    """A whole number above 0."""
    if not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number above 0")
    return int(word)


def of_list(what: str, given: str, known: Iterable[str]) -> list[str]:
    """The words of a list with commas. Errors: UsageError for one that is not known; `what`: how that line begins."""
    words, names = given.split(","), dict.fromkeys(known)
    unknown = next((word for word in words if word not in names), None)
    if unknown is not None:
        raise UsageError(f"{what} '{unknown}'; there are {', '.join(names)}")
    return words
