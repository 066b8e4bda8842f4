"""The first screen of `fathom show`, kept beside a run's tables: who looks again loads neither DuckDB nor Arrow."""

import contextlib
import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from fathom.cache.answers import version
from fathom.cache.files import CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.errors import FathomError
from fathom.run.directory import is_settled, resolve

FOLDER = "screens"
Line = tuple[str, str]  # what stands out, and the rest


class Screen:
    """That of one run, as wide as it is to be."""

    def __init__(self, run: str | PathLike[str], width: int, with_runtime: bool) -> None:
        """Of a run that still runs, or in one file, nothing is kept."""
        self._folder: CacheFolder | None = None
        self._key = ""
        with contextlib.suppress(FathomError):
            directory = resolve(run)
            if is_settled(directory):
                self._folder = _folder(directory)
                self._key = json.dumps([str(directory), width, with_runtime])

    def read(self) -> list[Line] | None:
        """Its lines, if somebody has kept them."""
        content = self._folder.read(self._key) if self._folder else None
        return None if content is None else [(label, line) for label, line in json.loads(content)]

    def write(self, lines: Sequence[Line]) -> None:
        """For who looks next."""
        if self._folder:
            self._folder.write(self._key, json.dumps(lines).encode())


def _folder(directory: Path) -> CacheFolder:
    """Worked out from the tables by this program, its catalog and findings, on this machine."""
    sign = fingerprint(directory, version())
    return CacheFolder(directory / "tables" / FOLDER, lambda: sign)
