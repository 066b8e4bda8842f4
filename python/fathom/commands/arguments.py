"""Arguments that several commands take."""

import argparse


def add_run(parser: argparse.ArgumentParser) -> None:
    """The run directory; its suffix may be left out."""
    parser.add_argument("run", metavar="RUN", help="run directory: NAME or NAME.fathom")


def positive(word: str) -> int:
    """A whole number above 0."""
    if not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number above 0")
    return int(word)
