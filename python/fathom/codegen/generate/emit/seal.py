"""A line at the head of what is generated: who wrote it, and the hash of what follows, so that an edit is seen."""

import hashlib
import re
from pathlib import Path

from fathom.errors import UsageError

_SEALED = re.compile(r"Written by fathom generate; do not edit \[([0-9a-f]{16})\]")
SEAL = "Written by fathom generate; do not edit [{}]"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sealed(text: str, before: str, after: str) -> str:
    """The text below a comment with its hash."""
    return f"{before}{SEAL.format(digest(text))}{after}\n{text}"


def check_unedited(path: Path) -> None:
    """UsageError where a file is there that is not as it was generated."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    first, _, rest = text.partition("\n")
    seal = _SEALED.search(first)
    if seal is None:
        raise UsageError(
            f"{path}: is there, and not by fathom generate; choose another directory (-o), or move it away"
        )
    if seal[1] != digest(rest):
        raise UsageError(
            f"{path}: was edited after it was generated; move your change into the source, or the file"
            " away, and generate again"
        )
