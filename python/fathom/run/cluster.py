"""Workers of a Dask cluster, who answer for the calls of some ranks each; what they say is put together here.

A statement that may be asked so has its partner beside it: NAME.sql, asked of each part, and NAME.combine.sql, asked of
all their rows, table `partials`. A part is what whole ranks did (of programs without MPI: processes), so what is
grouped by a rank, a process or one of its calls is whole in one part. Only `calls` is in parts: workers read all other
tables whole, from the file system that they share with us.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from fathom.errors import FathomError, RunError, UsageError, needed, printable
from fathom.files import listed
from fathom.run import database
from fathom.run.arrow import parquet as pq
from fathom.run.where import FORMS

if TYPE_CHECKING:
    import duckdb
    from distributed import Client

    from fathom.run.store import Run

T = TypeVar("T")

#: Most calls of a part, unless one rank has more; a worker's memory and how evenly they work follow from it.
CALLS = 8_000_000
#: Parts for each worker, where the run is large enough; each costs a second to plan and to begin.
EACH = 2
LEAST = 50_000
#: What a worker's database may use; the rest of 2 GiB is Python's, Arrow's and Dask's.
MEMORY = "1 GiB"
#: Runs that a worker has open.
RUNS = 4
#: Seconds in which a scheduler, or a worker where all have gone, must be there.
PATIENCE = 30.0
#: What is in one part, unless a question says otherwise: ranks, in the order in which their calls lie.
RANKS = (
    "select list(process order by process) as processes, sum(events) as events from processes"
    " group by coalesce(rank, -1 - process::bigint) order by min(process)"
)

#: What Dask raises where its scheduler does not answer any more.
GONE = ("CommClosedError", "FutureCancelledError", "FuturesCancelledError", "CancelledError")


@dataclass(frozen=True)
class Piece:
    """Some processes, by their number."""

    processes: tuple[int, ...]

    @property
    def condition(self) -> str:
        """Of rows of `calls`. The range lets the database leave out what cannot have them."""
        least, most = min(self.processes), max(self.processes)
        text = f"process between {least} and {most}"
        if most - least + 1 > len(self.processes):
            text += f" and process in ({', '.join(map(str, self.processes))})"
        return text

    def meets(self, held: range) -> bool:
        """May any of them be among these?"""
        return min(self.processes) < held.stop and held.start <= max(self.processes)


def _sign(tables: str) -> tuple[int, int]:
    """Tells a packing from the next one at the same place: workers may outlive both. Errors: RunError."""
    try:
        calls = Path(tables, "calls").stat()
    except OSError as error:
        host = socket.gethostname()
        raise RunError(
            f"{tables}: not seen on {host}; workers need a file system with the run"
        ) from error
    return calls.st_ino, calls.st_mtime_ns


@lru_cache(RUNS)
def _connection(tables: str, _: tuple[int, int]) -> duckdb.DuckDBPyConnection:
    """This worker's database of a packing of a run; its tasks take turns."""
    return database.connect(Path(tables), MEMORY, threads=1)


@lru_cache(RUNS)
def _files(tables: str, _: tuple[int, int]) -> list[tuple[Path, range]]:
    """Files of `calls`, and the processes that each may hold. Errors: RunError."""
    try:
        files = listed(Path(tables, "calls"), "*.parquet")
        return [(file, _held(pq.read_metadata(file))) for file in files]
    except database.UNREADABLE as error:
        raise RunError(f"{tables}: {error}; pack the run again") from error


def _held(footer: Any) -> range:
    at = footer.schema.names.index("process")
    groups = [footer.row_group(n).column(at).statistics for n in range(footer.num_row_groups)]
    if not all(group and group.has_min_max for group in groups):
        return range(2**32)
    least = min((group.min for group in groups), default=0)
    return range(least, max((group.max for group in groups), default=-1) + 1)


@contextmanager
def _looking_at(tables: str, piece: Piece) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same, where `calls` are those of some processes."""
    sign = _sign(tables)
    with _connection(tables, sign).cursor() as cursor:
        # A scan opens each file that it is given: of a thousand million calls hundreds, of which a part's are in few.
        present = _files(tables, sign)
        files = [file for file, held in present if piece.meets(held)]
        rows = database.of_program("calls", database.rows_of("calls", files or [present[0][0]]))
        cursor.execute(f"create temp view calls as from ({rows}) where {piece.condition}")
        yield cursor


def answer(tables: str, piece: Piece, text: str, values: dict[str, Any]) -> pa.Table:
    """What a worker does: rows of a statement on some processes' calls."""
    with _looking_at(tables, piece) as cursor:
        return database.ask(cursor, text, values or None)


def write(tables: str, piece: Piece, text: str, folder: str) -> str:
    """The same, of more rows than should travel: a Parquet file in a folder below `tables`. Nobody is told the name of
    one that its worker did not end."""
    file = Path(folder) / f"{uuid.uuid4()}.parquet"
    with _looking_at(tables, piece) as cursor:
        database.write(cursor, text, file)
    return str(file)


def counted(n: int, what: str) -> str:
    """Words of so many."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def peak_gib() -> float:
    """The most memory that this process had; what getrusage says begins with that of the process which started it."""
    match = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(match[1]) / 2**20 if match else 0.0


@dataclass
class Workers:
    """Those of one cluster, asked by one run."""

    client: Client
    parts: int = 0  # asked so far
    began: float = field(default_factory=time.monotonic)
    given_up: bool = False  # by another thread: nobody waits for them any more

    def ask(self, run: Run, text: str, values: dict[str, Any]) -> list[pa.Table]:
        """Rows of a statement on each part of a run. Errors: as `each`."""
        return self.each(run.path / "tables", run.sql(RANKS), answer, text, values)

    def each(
        self, tables: Path, units: pa.Table, do: Callable[..., T], *arguments: object
    ) -> list[T]:
        """What workers give for each part of a run: `answer` or `write`. A row of `units` is in one part: its processes
        and events. Errors: as `share`; what is wrong with the statement or the data as everywhere."""
        whole = str(tables.resolve())
        pieces = _pieces(units.to_pylist(), self.number)
        return self.share(do, [(whole, piece, *arguments) for piece in pieces])

    @property
    def number(self) -> int:
        """How many there are, but one at least."""
        return self._there() or 1

    def _there(self) -> int:
        # Not of the list beside it: that is empty where a look that the client takes by itself comes in between.
        return int(self.client.scheduler_info(n_workers=0).get("n_workers", 0))

    def share(self, do: Callable[..., T], parts: Sequence[tuple[object, ...]]) -> list[T]:
        """What a function gives, called with each of these. Errors: RunError where workers end again and again, or all
        or their scheduler have gone; the function's own."""
        self.parts += len(parts)
        futures: list[Any] = []
        try:
            futures += [self.client.submit(do, *part, pure=False) for part in parts]
            self._wait(futures)
            return list(self.client.gather(futures))
        except FathomError:
            raise
        except Exception as error:
            raise RunError(self._explained(error)) from error
        finally:
            if self._is_heard():
                self.client.cancel(futures)

    def _wait(self, futures: list[Any]) -> None:
        """Until all are done; while a worker that ended is started anew, others take its parts."""
        from distributed import wait

        seen = time.monotonic()
        while True:
            with suppress(TimeoutError):
                wait(futures, timeout=1)
                return
            if self.given_up:
                raise RunError("cluster: interrupted")
            if self._there():
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise RunError("cluster: all of its workers have gone; nothing was answered")

    def _is_heard(self) -> bool:
        """Does the scheduler hear us?"""
        return bool(self.client.status == "running")

    def _explained(self, error: Exception) -> str:
        kind = type(error).__name__
        if kind == "KilledWorker":
            return "cluster: workers that looked at the same part of the run ended, one after another: out of memory?"
        if kind in GONE or not self._is_heard():
            return "cluster: its scheduler has gone; nothing was answered"
        return f"cluster: {database.first_line(error) or kind}"

    def summary(self) -> str:
        """What it took."""
        try:
            peaks = self.client.run(peak_gib).values()
        except Exception as error:
            return self._explained(error)
        return (
            f"{counted(self.parts, 'part')} on {counted(len(peaks), 'worker')}, {time.monotonic() - self.began:.1f} s,"
            f" at most {max(peaks, default=0.0):.2f} GiB in one"
        )


def _pieces(units: list[dict[str, Any]], workers: int) -> list[Piece]:
    """Whole units, in their order."""
    total = sum(row["events"] for row in units)
    most = max(LEAST, min(CALLS, total // (EACH * workers)))
    pieces: list[Piece] = []
    some: list[int] = []
    events = 0
    for row in units:
        if some and events + row["events"] > most:
            pieces.append(Piece(tuple(some)))
            some, events = [], 0
        some += row["processes"]
        events += row["events"]
    return [*pieces, Piece(tuple(some))] if some else pieces


@contextmanager
def _ends_in_order() -> Iterator[None]:
    """As on Ctrl-C what was begun goes at SIGTERM too, which batch systems send before they kill."""

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def workers(where: str) -> Iterator[Workers]:
    """Workers of the cluster that a word names: FORMS. For the main thread.

    Errors: UsageError where the word is none of these, Dask is not installed, or no scheduler or worker is there.
    """
    local = re.fullmatch(r"local(?::([1-9]\d{0,3}))?", where)
    named = f"--cluster {printable(where)}"
    elsewhere = where.endswith(".json") or re.search(r"[^:]:\d+$", where)
    if not local and (where.startswith("local:") or not elsewhere):
        raise UsageError(f"{named}: it is {FORMS}")
    with needed("--cluster", "dask"):
        import distributed
    # What it says by itself is nobody's business: what counts comes as an error.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _ends_in_order(), ExitStack() as held:
        if local:
            number = int(local[1] or 0) or os.cpu_count() or 1
            yield Workers(held.enter_context(_local(number)))
        else:
            yield Workers(held.enter_context(_of_scheduler(distributed, where, named)))


@contextmanager
def _unheard() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C; we do, at the end."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would let it through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _own_environment() -> Iterator[None]:
    """Dask puts what its workers shall have (OMP_NUM_THREADS among it) into ours, and leaves it there."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _local(number: int) -> Iterator[Client]:
    """So many processes of this machine."""
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
        # After this its LocalCluster gives up a worker that is being started anew: 15 s are few on a busy machine.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with ExitStack() as held:
        held.enter_context(_own_environment())
        with _unheard():
            held.enter_context(dask.config.set(settings))
            cluster = LocalCluster(
                n_workers=number,
                threads_per_worker=1,
                memory_limit=None,
                dashboard_address="127.0.0.1:0",
            )
            held.enter_context(cluster)
            client = held.enter_context(Client(cluster))
        yield client


def _no_scheduler_file(file: Path) -> str:
    """Why it is none; empty: it is one."""
    try:
        content = json.loads(file.read_bytes())
    except OSError:
        return "no such scheduler file"
    except ValueError:
        content = None
    is_one = isinstance(content, dict) and isinstance(content.get("address"), str)
    return "" if is_one else "no scheduler file: it names no address; remove that of an earlier job"


@contextmanager
def _of_scheduler(distributed: Any, where: str, named: str) -> Iterator[Client]:
    """One that runs already: on a Slurm job's nodes, below mpiexec, or anywhere."""
    if where.endswith(".json"):
        end = time.monotonic() + PATIENCE
        while wrong := _no_scheduler_file(Path(where)):  # one that was just started makes it
            if time.monotonic() > end:
                raise UsageError(f"{named}: {wrong}")
            time.sleep(0.1)
        given = {"scheduler_file": where}
    else:
        given = {"address": where}
    try:
        client = distributed.Client(**given, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"{named}: no scheduler of Dask answers there") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise UsageError(f"{named}: its scheduler has no worker") from error
        yield client
