"""Arguments that several commands take."""

import argparse


def add_run(parser: argparse.ArgumentParser) -> None:
    """The run directory; its suffix may be left out."""
    parser.add_argument("run", metavar="RUN", help="run directory: NAME or NAME.fathom")


def add_all(parser: argparse.ArgumentParser) -> None:
    """Also what is not the program's."""
    parser.add_argument(
        "--all",
        action="store_true",
        help="also the MPI library's start and end, launchers, and files of the system and of interpreters",
    )


def positive(word: str) -> int:
    """A whole number above 0."""
    if not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number above 0")
    return int(word)
