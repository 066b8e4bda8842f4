"""fathom env: native, so that it is the same thing inside a launcher (runtime/command)."""

import argparse
import os

from fathom import places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything goes to the native command, --help too."""
    parser.add_argument("words", nargs=argparse.REMAINDER)


def run(arguments: argparse.Namespace) -> int:
    """Becomes the native command."""
    command = str(places.native_command())
    os.execv(command, ["fathom", "env", *arguments.words])
