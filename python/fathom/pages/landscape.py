"""Many runs as tables of one row per run, so that each fits a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fathom.analysis import ranklist
from fathom.analysis.difference import ONE_EACH
from fathom.analysis.when import When
from fathom.pages import answers, coverage_footer
from fathom.run import database
from fathom.run.manifest import command_line
from fathom.text import numbers, spark
from fathom.text.tables import Column, heading, note, printable, show, text

Row = Mapping[str, Any]
SPARK = 25  # bars: four parts of the run each
LONG = 40  # letters of a list of ranks


def _cells(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns of words that are written already; the first is the run."""
    return tuple(Column(name, name, text, right=False) for name in ("run", *names))


RANKS = Column("ranks", "ranks_seen", numbers.count, spare=1)
TIME = (
    Column("run", "run", text, right=False),
    RANKS,
    Column("run time", "run_seconds", numbers.seconds),
    Column("I/O", "io_seconds", numbers.seconds),
    Column("of run", "io_share", numbers.percent, spare=3),
    Column("most", "io_most_seconds", numbers.seconds, spare=2),
    Column("rank", "io_most_rank", numbers.count, spare=2),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
)
OPERATIONS = (
    Column("run", "run", text, right=False),
    *(
        Column(name, f"{name}_seconds", numbers.seconds)
        for name in ("open", "read", "write", "close", "other")
    ),
    Column("most time in", "dominant", text, right=False),
)
SPEEDUP = (
    Column("run", "run", text, right=False),
    Column("total run", "speedup_run", numbers.times),
    Column("total I/O", "speedup_io", numbers.times),
    *(
        Column(name, f"speedup_{name}", numbers.times)
        for name in ("open", "read", "write", "close")
    ),
)
RANKING = (
    Column("run", "run", text, right=False),
    Column("program", "program", text, right=False),
    RANKS,
    Column("run time", "run_seconds", numbers.seconds),
    Column("I/O", "io_seconds", numbers.seconds),
    Column("of run", "io_share", numbers.percent),
    Column("read", "bytes_read", numbers.size),
    Column("written", "bytes_written", numbers.size),
    Column("opens", "opens", numbers.count),
    Column("opens/s", "opens/s", text),
)
LOST = (
    Column("lost", "lost_seconds", numbers.seconds),
    Column("most by", "lost_by", text, right=False),
    Column("cause", "cause", text, right=False),
    Column("takes", "cause_seconds", numbers.seconds),
)
COMMANDS = _cells(("command",))
WHO = _cells(("time by", "bytes by", "layers", "MPI-IO functions"))
WHEN = (
    Column("run", "run", text, right=False),
    Column("the run", "the run", text),  # a picture: whole or not at all
    Column("I/O occurs", "I/O occurs", text, right=False),
)


def dominance(row: Row, prefix: str) -> str:
    """`all 4`, `rank 0`, `16 of 1,600: 0-300:20`."""
    how, of = row[f"{prefix}_by"], row["ranks_seen"]
    if how in ("none", "unknown"):
        return numbers.UNKNOWN
    if how == "all":
        return f"all {of:,}"
    who = ranklist.shortened(row[f"{prefix}_by_ranks"], LONG)
    if how == "one":
        return f"{'rank' if row['ranks'] else 'process'} {who}"
    return f"{row[f'{prefix}_by_count']:,} of {of:,}: {who}"


def _dominant(row: Row) -> str:
    if row["operation"] is None:
        return "no I/O"
    share = numbers.percent(row["operation_share"])
    return f"{row['operation']}, {share}: {row['operation_function']}"


def _moments(row: Row) -> When:
    return When(
        source=row["when_from"],
        pattern=row["when"],
        first=row["when_first_seconds"],
        last=row["when_last_seconds"],
        bursts=row["when_bursts"],
        period=row["when_period_seconds"],
        parts=row["when_parts"],
    )


def _words(row: Row) -> dict[str, Any]:
    functions = [name.removeprefix("MPI_File_") for name in row["mpiio_functions"]]
    return {
        **row,
        "command": command_line(row),
        "dominant": _dominant(row),
        "time by": dominance(row, "time"),
        "bytes by": dominance(row, "bytes"),
        "layers": " ".join(row["layers"]),
        "MPI-IO functions": " ".join(functions),
        "the run": f"|{spark.line(row['when_parts'], SPARK)}|" if row["when_parts"] else "",
        "I/O occurs": answers.when(_moments(row), row["run_seconds"]),
    }


def _unit(rows: Sequence[Row]) -> str:
    """`rank`; `process` where a run has none."""
    return "rank" if all(row["ranks"] for row in rows) else "process"


def _of_units(columns: Sequence[Column], unit: str) -> list[Column]:
    """The same columns with the unit's name above those of ranks."""
    headings = {"rank": unit, "ranks": numbers.plural(unit)}
    return [
        replace(column, heading=headings.get(column.heading, column.heading)) for column in columns
    ]


def _table(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    heading(f"\n{title}")
    _rows(columns, rows)


def _rows(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    names = dict.fromkeys(column.name for column in columns)
    show(columns, database.table_of([{name: row[name] for name in names} for row in rows]))


def _group_cell(group: Row | None, name: str) -> str:
    if group is None or not group[f"{name}_seconds"]:
        return numbers.UNKNOWN
    faster = group.get(f"speedup_{name}")
    time = numbers.seconds(group[f"{name}_seconds"])
    return f"{time} {numbers.times(faster)}" if faster else time


def _groups(rows: Sequence[Row], names: Sequence[str]) -> None:
    lines = []
    for name in names:
        for row in rows:
            group = next(
                (candidate for candidate in row["groups"] if candidate["group"] == name), None
            )
            lines.append(
                {
                    "files of": name,
                    "run": row["run"],
                    "files": numbers.count(group["files"] if group else 0),
                    **{key: _group_cell(group, key) for key in ("io", "read", "write")},
                }
            )
    columns = [Column("I/O" if name == "io" else name, name, text, right=name not in ("files of", "run"))
               for name in lines[0]]  # fmt: skip
    _table(f"File groups (of the mean {_unit(rows)})", columns, lines)


def _left_out(rows: Sequence[Row]) -> list[str]:
    """Of all of them together."""
    calls, files, seconds = (
        sum(row[f"left_out_{name}"] for row in rows) for name in ("calls", "files", "seconds")
    )
    return coverage_footer.left_out(calls, files, seconds)


def _opens(row: Row) -> str:
    """Of counters it is an estimate."""
    opens = numbers.count(round(row["peak_opens_per_second"]))
    return opens if row["peak_opens_from"] == "calls" else f"~{opens}"


def show_ranking(rows: Sequence[Row], of: int, by: str) -> None:
    """Many runs in one table; the order is the caller's."""
    words = [{**row, "opens/s": _opens(row)} for row in rows]
    columns = _of_units(RANKING + (LOST if by == "lost" else ()), _unit(rows))
    heading(f"{len(rows):,} of {numbers.things(of, 'run')}, by {by}")
    _rows(columns, words)
    for line in _left_out(rows):
        note(f"  {line}")


def show_landscape(
    rows: Sequence[Row], layer: str | None, baseline: str | None, groups: Sequence[str]
) -> None:
    """All tables, to stdout."""
    printed = [_words(row) for row in rows]
    calls = f"calls of layer {layer}" if layer else "the program's own I/O calls"
    unit = _unit(rows)
    units = numbers.plural(unit)
    heading("Runs")
    show(
        COMMANDS,
        pa.Table.from_pylist([{"run": row["run"], "command": row["command"]} for row in printed]),
    )
    time = _of_units(TIME, unit)
    _table(f"Time of {calls} (a {unit}'s union; mean and most)", time, printed)
    operations = f"Operations (mean over the {units}; share and function of all {units})"
    _table(operations, OPERATIONS, printed)
    _table("Who (90 % of it), and by what (<: called by a layer above)", WHO, printed)
    _table(f"When (of the run, from left to right: {units} in I/O)", WHEN, printed)
    if baseline:
        _table(f"Speed-up over {printable(baseline)} (means over the {units})", SPEEDUP, printed)
        note(f"  {ONE_EACH}")
    if groups:
        _groups(rows, groups)
    notes = [f"  {row['run']}: {line}" for row in rows for line in row["notes"]]
    notes += [f"  {line}" for line in _left_out(rows)]
    if notes:
        heading("\nNotes")
        for line in notes:
            note(printable(line))
