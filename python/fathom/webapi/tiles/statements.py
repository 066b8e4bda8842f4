"""SQL of the pyramid, with its numbers put in."""

from fathom.analysis.pictured import OUTERMOST
from fathom.webapi.tiles.geometry import Level


def rows(source: str, which: str) -> str:
    """`rows_`: those of `calls` or `heat` for which a condition holds. After `with`."""
    return f"rows_ as not materialized (from tile_{source}({which}))"


def cells(level: Level, first: int, last: int) -> str:
    """Cells of `rows_` in bins [first, last)."""
    return f"tile_cells('rows_', {level.width}, {level.lanes}, {first}, {last})"


def count(level: Level, most: int, every: int) -> str:
    """About how many cells a level has, rather more than less, from every so many rows of it; of one with more than
    `most`, any number above it."""
    # Said of processes, so that of other calls nothing else is read.
    some = f"process in (select process from lanes() where lane // {level.lanes} % {every} = 0) and {OUTERMOST}"
    counted = f"tile_count('rows_', {level.width}, {level.lanes}, {most}, {every})"
    return f"with {rows('calls', some)} from {counted}"


def together(level: Level) -> str:
    """Processes whose calls a worker must have, so that the cells that it makes are whole."""
    return f"from tile_rows({level.lanes})"


def file(level: Level) -> str:
    """Rows of the table that keeps a level's cells: of tile (x, y)."""
    return (
        f"select {level.z}::utinyint as z, layer, (row // 64)::uinteger as y, (bin // 256)::uinteger as x,"
        " (row % 64 * 256 + bin % 256)::usmallint as cell, op, kind, calls::uinteger as calls, time, bytes, longest,"
        f" call::ubigint as call from level_{level.z}"
    )
