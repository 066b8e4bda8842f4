"""Values in memory, each made once by whoever asks first."""

import contextlib
import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

# Somebody who waits for another of the same question looks so often whether he may give up, in seconds.
LOOKS = 0.05


class KeyedLocks:
    """A lock for each key."""

    def __init__(self) -> None:
        """No key is locked."""
        self._lock = threading.Lock()
        self._locks: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()

    @contextlib.contextmanager
    def of(self, key: Hashable, check: Callable[[], None] | None) -> Iterator[None]:
        """Waits for one's turn as long as `check` raises nothing."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=LOOKS if check else -1):
            if check:
                check()
        try:
            yield
        finally:
            lock.release()


class Memory:
    """Values by key: of those that were used last, as many as have room."""

    def __init__(self, room: float = math.inf, size: Callable[[Any], float] = lambda _: 1) -> None:
        """`size` says what a value takes of the room; one that has none is given and not held."""
        self._room, self._size = room, size
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._key_locks = KeyedLocks()

    def get(
        self, key: Hashable, make: Callable[[], Any], check: Callable[[], None] | None = None
    ) -> Any:
        """What `make` gives, made by the first who asks; others of the same key wait for it as long as `check` raises
        nothing."""
        with self._key_locks.of(key, check):
            with self._lock:
                if key in self._held:
                    self._held.move_to_end(key)
                    return self._held[key]
            value = make()
            self._hold(key, value)
            return value

    def forget(self, key: Hashable) -> None:
        """The next who asks has it made anew."""
        with self._lock:
            self._held.pop(key, None)

    def _hold(self, key: Hashable, value: Any) -> None:
        if self._size(value) > self._room:
            return
        with self._lock:
            self._held[key] = value
            while sum(map(self._size, self._held.values())) > self._room:
                self._held.popitem(last=False)
