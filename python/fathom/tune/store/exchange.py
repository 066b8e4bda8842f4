"""A store as a file to send: JSON, every entry checked when it comes in."""

import json
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.files import replace_text
from fathom.tune.store.base import Base
from fathom.tune.store.entry import Entry, of_data

KIND, FORMAT = "fathom pattern store", 1


def write(base: Base, path: Path) -> int:
    """All that the store has, whole or not at all; how many."""
    entries = base.entries()
    content = {"kind": KIND, "format": FORMAT, "entries": [entry.data() for entry in entries]}
    try:
        replace_text(path, json.dumps(content, indent=1))
    except OSError as error:
        raise FathomError(f"{path}: {error.strerror}") from error
    return len(entries)


def read(path: Path) -> list[Entry]:
    """The entries of such a file; raises UsageError with the first that is wrong."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise UsageError(f"{path}: is no export of a pattern store")
    if content.get("format") != FORMAT:
        line = f"has format {content.get('format')!r}, this Fathom reads {FORMAT}"
        raise UsageError(f"{path}: {line}")
    entries = content.get("entries")
    if not isinstance(entries, list):
        raise UsageError(f"{path}: has no list of entries")
    return [of_data(f"{path}: entry {number}", entry) for number, entry in enumerate(entries, 1)]
