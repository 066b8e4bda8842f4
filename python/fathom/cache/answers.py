"""Cached answers: the latest in memory; those of a whole run that took long also in files beside its tables, for
whoever opens the run next."""

import contextlib
import hashlib
import json
import os
import platform
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import fathom
from fathom.analysis.findings import own_folder
from fathom.cache.fingerprint import fingerprint
from fathom.run import paths
from fathom.run.files import write_new

#: Characters of answers that are held in memory for each run.
HELD = 64 << 20
#: Seconds from which on an answer is worth a file, and how many files there may be.
SLOW, FILES = 0.1, 200
# A request that waits for another of the same question looks so often whether it may give up, in seconds.
LOOKS = 0.05
FOLDER = "answers"


def _signs(files: list[Path]) -> list[str]:
    stats = [(path, path.stat()) for path in files if path.is_file()]
    return [f"{path}:{stat.st_size}:{stat.st_mtime_ns}" for path, stat in stats]


def version() -> str:
    """What answers: this program, its findings and the user's, this machine, by which the cost of tracing is said."""
    folders = (Path(fathom.__file__).parent, paths.catalog() / "findings", own_folder())
    files = [file for folder in folders if folder for file in sorted(folder.rglob("*.*"))]
    sources = [file for file in files if file.suffix in (".py", ".sql")]
    words = [fathom.__version__, platform.node(), *_signs(sources)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def to_json(answer: Any) -> str:
    """An answer as JSON, in ASCII: names of files may hold what no encoding has."""
    return json.dumps(answer, allow_nan=False, separators=(",", ":"))


class KeyedLocks:
    """A lock for each key."""

    def __init__(self) -> None:
        """No key is locked."""
        self._lock = threading.Lock()
        self._locks: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()

    @contextlib.contextmanager
    def of(self, key: Hashable, check: Callable[[], None]) -> Iterator[None]:
        """Waits for one's turn as long as `check` raises nothing."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=LOOKS):
            check()
        try:
            yield
        finally:
            lock.release()


class CachedAnswers:
    """Answers of one run, by question."""

    def __init__(self, run: Path, reader: str | None = None, slow: float | None = None) -> None:
        """Files lie in a folder beside its tables; where that cannot be written to, there are none. `reader`: what
        `version` says, if it was asked; `slow`: seconds from which on an answer is worth a file (SLOW)."""
        self._folder, self._slow = run / "tables" / FOLDER, SLOW if slow is None else slow
        self.fingerprint = fingerprint(run, reader or version())
        self._held: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        self._key_locks = KeyedLocks()

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
        with self._key_locks.of(key, check):
            text = self._lookup(key, is_whole)
            return self._compute(key, is_whole, make) if text is None else text

    def peek(self, key: str) -> Any:
        """The answer of the whole run that is there already, or None."""
        text = self._lookup(key, True)
        return None if text is None else json.loads(text)

    def _lookup(self, key: str, is_whole: bool) -> str | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        text = self._read(key) if is_whole else None
        if text:
            self._hold(key, text)
        return text

    def _compute(self, key: str, is_whole: bool, make: Callable[[], Any]) -> str | bytes:
        began = time.monotonic()
        answer = make()
        if isinstance(answer, bytes):  # a tile: quick to read, and the page keeps it
            return answer
        took, text = time.monotonic() - began, to_json(answer)
        self._hold(key, text)
        if is_whole and took > self._slow:
            self._write(key, text)
        return text

    def _hold(self, key: str, text: str) -> None:
        with self._lock:
            self._held[key] = text
            while sum(map(len, self._held.values())) > HELD:
                self._held.popitem(last=False)

    def _file(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, key: str) -> str | None:
        """Nothing where it is not there, damaged, or of other tables."""
        with contextlib.suppress(OSError, ValueError):
            first, text = self._file(key).read_text(encoding="utf-8").split("\n", 1)
            if json.loads(first) == [self.fingerprint, key]:
                return text
        return None

    def _write(self, key: str, text: str) -> None:
        """Made aside and moved over, so that a reader finds a whole file or none."""
        file = self._file(key)
        partial = file.with_name(f"{file.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            if file.exists() or sum(1 for _ in self._folder.iterdir()) < FILES:
                write_new(partial, f"{json.dumps([self.fingerprint, key])}\n{text}")
                partial.replace(file)
