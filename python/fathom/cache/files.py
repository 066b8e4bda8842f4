"""Cached answers as files beside a run's tables, for whoever opens the run next."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from fathom.cache.seal import sealed
from fathom.files import replace_bytes

#: Seconds from which on an answer is worth a file, and how many files a folder may have.
SLOW, FILES = 0.1, 200


class CacheFolder:
    """A file for each answer. Its first line is the seal of who worked it out: of what it stands on, the key, and the
    answer."""

    def __init__(self, folder: Path, fingerprint: Callable[[], str]) -> None:
        """Where the folder cannot be written to, nothing is stored."""
        self._folder, self._fingerprint = folder, fingerprint

    def read(self, key: str) -> bytes | None:
        """None where it is not there, damaged, worked out from other tables, or by somebody else."""
        with contextlib.suppress(OSError):
            seal, _, content = self._file(key).read_bytes().partition(b"\n")
            if seal == self._seal(key, content):
                return content
        return None

    def write(self, key: str, content: bytes) -> None:
        """Stores an answer, unless the folder is full."""
        file, seal = self._file(key), self._seal(key, content)
        if not seal:
            return
        with contextlib.suppress(OSError):
            if self._folder.is_symlink() or self._folder.parent.is_symlink():
                return  # leads out of the run
            self._folder.mkdir(exist_ok=True)
            if not file.exists() and sum(1 for _ in self._folder.iterdir()) >= FILES:
                return
            replace_bytes(file, seal + b"\n" + content)

    def _seal(self, key: str, content: bytes) -> bytes | None:
        return sealed(json.dumps([self._fingerprint(), key]).encode() + content)

    def _file(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:32]
