"""Files written in a run directory, which others may have prepared: never through a link that lies there."""

import errno
import os
import stat
from pathlib import Path


def write_new(path: Path, text: str) -> None:
    """A file that is this name's own; what was there before, be it a link, goes first."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def open_to_append(path: Path) -> int:
    """A descriptor behind the end of a file that is there, or is made. A link, or what is no file, is an OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no regular file, so it is left alone", str(path))
    return descriptor
