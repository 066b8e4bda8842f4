"""A fingerprint of a run's tables: cached answers hold only for the tables that they were worked out from."""

import contextlib
import hashlib
import os
from pathlib import Path

from fathom.run import site
from fathom.run.columns import PARTED

# Made of `calls` by whoever looks first, so no sign of another packing.
DERIVED = frozenset(("tiles",))


def _tells(name: str) -> bool:
    stem, _, suffix = name.partition(".")
    return name == "run.json" or (suffix.endswith("parquet") and stem not in DERIVED)


def _sign(folder: str, entry: os.DirEntry[str]) -> str:
    stat = entry.stat()
    return f"{folder}/{entry.name}:{stat.st_size}:{stat.st_mtime_ns}"


def fingerprint(run: Path, reader: str) -> str:
    """A hash of names, sizes and times of the run's tables and the site's file, and of the program that reads them."""
    signs = []
    for folder in ("", "tables", *(f"tables/{name}" for name in PARTED if name not in DERIVED)):
        with contextlib.suppress(FileNotFoundError), os.scandir(run / folder) as entries:
            signs += [_sign(folder, entry) for entry in entries if _tells(entry.name)]
    return hashlib.sha256("\n".join([reader, site.sign(), *sorted(signs)]).encode()).hexdigest()
