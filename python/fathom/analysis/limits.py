"""Amounts of I/O that limits are on: of a run, or of a part of it, from all of its calls (analysis/sql/limits.sql).

All but `seconds` are the same each time that a program does the same from the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.analysis.landscape import are_files_known
from fathom.analysis.own import SECOND, own_values
from fathom.errors import NotRecorded
from fathom.run.database import of_path, quoted
from fathom.run.store import Run

#: Name -> its unit and what it is.
QUANTITIES: Mapping[str, tuple[str, str]] = {
    "opens": ("opens", "opens of files that succeeded"),
    "requests": ("requests", "reads and writes that reached the storage"),
    "syncs": ("syncs", "syncs and flushes that reached the storage"),
    "bytes_read": ("bytes", "read from the storage"),
    "bytes_written": ("bytes", "written to the storage"),
    "bytes_moved": ("bytes", "read from and written to the storage"),
    "collective": ("share", "of MPI-IO's reads and writes, those that all ranks make together"),
    "seconds": ("seconds", "in the program's own I/O calls, of the slowest process or chain"),
}
#: What a limit may be a multiple of.
FACTORS: Mapping[str, str] = {
    "needed": "bytes that the program itself asked for: read, of bytes_read; written, of bytes_written; else both",
    "files": "files of the part",
    "ranks": "ranks of the run",
    "processes": "processes of the run that made I/O calls of their own",
}
#: As sums over rows of limited_amounts() or limited_calls().
SUMS = {
    "opens": "opens",
    "requests": "requests",
    "syncs": "syncs",
    "bytes_read": "read",
    "bytes_written": "written",
    "bytes_moved": "read + written",
}
#: By which a line is to blame: of a share what keeps it low.
BLAME = SUMS | {"collective": "mpiio - collective", "seconds": "time / 1e9"}
#: Lines that are named, and what share of the amount each has at least.
MOST_LINES, LEAST_SHARE = 3, 0.05


@dataclass(frozen=True)
class Part:
    """What a limit is of: files like `files` (a glob on paths or names), calls in `region`; neither: the run."""

    files: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        """For people."""
        if self.region is None:
            return self.files or "run"
        return f"{self.files or 'all files'} in {self.region}"


@dataclass(frozen=True)
class Line:
    """A place in the program, and how much of an amount is from there."""

    source: str | None
    line: int | None
    function: str
    amount: float


class Amounts:
    """Of one run: each table is made once."""

    def __init__(self, run: Run) -> None:
        """Errors: NotRecorded of a run that does not know its files."""
        self.run = run
        if not are_files_known(run):
            raise NotRecorded(
                f"{run.name}: its files are not known, so no limit can be checked",
                "record it with --level file or call",
            )
        run.keep_macro("limited_amounts")
        self._has_lines = False

    def of(self, part: Part) -> dict[str, float | None]:
        """Each of QUANTITIES and FACTORS; None: there is none of it. Errors: NotRecorded of a region."""
        rows, which = self._rows(part)
        sums = ", ".join(f"coalesce(sum({sql}), 0) as {name}" for name, sql in SUMS.items())
        (row,) = self.run.sql(
            f"select {sums}, coalesce(sum(own_read), 0) as needed_read,"
            " coalesce(sum(own_written), 0) as needed_written, count(distinct file) as files,"
            " sum(collective) / nullif(sum(mpiio), 0) as collective"
            f" from {rows} where {which}"
        ).to_pylist()
        units = "select (select ranks from runs) as ranks, count(distinct process) as processes from own_counters()"
        (of_run,) = self.run.sql(units).to_pylist()
        needed = row["needed_read"] + row["needed_written"]
        amounts: dict[str, float | None] = row | of_run
        return amounts | {"needed": needed, "seconds": self._seconds(part)}

    def groups(self) -> list[str]:
        """Groups of files, those with the most bytes first."""
        rows = self.run.sql(
            "select file_group from limited_amounts() group by file_group order by sum(read + written) desc, file_group"
        )
        return list(rows["file_group"].to_pylist())

    def regions(self) -> list[str]:
        """Regions of the program with I/O in them; none where calls were only counted."""
        if not self._in_full():
            return []
        self._keep_lines()
        rows = self.run.sql(
            "select distinct unnest(regions) as region from limited_lines order by all"
        )
        return list(rows["region"].to_pylist())

    def lines(self, part: Part, quantity: str) -> list[Line]:
        """The lines that most of it is from; none where no call was recorded in full."""
        self._keep_lines()
        rows = self.run.sql(
            "select source, line, coalesce(any_value(function), '') as function,"
            f" sum({BLAME[quantity]})::double as amount"
            f" from limited_lines where {_condition(part)} group by source, line having amount > 0"
            " order by amount desc, source, line"
        ).to_pylist()
        least = LEAST_SHARE * sum(row["amount"] for row in rows)
        return [Line(**row) for row in rows[:MOST_LINES] if row["amount"] >= least]

    def _rows(self, part: Part) -> tuple[str, str]:
        if part.region is None:
            return "limited_amounts()", _condition(part)
        if not self._in_full():
            raise NotRecorded(f"region {part.region}: not all calls in it were recorded in full")
        self._keep_lines()
        return "limited_lines", _condition(part)

    def _seconds(self, part: Part) -> float:
        files = "join limited_files() as f using (file)"
        if part.region is None:
            rows = f"select process, path, time from own_counters() {files}"
        else:
            rows = f"select process, path, regions, duration as time from own_calls({self._given()}) {files}"
        longest = self.run.sql(
            "select max(time) as time from"
            f" (select sum(time) as time from ({rows}) join chains() using (process) where {_condition(part)}"
            " group by chain)"
        )
        return float(longest["time"][0].as_py() or 0) / SECOND

    def _in_full(self) -> bool:
        """Was each call of I/O recorded in full?"""
        counted = self.run.sql(
            "select count(*) as n from counters where recorded < calls and not is_no_io(layer) and kind <> 'comm'"
        )
        return not counted["n"][0].as_py()

    def _keep_lines(self) -> None:
        if not self._has_lines:
            self.run.keep("limited_lines", f"from limited_calls({self._given()})")
            self._has_lines = True

    def _given(self) -> str:
        """What statements on own calls must be told."""
        return ", ".join(str(value) for value in own_values(self.run).values())


def _condition(part: Part) -> str:
    """Of rows that have a path, and regions where the part is one's."""
    conditions = [of_path(part.files)] if part.files is not None else []
    if part.region is not None:
        conditions.append(f"list_contains(regions, {quoted(part.region)})")
    return " and ".join(conditions) or "true"
