"""Two runs side by side."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from fathom.analysis.difference import ONE_EACH
from fathom.run import database
from fathom.run.arrow import compute as pc
from fathom.text import numbers
from fathom.text.tables import Column, heading, note, printable, show, text

Write = Callable[[Any], str]


def both(a: Any, b: Any, write: Write) -> str:
    """`2.9 → 1.2 s`; once when they are the same."""
    first, second = ("none" if value is None else write(value) for value in (a, b))
    if first == second:
        return first
    number, _, unit = first.partition(" ")
    return f"{number if unit == second.partition(' ')[2] else first} → {second}"


def change(seconds: float | None) -> str:
    """With its sign."""
    if not seconds:
        return numbers.UNKNOWN if seconds is None else "0 s"
    return f"{'+' if seconds > 0 else '-'}{numbers.seconds(abs(seconds))}"


def factor(a: float | None, b: float | None) -> str:
    """B as a multiple of A."""
    return numbers.times(b / a) if a and b is not None else numbers.UNKNOWN


QUANTITIES: dict[str, Write] = {
    "calls": numbers.count,
    "opens": numbers.count,
    "errors": numbers.count,
    "bytes": numbers.size,
    "bytes_moved": numbers.size,
    "bytes_read": numbers.size,
    "bytes_written": numbers.size,
    "seconds": numbers.seconds,
    "inclusive_seconds": numbers.seconds,
    "exclusive_seconds": numbers.seconds,
}
# What each table shows: name in the table, heading; the quantities with both values.
SHOWN = {
    "layer": ("layer", ("inclusive_seconds", "exclusive_seconds", "calls", "bytes")),
    "function": ("op", ("seconds", "calls", "bytes")),
    "line": ("line", ("seconds", "calls", "bytes")),
    "rank": ("rank", ("seconds", "calls", "bytes_moved")),
    "file": ("path", ("seconds", "calls", "bytes_read", "bytes_written")),
}
# Of these columns, which goes first where there is no room.
SPARE = {
    "bytes_read": 4,
    "bytes": 4,
    "bytes_moved": 4,
    "bytes_written": 3,
    "calls": 2,
    "exclusive_seconds": 1,
}
HEADINGS = {
    "inclusive_seconds": "inclusive",
    "exclusive_seconds": "exclusive",
    "seconds": "time",
    "bytes_moved": "bytes moved",
    "bytes_read": "read",
    "bytes_written": "written",
}
WHOLE = (
    Column("", "quantity", text, right=False),
    Column("A", "seconds_a", numbers.seconds),
    Column("B", "seconds_b", numbers.seconds),
    Column("change", "difference", change),
    Column("B / A", "factor", text),
)
CONFIGURATION = (
    Column("what", "what", text, right=False),
    Column("setting", "setting", text, right=False),
    Column("A", "a", text, right=False),
    Column("B", "b", text, right=False),
    Column("where", "where", text, right=False),
)


def _name(by: str, row: dict[str, Any]) -> str:
    if by == "function":
        called = "" if row["caller"] == "program" else f" < {row['caller']}"
        return f"{row['op']} ({row['layer']}{called})"
    if by == "line":
        return f"{row['line']} {row['op']}"
    return text(row[SHOWN[by][0]])


def _changed(table: pa.Table) -> pa.Table:
    """Its rows in which anything differs."""
    apart = pa.chunked_array([pa.nulls(table.num_rows, pa.bool_()).fill_null(False)])
    for name in table.column_names:
        if name.endswith("_a"):
            a, b = table[name], table[f"{name[:-1]}b"]
            only_one = pc.xor(pc.is_null(a), pc.is_null(b))
            apart = pc.or_(apart, pc.coalesce(pc.not_equal(a, b), only_one))
    return table.filter(apart)


def show_table(by: str, table: pa.Table, top: int | None, unit: str = "") -> None:
    """Rows in which anything differs, the largest difference of time first. `unit`: what they are of, if not `by`."""
    differing = _changed(table)
    quantities = SHOWN[by][1]
    if differing.num_rows:
        cells = [
            {
                "change": change(row["difference"]),
                **{q: both(row[f"{q}_a"], row[f"{q}_b"], QUANTITIES[q]) for q in quantities},
                "name": _name(by, row),
            }
            for row in differing.slice(0, top).to_pylist()
        ]
        columns = [
            Column("change", "change", text),
            *(Column(HEADINGS.get(q, q), q, text, spare=SPARE.get(q, 0)) for q in quantities),
            Column(unit or by, "name", text, right=False, is_key=True, is_path=by == "file"),
        ]
        show(columns, database.table_of(cells))
    if same := table.num_rows - differing.num_rows:
        print(f"  without any difference: {same:,}")


def _where(row: dict[str, Any]) -> str:
    if row["places"] is None:
        return ""
    if row["places"] == 1:
        return str(row["example"])
    kind = {"file": "files", "mpi_file": "files"}.get(row["of"], row["of"].replace("_", " ") + "s")
    return f"{row['places']:,} {kind}, as {row['example']}"


def show_configuration(table: pa.Table) -> None:
    """What was set otherwise."""
    rows = [
        {key: "-" if key in "ab" and row[key] is None else row[key] for key in row}
        | {"where": _where(row)}
        for row in table.to_pylist()
    ]
    if rows:
        show(CONFIGURATION, pa.Table.from_pylist(rows))
    else:
        print("  no difference")


def show_difference(
    names: tuple[str, str],
    warnings: list[str],
    whole: pa.Table,
    tables: dict[str, pa.Table],
    top: int,
    unit: str,
) -> None:
    """All tables, to stdout. `unit`: a rank, or where there are none a process."""
    heading(f"A: {printable(names[0])}, B: {printable(names[1])}; change is B's less A's")
    note(f"  {ONE_EACH}")
    if warnings:
        heading("\nNot comparable, or only with care")
        for warning in warnings:
            note(f"  {printable(warning)}")
    heading("\nThe whole (unions: what overlaps counts once)")
    rows = [
        row | {"factor": factor(row["seconds_a"], row["seconds_b"])} for row in whole.to_pylist()
    ]
    show(WHOLE, pa.Table.from_pylist(rows, whole.schema.append(pa.field("factor", pa.string()))))
    heading("\nConfiguration that differs")
    show_configuration(tables["configuration"])
    for by in SHOWN:
        if by == "line" and not tables[by].num_rows:
            continue  # none is known
        changed = _changed(tables[by]).num_rows
        cut = f", {top} of {changed:,} that differ" if changed > top else ""
        of, how = by, "summed over calls"
        if by == "rank":
            of, how = unit, f"union of a {unit}'s calls"
        heading(f"\n{numbers.plural(of).capitalize()} ({how}){cut}")
        show_table(by, tables[by], top, of)
