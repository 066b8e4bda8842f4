"""Output that may only have ASCII (LC_ALL=C in old systems, a serial console): letters that stand for ours."""

import codecs
from typing import TextIO

from fathom.text.spark import BARS, SHADES

LIKE = {"µ": "u", "→": "->", "…": "...", "°": "o"}
LIKE |= dict(zip(BARS, "._-=+*%#", strict=True)) | dict(zip(SHADES, " .:*#", strict=True))


def _alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(LIKE.get(letter, "?") for letter in letters), error.end


def tolerate(stream: TextIO) -> None:
    """From now on a letter that the stream cannot write is one like it, and no error."""
    codecs.register_error("fathom", _alike)
    if hasattr(stream, "reconfigure"):  # what a test puts in its place has no encoding
        stream.reconfigure(errors="fathom")
