"""The runs that are open, and how an answer asks one of them."""

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import duckdb
import pyarrow as pa

from fathom.cache.answers import CachedAnswers, version
from fathom.cache.memory import Memory
from fathom.errors import FathomError, UsageError
from fathom.run import database, macros
from fathom.run.background import in_background
from fathom.run.confined import Process, Question, TooLarge
from fathom.run.store import Run, open_run
from fathom.tune.search.ledger import SUFFIX, open_ledger
from fathom.webapi.answers import by_time, known, table
from fathom.webapi.answers.table import Table

if TYPE_CHECKING:
    from fathom.pages.part import Page

T = TypeVar("T")

#: What the statements of all requests of a run may use together; beyond it they spill to disk.
MEMORY = "4 GiB"
#: MiB that a statement of the user's, in a process of its own, may have of memory, and its answer.
OF_STATEMENT, OF_ANSWER = 4096, 64
#: Parts of its calls that are held at a time.
HELD = 4


class NoSuchRun(FathomError):
    """No open run has this name."""


class OverLimit(FathomError):
    """The answer would need more rows, seconds or memory than a request may have."""


class Gone(FathomError):
    """Nobody waits for the answer any more."""


class Interruptible(Protocol):
    """What works on a request: a connection to the database, a process."""

    def interrupt(self) -> None:
        """Ends what it is at."""


class Stop:
    """Ends what is worked out for one request, from another thread."""

    def __init__(self) -> None:
        """Goes on."""
        self.why: FathomError | None = None
        self._running: list[Interruptible] = []

    def watch(self, cursor: Interruptible) -> None:
        """One more that is to be interrupted."""
        self._running.append(cursor)

    def leave(self, cursor: Interruptible) -> None:
        """One that has done its work for this request."""
        self._running.remove(cursor)

    def now(self, why: FathomError) -> None:
        """Interrupts the statement that runs; the next raises the first `why` that was given."""
        self.why = self.why or why
        for cursor in list(self._running):
            with contextlib.suppress(duckdb.ConnectionException):  # closed: it has done its work
                cursor.interrupt()

    def check(self) -> None:
        """Raises why, if it is to end."""
        if self.why:
            raise self.why


class OpenRun:
    """An open run, and what was worked out of it once for all requests."""

    def __init__(self, name: str, run: Run, at: int) -> None:
        """`name`: as requests call it; `at`: ns since 1970 when it was read."""
        self.name, self.run, self.at = name, run, at
        self.answers = self._new_cache()
        self.calls = sum(filter(None, run.sql("select events from runs")["events"].to_pylist()))
        # The copy has the program's calls only.
        self.by_time = not run.with_runtime and by_time.attach(run.connection, run.path / "tables")
        self.now: dict[str, Any] | None = None  # while it runs (screens/now.py)
        self.page: Page | None = None  # what `fathom show` says, of one who asks for all of it
        self._facts, self._latest = Memory(), Memory(HELD)

    def _new_cache(self) -> CachedAnswers:
        """Other answers where the run-time's rows are in."""
        return CachedAnswers(self.run.path, f"{version()} all" if self.run.with_runtime else None)

    def with_all(self) -> "OpenRun":
        """The same run with what is not the program's but a run-time's."""
        run = self.run
        return self.once(
            "all", lambda: OpenRun(self.name, Run(run.path, MEMORY, with_runtime=True), self.at)
        )

    def forget(self) -> None:
        """Of what it has answered: another run that it was compared with is another now."""
        self.answers = self._new_cache()
        self._facts.forget("all")

    def sort(self, stop: Stop) -> None:
        """Makes the copy of its calls that answers on a part of the time are read from."""
        tables = self.run.path / "tables"
        interrupted = Gone("interrupted")
        if not self.by_time and in_background(
            lambda: by_time.make(tables, stop.watch), lambda: stop.now(interrupted)
        ):
            self.by_time = by_time.attach(self.run.connection.cursor(), tables)

    def once(
        self, key: Hashable, make: Callable[[], T], check: Callable[[], None] | None = None
    ) -> T:
        """What `make` gives, made by the first who asks; others of the same key wait for it as long as `check` raises
        nothing."""
        value: T = self._facts.get(key, make, check)
        return value

    def latest(
        self, key: Hashable, make: Callable[[], pa.Table], check: Callable[[], None]
    ) -> pa.Table:
        """What `make` gives, made by the first who asks and held until others were asked for; who waits for it looks
        by `check` whether it may give up."""
        return self._latest.get(key, make, check)


class View:
    """An open run for one request, on a cursor of its own."""

    def __init__(self, opened: OpenRun, runs: "Runs", stop: Stop | None = None) -> None:
        """`runs`: the others that are open."""
        self.opened, self.runs, self.run = opened, runs, opened.run
        self.cursor = macros.cursor(opened.run.connection)
        self.stop = stop or Stop()
        self.stop.watch(self.cursor)

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of one reading statement. Errors: UsageError, OverLimit, or why it was stopped."""
        return self._watched(text, lambda: database.ask(self.cursor, text, values or None))

    def confined(self, statement: str, rows: int) -> tuple[pa.Table, int]:
        """The first rows of a statement that a user wrote, and how many there are. Errors: as `sql`."""
        self.stop.check()
        of = (str(self.run.path), statement, self.run.with_runtime)
        process = Process(Question(*of, rows, OF_STATEMENT, OF_ANSWER))
        self.stop.watch(process)
        try:
            return process.rows()
        except FathomError as error:
            self.stop.check()
            if isinstance(error, TooLarge):
                raise OverLimit(str(error)) from error
            raise
        finally:
            self.stop.leave(process)

    def rows(self, text: str) -> list[dict[str, Any]]:
        """Rows of one statement, each by its columns' names."""
        return self._watched(text, lambda: database.rows(self.cursor, text))

    def _know(self, text: str) -> None:
        """Works out once what a statement and others stand on."""
        for name in known.wanted(text):
            self.once(("known", name), partial(known.make, self.cursor, name))

    def _watched(self, text: str, ask: Callable[[], T]) -> T:
        self.stop.check()
        try:
            self._know(text)
            return ask()
        except UsageError as error:
            self.stop.check()
            if isinstance(error.__cause__, duckdb.OutOfMemoryException):
                raise OverLimit(f"it needs more memory than {MEMORY}; ask for less") from error
            raise

    def keep(self, name: str, text: str) -> None:
        """Makes a table of a statement's rows, for the statements of this request that come after it."""
        self.stop.check()
        self._know(text)
        database.keep(self.cursor, name, text)

    def look_at(self, calls: str) -> None:
        """From here on `calls` has no others than these."""
        columns = f"* exclude (stop){database.COMPUTED['calls']}"
        self.cursor.execute(f"create temp view calls as select {columns} from {calls}")

    def looking_at(self, calls: pa.Table) -> "View":
        """The same run, where `calls` are these rows."""
        view = View(self.opened, self.runs, self.stop)
        view.cursor.register("calls", calls)
        return view

    def value(self, text: str) -> Any:
        """The one value of a statement; none where it has no row."""
        rows = self.rows(text)
        return next(iter(rows[0].values())) if rows else None

    def table(
        self,
        text: str,
        units: Mapping[str, str] | None = None,
        limit: int | None = None,
        note: str | None = None,
    ) -> Table:
        """The answer that a statement gives; of more rows than `limit` the first, and how many there were."""
        rows = self.sql(text)
        if limit is None:
            return table.of(rows, text, units, note=note)
        limited = f"{text}\nlimit {limit}"
        return table.of(rows.slice(0, limit), limited, units, rows.num_rows, note)

    def remembered(self, key: str, make: Callable[[], Table]) -> Any:
        """A part of several answers as JSON has it, held as these are."""
        return self.opened.answers.answer(key, False, lambda: make().as_json(), self.stop.check)

    def once(
        self, key: Hashable, make: Callable[[], T], check: Callable[[], None] | None = None
    ) -> T:
        """Made by the first request that asks, and kept with the run."""
        return self.opened.once(key, make, check)


def _free(name: str, taken: Collection[str]) -> str:
    """This name, or with a number behind it where it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain((name,), numbered) if one not in taken)


class Runs:
    """All open runs by name."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        """Opens them; two of one name are told apart by a number. Errors: `fathom.errors.RunError`."""
        self.all: dict[str, OpenRun] = {}
        self.program: Any = (
            None  # whose hints the form opens (screens/generate.py), if one was given
        )
        self.searches: dict[str, Path] = {}  # of fathom tune, by name
        self.lakes: dict[str, Any] = {}  # of all jobs, by name (centre.py)
        self.followers: dict[str, Any] = {}  # of runs that still run (screens/now.py)
        self.generation = 0  # counts how often a run was opened anew
        self._renewing = threading.Lock()
        for path in paths:
            self.open(path)

    def open(self, path: str | Path) -> str:
        """One more; the name it goes by."""
        return self.add(open_run(path, MEMORY)).name

    def add(self, run: Run) -> OpenRun:
        """One more."""
        name = _free(run.name, self.all)
        self.all[name] = OpenRun(name, run, time.time_ns())
        return self.all[name]

    def add_search(self, folder: Path) -> None:
        """A search of `fathom tune`. Errors: it is none."""
        open_ledger(folder)
        self.searches[_free(folder.name.removesuffix(SUFFIX), self.searches)] = folder

    def renew(self, name: str, ready: Callable[[View], None], is_over: bool) -> None:
        """The same run as it is on disk now; others see it once it is `ready`. Nothing is new where it still runs and
        no more has come into its files."""
        with self._renewing:
            self._renew(name, ready, is_over)

    def have_changed(self, before: int) -> bool:
        """Was one opened anew since there were `before` generations? Waits for one that is being opened."""
        with self._renewing:
            return self.generation != before

    def _renew(self, name: str, ready: Callable[[View], None], is_over: bool) -> None:
        before, at = self.all[name], time.time_ns()
        fresh = OpenRun(name, open_run(before.run.path, MEMORY), at)
        if not is_over and fresh.answers.fingerprint == before.answers.fingerprint:
            before.at = at
            return
        ready(View(fresh, self))
        fresh.now = None if is_over else before.now
        self.all[name] = fresh
        for opened in self.all.values():  # what was compared with it is another answer now
            opened.forget()
        self.generation += 1

    def view(self, name: str, stop: Stop | None = None, with_runtime: bool = False) -> View:
        """The run of this name, for one request. `with_runtime`: also what is a run-time's, not the program's."""
        if name not in self.all:
            raise NoSuchRun(
                f"run={name[:80]!r}: no such run is open; there are {', '.join(self.all)}"
            )
        opened = self.all[name]
        return View(opened.with_all() if with_runtime else opened, self, stop)
