"""What can be wrong, as one line for the user and an exit status."""

import sys


def printable(text: object) -> str:
    """File names are hostile text: control characters are shown, not sent to the terminal, and end no line."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def install(*extras: str) -> str:
    """The command that brings the packages of these extras of pyproject.toml to this Python, of whatever venv it is."""
    return f"{sys.executable} -m pip install 'fathom-io[{','.join(extras)}]'"


class FathomError(Exception):
    """A line that says what is wrong, where, and what to do. `status` is the command's exit status."""

    status = 3
    reported = False  # another program has printed its line already


class UsageError(FathomError):
    """The user asked for what cannot be."""

    status = 2


class RunError(FathomError):
    """The data cannot be used."""


class NotRecorded(RunError):
    """None of the calls that a question is about has a row. `what`: without what to do about it."""

    again = "record it with --level call"  # of a run of our own

    def __init__(self, what: str, again: str = again) -> None:
        super().__init__(f"{what}; {again}")
        self.what = what


class NotARun(RunError):
    """There is no run directory at this path."""


class DamagedRun(RunError):
    """It is a run directory, but something in it cannot be read."""
