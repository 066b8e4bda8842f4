"""SQL of the pyramid, with its numbers put in."""

from fathom.analysis.pictured import OUTERMOST
from fathom.webapi.tiles.geometry import Zoom


def rows(source: str, which: str) -> str:
    """`rows_`: those of `calls` or `heat` for which a condition holds. After `with`."""
    return f"rows_ as not materialized (from tile_{source}({which}))"


def cells(zoom: Zoom, first: int, last: int) -> str:
    """Cells of `rows_` in bins [first, last)."""
    return f"tile_cells('rows_', {zoom.width}, {zoom.lanes}, {first}, {last})"


def count(zoom: Zoom, most: int, every: int) -> str:
    """About how many cells a zoom has, rather more than less, from every so many rows of it; of one with more than
    `most`, any number above it."""
    # Said of processes, so that of other calls nothing else is read.
    some = f"process in (select process from lanes() where lane // {zoom.lanes} % {every} = 0) and {OUTERMOST}"
    counted = f"tile_count('rows_', {zoom.width}, {zoom.lanes}, {most}, {every})"
    return f"with {rows('calls', some)} from {counted}"


def together(zoom: Zoom) -> str:
    """Processes whose calls a worker must have, so that the cells that it makes are whole."""
    return f"from tile_rows({zoom.lanes})"


def file(zoom: Zoom) -> str:
    """Rows of the table that keeps a zoom's cells: of tile (x, y)."""
    return (
        f"select {zoom.z}::utinyint as z, layer, (row // 64)::uinteger as y, (bin // 256)::uinteger as x,"
        " (row % 64 * 256 + bin % 256)::usmallint as cell, op, kind, calls::uinteger as calls, time, bytes, longest,"
        f" call::ubigint as call from zoom_{zoom.z}"
    )
