"""Many runs as tables of one row per run, so that each fits a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fathom.analysis import ranklist
from fathom.analysis.difference import ONE_EACH
from fathom.analysis.when import When
from fathom.pages import answers, coverage_footer
from fathom.pages.bars import COLOURS, Picture, Series
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
#: Parts of a bar, one after the other; told by shape, not by colour.
INKS = {"open": "▒", "read": "░", "write": "█", "close": "▓", "other": "·"}
BAR = 40  # letters of a bar
SHARES = (
    Column("run", "run", text, right=False),
    *(Column(name, f"{name}_share", numbers.percent) for name in INKS),
    Column("of the I/O time", "shares", text, right=False),
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
COMMANDS = (
    Column("run", "run", text, right=False),
    Column("program", "program", text, right=False),
    Column("nodes", "on nodes", text),
    RANKS,
    Column("command", "command", text, right=False),
)
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


def _on_nodes(row: Row) -> str:
    """`84 x 24`: so many ranks on each."""
    least, most = row["least_on_node"], row["most_on_node"]
    if not most:
        return numbers.UNKNOWN
    return (
        f"{row['nodes']:,} x {most:,}"
        if least == most
        else f"{row['nodes']:,} x {least:,}-{most:,}"
    )


def _bar(row: Row) -> str:
    """Its letters are shared out by the largest remainders, so that they are BAR together."""
    shares = {name: (row[f"{name}_share"] or 0.0) * BAR for name in INKS}
    letters = {name: int(share) for name, share in shares.items()}
    spare = round(sum(shares.values())) - sum(letters.values())
    for name in sorted(shares, key=lambda name: letters[name] - shares[name])[:spare]:
        letters[name] += 1
    return "".join(ink * letters[name] for name, ink in INKS.items())


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
        "on nodes": _on_nodes(row),
        "shares": f"|{_bar(row):{BAR}}|",
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


def _groups(rows: Sequence[Row], names: Sequence[str], of: str) -> None:
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
    _table(f"File groups ({of})", columns, lines)


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


def operation_picture(rows: Sequence[Row], rank: int | None, most: int) -> Picture:
    """A bar of each run: per cent of its I/O time by operation (Chang et al., Fig. 3); of the first `most` runs."""
    of = f" (first {most} of {len(rows):,} runs)" if len(rows) > most else ""
    rows = rows[:most]
    colours = dict(zip(INKS, COLOURS, strict=False))
    series = [
        Series(name, colour, [100 * (row[f"{name}_share"] or 0.0) for row in rows])
        for name, colour in colours.items()
    ]
    labels = [printable(row["run"]) for row in rows]
    who = f"rank {rank}" if rank is not None else f"all {numbers.plural(_unit(rows))}"
    return Picture(
        f"I/O time by operation, {who}{of}",
        "run",
        "% of the I/O time",
        labels,
        series,
        True,
        False,
        [],
        [],
    )


def show_landscape(
    rows: Sequence[Row],
    layer: str | None,
    baseline: str | None,
    groups: Sequence[str],
    rank: int | None,
) -> None:
    """All tables, to stdout."""
    printed = [_words(row) for row in rows]
    calls = f"calls of layer {layer}" if layer else "the program's own I/O calls"
    unit = _unit(rows)
    units = numbers.plural(unit)
    mean = f"mean over the {units}" if rank is None else f"rank {rank}"
    heading(f"Runs (nodes x {units} on each)")
    _rows(_of_units(COMMANDS, unit), printed)
    time = _of_units(TIME, unit)
    whose = "mean and most" if rank is None else f"rank {rank}; most: of all"
    _table(f"Time of {calls} (a {unit}'s union; {whose})", time, printed)
    share = f"share and function of all {units}" if rank is None else "share and function"
    _table(f"Operations ({mean}; {share})", OPERATIONS, printed)
    inks = "  ".join(f"{ink} {name}" for name, ink in INKS.items())
    _table(f"Share of the I/O time ({mean}; {inks})", SHARES, printed)
    _table("Who (90 % of it), and by what (<: called by a layer above)", WHO, printed)
    _table(f"When (of the run, from left to right: {units} in I/O)", WHEN, printed)
    if baseline:
        of = f"means over the {units}" if rank is None else mean
        _table(f"Speed-up over {printable(baseline)} ({of})", SPEEDUP, printed)
        note(f"  {ONE_EACH}")
    if groups:
        _groups(rows, groups, f"of the mean {unit}" if rank is None else f"of rank {rank}")
    notes = [f"  {row['run']}: {line}" for row in rows for line in row["notes"]]
    notes += [f"  {line}" for line in _left_out(rows)]
    if notes:
        heading("\nNotes")
        for line in notes:
            note(printable(line))
