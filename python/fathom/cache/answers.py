"""Answers on one run: the latest in memory; those of the whole run that took long also in files beside its tables."""

import functools
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fathom
from fathom.cache.files import SLOW, CacheFolder
from fathom.cache.fingerprint import fingerprint
from fathom.cache.memory import Memory
from fathom.catalog.layers import catalog_path
from fathom.run import paths

#: Characters of answers that are held in memory for each run.
HELD = 64 << 20
FOLDER = "answers"
SOURCES = (".py", ".sql", ".toml")


def _signs(folder: Path) -> list[str]:
    """Size and time of each file that answers come from. By os.walk: rglob takes ten times as long."""
    signs = []
    for where, _, names in os.walk(folder):
        for path in (Path(where, name) for name in names if name.endswith(SOURCES)):
            if path.is_file():
                stat = path.stat()
                signs.append(f"{path}:{stat.st_size}:{stat.st_mtime_ns}")
    return sorted(signs)


@functools.cache
def _program() -> list[str]:
    """This process goes on with the files that it began with."""
    return [*_signs(Path(fathom.__file__).parent), *_signs(catalog_path())]


def program() -> str:
    """What answers: this program, its catalog, and the user's findings."""
    own = paths.own_findings()
    words = [fathom.__version__, *_program(), *(_signs(own) if own else [])]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def version() -> str:
    """The same and this machine, which has a cost of tracing."""
    return f"{program()} {platform.node()}"


def to_json(answer: Any) -> str:
    """An answer as JSON, in ASCII: names of files may hold what no encoding has."""
    return json.dumps(answer, allow_nan=False, separators=(",", ":"))


def _room(answer: str | bytes) -> float:
    """A tile takes none: it is quick to read, and the page holds it."""
    return len(answer) if isinstance(answer, str) else float("inf")


class CachedAnswers:
    """Answers of one run, by question."""

    def __init__(self, run: Path, reader: str | None = None, slow: float | None = None) -> None:
        """Files lie in a folder beside its tables; where that cannot be written to, there are none. `reader`: what
        `version` says, if it was asked; `slow`: seconds from which on an answer is worth a file (SLOW)."""
        self.fingerprint = fingerprint(run, reader or version())
        self._slow = SLOW if slow is None else slow
        self._files = CacheFolder(run / "tables" / FOLDER, lambda: self.fingerprint)
        self._memory = Memory(HELD, _room)

    def answer(
        self, key: str, is_whole: bool, make: Callable[[], Any], check: Callable[[], None]
    ) -> Any:
        """What `make` gives, made by the first who asks; others of the same question wait for it as long as `check`
        raises nothing. `is_whole`: of the whole run, so worth a file."""
        text = self.answer_json(key, is_whole, make, check)
        return text if isinstance(text, bytes) else json.loads(text)

    def answer_json(
        self, key: str, is_whole: bool, make: Callable[[], Any], check: Callable[[], None]
    ) -> str | bytes:
        """The same as JSON, or the bytes that it is."""
        compute = self._read_or_compute if is_whole else self._compute
        answer: str | bytes = self._memory.get(key, lambda: compute(key, make), check)
        return answer

    def peek(self, key: str) -> Any:
        """The answer of the whole run that is in a file already, or None."""
        content = self._files.read(key)
        return None if content is None else json.loads(content)

    def _compute(self, _: str, make: Callable[[], Any]) -> str | bytes:
        answer = make()
        return answer if isinstance(answer, bytes) else to_json(answer)

    def _read_or_compute(self, key: str, make: Callable[[], Any]) -> str | bytes:
        content = self._files.read(key)
        if content is not None:
            return content.decode()
        began = time.monotonic()
        answer = self._compute(key, make)
        if isinstance(answer, str) and time.monotonic() - began > self._slow:
            self._files.write(key, answer.encode())
        return answer
