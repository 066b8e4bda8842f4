"""What can be wrong, as one line for the user and an exit status."""

import errno
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

#: What helps against an error of the system's.
REMEDIES = {
    errno.EACCES: "ask its owner for access, or read a copy",
    errno.EIO: "its disk or file system fails: try again, or read a copy",
    errno.EMFILE: "this process has too many files open: raise ulimit -n",
    errno.ENOSPC: "make room there",
}


def printable(text: object) -> str:
    """File names are hostile text: control characters are shown, not sent to the terminal, and end no line."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def why(error: OSError) -> str:
    """What the system says, and what helps."""
    remedy = REMEDIES.get(error.errno or 0)
    return printable(error.strerror or error) + (f"; {remedy}" if remedy else "")


def system_error(error: OSError) -> str:
    """Which file, what is wrong, and what helps."""
    return why(error) if error.filename is None else f"{printable(error.filename)}: {why(error)}"


def install(*extras: str) -> str:
    """The command that brings the packages of these extras of pyproject.toml to this Python, of whatever venv it is."""
    return f"{sys.executable} -m pip install 'fathom-io[{','.join(extras)}]'"


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Those of the known words that are like it, the most alike first."""
    from difflib import get_close_matches  # where something is wrong already

    return get_close_matches(word, list(dict.fromkeys(known)), cutoff=0.7)


def unknown(what: str, word: str, known: Iterable[str], lists: str = "") -> str:
    """A line that begins with `what`, of a word that is none of those known: the nearest; without one all of them, or
    what `lists` them."""
    names = list(dict.fromkeys(known))
    like = nearest(word, names)
    begin = f"{what} '{printable(word)}'"
    if like:
        return f"{begin}; is it '{like[0]}'? {lists}".rstrip()
    there = f"there are {', '.join(names)}" if names else "there are none"
    return f"{begin}; {lists or there}"


class FathomError(Exception):
    """A line that says what is wrong, where, and what to do. `status` is the command's exit status."""

    status = 3
    reported = False  # another program has printed its line already

    def __str__(self) -> str:
        """What another's words are part of, a damaged table's say: its letters reach no terminal as they are."""
        return "\n".join(map(printable, super().__str__().split("\n")))


class UsageError(FathomError):
    """The user asked for what cannot be."""

    status = 2


@contextmanager
def needed(what: str, extra: str) -> Iterator[None]:
    """Around the import of packages that an extra brings and `what` needs. Raises `UsageError` where one is missing."""
    try:
        yield
    except ImportError as error:
        raise UsageError(
            f"{what} needs a package that is not installed: {install(extra)} ({error})"
        ) from error


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


class DamagedTable(DamagedRun):
    """A table of it cannot be read: whatever else is asked of it cannot be answered either."""
