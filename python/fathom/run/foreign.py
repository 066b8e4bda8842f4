"""What a run's directory holds may come from anybody: files are read as far as they are files, JSON as far as it
has the form that is expected."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

#: Bytes of a file that is read whole. run.json of a job of a million nodes has some 200 MiB.
MOST = 1 << 30


def content(path: Path, most: int = MOST) -> bytes:
    """Of a regular file, which a link may lead to: what else can be opened may have no end, or wait for ever.
    Errors: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "is no regular file, so it is not read", str(path))
        if facts.st_size > most:
            raise OSError(
                errno.EFBIG, f"has more than {most >> 20} MiB, so it is not read", str(path)
            )
        return file.read(most)


def parsed(text: str | bytes) -> Any:
    """A text of JSON. Errors: ValueError, also where it is nested deeper than it can be read, or is no Unicode."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
