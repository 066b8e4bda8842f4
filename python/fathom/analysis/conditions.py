"""A selection as a condition of SQL: values are written into it, so that it can be copied. The macros of analysis/sql
that show selected calls take it as an argument."""

from fathom.analysis import Source
from fathom.analysis.own import own_values
from fathom.analysis.selection import Ranges, Selection
from fathom.run.database import one_of, quoted


def within(column: str, ranges: Ranges) -> str:
    """The column is one of these numbers."""
    parts = []
    for first, last, step in ranges:
        part = f"{column} = {first}" if first == last else f"{column} between {first} and {last}"
        parts.append(part if step == 1 else f"({part} and ({column} - {first}) % {step} = 0)")
    return "(" + " or ".join(parts) + ")"


def _lasts_into(first: int, last: int) -> str:
    return f"(start < {last} and (start + duration > {first} or start >= {first}))"


def calls(selection: Selection, *without: str) -> str:
    """Of rows of `calls`: selected. `without`: parts of the selection that are left out."""
    given = {
        name: getattr(selection, name)
        for name in ("t", "lanes", "layers", "kinds", "ops", "files", "servers")
        if name not in without and getattr(selection, name) is not None
    }
    parts = [_CONDITIONS[name](value) for name, value in given.items()]
    return " and ".join(parts) or "true"


def heat(selection: Selection) -> str:
    """Of rows of `heat`, which knows layer, kind (`operation`), process and time only: selected."""
    times = f"start < {selection.t[1]} and stop > {selection.t[0]}" if selection.t else "true"
    kinds = one_of("operation", selection.kinds) if selection.kinds else "true"
    others = calls(selection, "t", "kinds", "ops", "files", "servers")
    return f"{times} and {kinds} and {others}"


def lanes(selection: Selection) -> str:
    """Of rows that have a lane: selected."""
    return within("lane", selection.lanes) if selection.lanes is not None else "true"


def _lanes(ranges: Ranges) -> str:
    return f"process in (select process from lanes() where {within('lane', ranges)})"


def _servers(names: tuple[str, ...]) -> str:
    named = one_of("server", names)
    return (
        f"(process in (select process from server_processes() where {named})"
        f" or file in (select file from server_files() where {named}))"
    )


def _ops(pairs: tuple[tuple[str, str], ...]) -> str:
    rows = ", ".join(f"({quoted(layer)}, {quoted(op)})" for layer, op in pairs)
    return f"(layer, op) in ({rows})"


def outermost(source: Source, selection: Selection) -> str:
    """Of rows of `calls`: no other I/O call holds it. Where layers, kinds or ops are chosen all of those count, since
    what is chosen may lie inside what is not."""
    if selection.layers or selection.kinds or selection.ops:
        return "true"
    if not own_values(source)["regions"]:
        return "depth = 0"
    return "is_outermost_call(depth, parent)"


_CONDITIONS = {
    "t": lambda times: _lasts_into(*times),
    "lanes": _lanes,
    "layers": lambda words: one_of("layer", words),
    "kinds": lambda words: one_of("kind", words),
    "ops": _ops,
    "files": lambda numbers: f"file in ({', '.join(map(str, numbers))})",
    "servers": _servers,
}
