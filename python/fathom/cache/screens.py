"""What the first screen of `fathom show` says, kept beside a run's tables: who looks again, at whatever width, loads
neither DuckDB nor Arrow."""

import json
from os import PathLike
from typing import Any

from fathom.cache.answers import program
from fathom.cache.files import CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.run.directory import is_settled, resolve_if_any

FOLDER = "screens"


class Screen:
    """That of one run. Of a run that still runs, or in one file, nothing is kept."""

    def __init__(self, run: str | PathLike[str], with_runtime: bool) -> None:
        """Of a run that need not be packed yet."""
        self._run, self._with_runtime = run, with_runtime

    def read(self) -> dict[str, Any] | None:
        """What it says, if somebody has kept that."""
        folder, key = self._place()
        content = folder.read(key) if folder else None
        return None if content is None else dict(json.loads(content))

    def write(self, content: dict[str, Any]) -> None:
        """For who looks next."""
        folder, key = self._place()
        if folder:
            folder.write(key, json.dumps(content).encode())

    def _place(self) -> tuple[CacheFolder | None, str]:
        """Worked out from the tables by this program, its catalog and findings; on which machine does not matter."""
        directory = resolve_if_any(self._run)
        if not directory or not is_settled(directory):
            return None, ""
        sign = fingerprint(directory, program())
        key = json.dumps([str(directory), self._with_runtime])
        return CacheFolder(directory / "tables" / FOLDER, lambda: sign), key
