"""The first screen of `fathom show`, kept beside a run's tables: who looks again loads neither DuckDB nor Arrow."""

import json
from collections.abc import Sequence
from os import PathLike

from fathom.cache.answers import version
from fathom.cache.files import CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.run.directory import is_settled, resolve_if_any

FOLDER = "screens"
Line = tuple[str, str]  # what stands out, and the rest


class Screen:
    """That of one run, as wide as it is to be. Of a run that still runs, or in one file, nothing is kept."""

    def __init__(self, run: str | PathLike[str], width: int, with_runtime: bool) -> None:
        """Of a run that need not be packed yet."""
        self._run, self._form = run, (width, with_runtime)

    def read(self) -> list[Line] | None:
        """Its lines, if somebody has kept them."""
        folder, key = self._place()
        content = folder.read(key) if folder else None
        return None if content is None else [(label, line) for label, line in json.loads(content)]

    def write(self, lines: Sequence[Line]) -> None:
        """For who looks next."""
        folder, key = self._place()
        if folder:
            folder.write(key, json.dumps(lines).encode())

    def _place(self) -> tuple[CacheFolder | None, str]:
        """Worked out from the tables by this program, its catalog and findings, on this machine."""
        directory = resolve_if_any(self._run)
        if not directory or not is_settled(directory):
            return None, ""
        sign = fingerprint(directory, version())
        key = json.dumps([str(directory), *self._form])
        return CacheFolder(directory / "tables" / FOLDER, lambda: sign), key
