"""The part of a run that is exported."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import duckdb
import pyarrow as pa

from fathom.analysis import conditions
from fathom.analysis.selection import Ranges, Selection
from fathom.errors import DamagedRun, RunError, UsageError, unknown
from fathom.run import macros
from fathom.run.database import of_path, reading
from fathom.run.limitations import reads_and_writes
from fathom.run.store import Run

#: Most with files of their own: a minute or two, and a quarter of a million files.
THREADS = 131_072
MOST = 12  # choices that a message names
ROWS = 65_536  # of a batch


@dataclass(frozen=True)
class Part:
    """What calls must be like; None: anything."""

    time: tuple[float, float] | None = None  # seconds of the run that they last into
    ranks: Ranges | None = None
    layers: tuple[str, ...] | None = None
    file: str | None = None  # a glob over paths; of a name alone in any directory

    @property
    def ns(self) -> tuple[int, int] | None:
        """The time in ns of the run."""
        if self.time is None:
            return None
        first, last = (int(min(second, 9e9) * 1e9) for second in self.time)
        return first, last

    def conditions(self) -> Iterator[tuple[str, str]]:
        """Option, and its condition on a row of `calls`."""
        if self.ns is not None:
            yield "--time", conditions.calls(Selection(t=self.ns))
        if self.ranks is not None:
            yield "--ranks", conditions.within("rank", self.ranks)
        if self.layers is not None:
            yield "--layers", conditions.calls(Selection(layers=self.layers))
        if self.file is not None:
            yield "--files", f"file in (select file from files where {of_path(self.file)})"


#: What an option could have named, as text, of rows of `calls`.
THERE = {
    "--time": "select round(min(start) / 1e9, 6) || '-' || round(max(start + duration) / 1e9, 6) || ' s' as name"
    " from calls",
    "--ranks": "select coalesce(min(rank) || '-' || max(rank), 'none') as name from calls",
    "--layers": "select distinct layer as name from calls order by name",
    # Those with the most bytes first: thousands are only looked at by libraries.
    "--files": "select parse_filename(path) as name from files join calls using (file) group by all"
    " order by sum(greatest(bytes, 0)) desc nulls last, name",
}


class Selected:
    """Calls of a run that fit a part, and the run itself."""

    def __init__(self, run: Run, part: Part, table: str = "calls") -> None:
        """`table`: which one is wanted, of formats that hold one. Errors: RunError where no call was recorded in
        full; UsageError where none fits, with what there is."""
        self.run, self.part, self.table = run, part, table
        if table not in run.tables:
            raise UsageError(unknown("export: no table", table, run.tables))
        if table == "calls" or any(part.conditions()):
            self._check()

    @cached_property
    def where(self) -> str:
        """The condition on rows of `calls`."""
        return " and ".join(f"({each})" for _, each in self.part.conditions()) or "true"

    @cached_property
    def around(self) -> str:
        """The same without what a call can fit and the call that holds it not: layers, files."""
        whole = Part(time=self.part.time, ranks=self.part.ranks)
        return " and ".join(f"({each})" for _, each in whole.conditions()) or "true"

    @cached_property
    def started(self) -> int:
        """When the run began, in ns since 1970."""
        return int(self.run.sql("select started from runs")["started"][0].as_py())

    @cached_property
    def shift(self) -> int:
        """ns that are added to all times: formats have none before 0, where servers may have begun."""
        first = self.run.sql("select min(start) as first from calls")["first"][0].as_py()
        return max(0, -int(first))

    @cached_property
    def calls(self) -> int:
        """How many they are."""
        return self._count(self.where)

    def check_threads(self, form: str) -> None:
        """Errors: UsageError where their threads are too many for a format that writes files for each."""
        found = self.run.sql(f"select count(distinct stream) as n from calls where {self.where}")
        threads = found["n"][0].as_py()
        if threads > THREADS:
            raise UsageError(
                f"export: --to {form} writes two files for each of {threads:,} threads, and takes no more than"
                f" {THREADS:,}: choose with --ranks, or --to perfetto, which writes one file of all"
            )

    def _count(self, where: str) -> int:
        return int(self.run.sql(f"select count(*) as n from calls where {where}")["n"][0].as_py())

    def _check(self) -> None:
        if not self._count("layer <> 'fathom'"):
            again = reads_and_writes(self.run.manifest, "record it with --level call")
            raise RunError(f"{self.run.name}: no call of this run was recorded in full: {again}")
        if self.calls:
            return
        for option, condition in self.part.conditions():
            if not self._count(condition):
                raise UsageError(f"export: no call fits {option}; there are {self._there(option)}")
        given = ", ".join(option for option, _ in self.part.conditions())
        raise UsageError(f"export: no call fits {given} together, though some fit each")

    def _there(self, option: str) -> str:
        names = [str(name) for name in self.run.sql(THERE[option])["name"].to_pylist() if name]
        more = f", and {len(names) - MOST:,} more" if len(names) > MOST else ""
        return (", ".join(names[:MOST]) or "none") + more

    def batches(
        self, statement: str, rows: int = ROWS, *, beside: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Rows of one reading statement as they come, so that they never lie in memory together. The run answers
        nothing else meanwhile, unless this is `beside` other questions; then it sees no tables that were kept."""
        connection = self.run.connection.cursor() if beside else self.run.connection
        try:
            reading(connection, statement)
            done = macros.execute(connection, statement)
            reader: pa.RecordBatchReader = done.to_arrow_reader(rows)
            yield from reader
        except (duckdb.Error, pa.ArrowException, UnicodeDecodeError) as error:
            raise DamagedRun(f"{self.run.path}: {str(error).strip().splitlines()[0]}") from error
