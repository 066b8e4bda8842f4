"""An export's file or directory: whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fathom.errors import FathomError, UsageError, printable


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
            f"export: {printable(out)} is there already: choose another --out, or add --force"
        )
    # Replaced is only what an export of this kind has made: nobody's home directory by a slip.
    same = (out / anchor).is_file() if anchor else out.is_file()
    if not same or out.is_symlink():
        kind = f"a directory with {anchor} in it" if anchor else "a file"
        raise UsageError(f"export: {printable(out)} is not {kind}, so --force does not replace it")


@contextlib.contextmanager
def aside(out: Path, anchor: str | None) -> Iterator[Path]:
    """Where to write; moved to `out` at the end, removed after an error. Errors: FathomError for the system's."""
    place = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        try:
            if anchor:
                place.mkdir()
            yield place
            _sync(place)
            _move(place, out)
        finally:
            _remove(place)
    except OSError as error:
        raise FathomError(f"export: {printable(out)}: {error.strerror or error}") from error


def _sync(place: Path) -> None:
    """What a file system says only when data reach its disk is an error of ours as well."""
    for file in [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _move(place: Path, out: Path) -> None:
    if not out.is_dir():
        place.replace(out)
        return
    old = out.with_name(f"{place.name}.old")
    out.rename(old)
    try:
        place.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
