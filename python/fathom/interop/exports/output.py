"""An export's file or directory: whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fathom.errors import FathomError, UsageError, printable
from fathom.files import replacing


def check(out: Path, anchor: str | None, force: bool) -> None:
    """May the output be written here? `anchor`: as in `Format`. Errors: UsageError."""
    if any(0xDC80 <= ord(letter) <= 0xDCFF for letter in str(out)):
        raise UsageError(
            f"export: {printable(out)}: the name is no UTF-8, and most formats' libraries take no other; choose another"
        )
    if not out.parent.is_dir():
        raise UsageError(f"export: {printable(out)}: there is no directory {printable(out.parent)}")
    if not os.path.lexists(out):
        return
    if not force:
        raise UsageError(
            f"export: {printable(out)} is there already: choose another --output, or add --force"
        )
    # Replaced is only what an export of this kind has made: nobody's home directory by a slip.
    same = (out / anchor).is_file() if anchor else out.is_file()
    if not same or out.is_symlink():
        kind = f"a directory with {anchor} in it" if anchor else "a file"
        raise UsageError(f"export: {printable(out)} is not {kind}, so --force does not replace it")


@contextlib.contextmanager
def aside(out: Path, anchor: str | None) -> Iterator[Path]:
    """Where to write; moved to `out` at the end, removed after an error. Errors: FathomError for the system's."""
    try:
        with replacing(out, folder=anchor is not None) as place:
            yield place
    except OSError as error:
        raise FathomError(f"export: {printable(out)}: {error.strerror or error}") from error
