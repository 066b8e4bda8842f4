"""The calls of a brush in memory: all screens ask of the same part of a run, and each asks several times."""

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count

import duckdb

from fathom import database
from fathom.screens.kept import Turns

#: Brushes that are held, the latest: the one that is looked at, and the one before. Calls of each at most.
HELD, MOST = 2, 1_000_000
_numbers = count()


class Brush:
    """A table of calls; it goes when nobody holds this any more."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, calls: str) -> None:
        """`calls`: gives them, a part of a statement. Errors: FathomError."""
        self.table = f"brush_{next(_numbers)}"
        database.keep(connection, self.table, f"select * {calls}", shared=True)
        weakref.finalize(self, _drop, connection.cursor(), self.table).atexit = False


def _drop(cursor: duckdb.DuckDBPyConnection, table: str) -> None:
    with contextlib.suppress(duckdb.Error):  # the run was closed
        cursor.execute(f'drop table "{table}"')


class Brushes:
    """The latest of a run."""

    def __init__(self) -> None:
        """None yet."""
        self._held: OrderedDict[Hashable, Brush | None] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = Turns()

    def of(
        self, key: Hashable, make: Callable[[], Brush | None], check: Callable[[], None]
    ) -> Brush | None:
        """What `make` gives, None of too many calls: made by the first who asks, as long as `check` raises nothing."""
        with self._turns.of(key, check):
            with self._lock:
                if key in self._held:
                    self._held.move_to_end(key)
                    return self._held[key]
            made = make()
            with self._lock:
                self._held[key] = made
                while len(self._held) > HELD:
                    self._held.popitem(last=False)
            return made
