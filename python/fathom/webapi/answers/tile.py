"""`tile` and `zooms`: the picture of ranks and time, in pieces that do not grow with the run."""

import json
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fathom.analysis import conditions
from fathom.analysis.part import HEAT_OF_ALL, is_all_own
from fathom.analysis.pictured import OUTERMOST
from fathom.analysis.selection import Selection
from fathom.errors import DamagedRun, UsageError
from fathom.run.database import quoted
from fathom.webapi import tiles
from fathom.webapi.answers import answer, number, text
from fathom.webapi.answers.captured import missing
from fathom.webapi.answers.session import View
from fathom.webapi.answers.span import duration, lane_count
from fathom.webapi.answers.time_index import narrowed
from fathom.webapi.tiles import statements
from fathom.webapi.tiles.geometry import BINS, ROWS, Geometry, Zoom

#: Longest calls of each layer that are marked at every zoom.
OUTLIERS = 200
#: Longest calls that a tile names.
MARKED = 64
MAGIC = b"FTL1"
FILTERS = ("kinds", "ops")  # that a tile's cells know


def has_calls(view: View) -> bool:
    """Were calls recorded in full? Else pictures are made of table `heat`. Fathom's own rows are none."""
    text = "select exists(from calls where layer <> 'fathom')"
    return view.once("has calls", lambda: bool(view.value(text)))


def pyramid(view: View) -> tiles.Tiles:
    """The run's tiles, made by the first who asks."""
    run, tables = view.run, view.run.path / "tables"
    try:
        return view.once(
            "tiles", lambda: tiles.Tiles(tables, view.stop.watch, run.workers, run.with_runtime)
        )
    except DamagedRun:
        view.stop.check()  # nobody waits for them: they were interrupted
        raise


def prepare(view: View) -> None:
    """What takes long and every picture stands on, before the first asks."""
    if has_calls(view):
        pyramid(view)


def geometry(view: View) -> Geometry:
    """How the run is cut."""
    return view.once("geometry", lambda: Geometry(duration(view), lane_count(view)))


def _zooms(view: View) -> tuple[list[Zoom], int]:
    """All zooms, and the finest that lies ready. Heat has few bins: its zooms end where its lanes are apart."""
    cut = geometry(view)
    if not has_calls(view):
        return cut.zooms(cut.first_whole), cut.first_whole
    return cut.zooms(cut.deepest), pyramid(view).deepest


def outliers(view: View) -> list[dict[str, Any]]:
    """The longest calls of each layer, the longest first."""

    def look() -> list[dict[str, Any]]:
        limit = OUTLIERS
        known = view.rows(f"from least_of_layers({limit})")
        cases = " ".join(f"when {quoted(row['layer'])} then {row['least']}" for row in known)
        least = f"case layer {cases} else 0 end" if known else "0"
        rows = view.rows(f"from outliers({limit}, {least})")
        return [{**row, "call": str(row["call"])} for row in rows]

    calls: list[dict[str, Any]] = view.opened.answers.answer(
        "outliers", True, look, view.stop.check
    )
    return calls


def _source(view: View) -> str:
    """What the picture is made of."""
    if has_calls(view):
        return "calls"
    return "heat" if view.value("select exists(from heat)") else "none"


def _note(view: View) -> str | None:
    """What to know of the picture, or why there is none."""
    source = _source(view)
    if source == "none":
        return missing(view, Selection())
    return None if source == "calls" or is_all_own(view) else f"counts by time: {HEAT_OF_ALL}"


@answer("zooms")
def zooms(view: View, _: Selection) -> dict[str, Any]:
    """How the run is cut, and the calls that stay marked; whatever is selected."""
    every, ready = _zooms(view)
    coarsest = every[0]
    zooms_ = [
        {"z": zoom.z, "bins": zoom.bins, "rows": zoom.rows, "lanes_per_row": zoom.lanes, "ready": zoom.z <= ready}
        for zoom in every
    ]  # fmt: skip
    return {
        "width": coarsest.width,
        "zooms": zooms_,
        "source": _source(view),
        "note": _note(view),
        "outliers": outliers(view),
        "sql": f"{_cells(view, Selection(), coarsest, 0, coarsest.bins)} order by all",
    }


@answer("tile", required=("layer", "z", "x", "y"), layer=text, z=number(), x=number(), y=number())
def tile(view: View, selection: Selection, *, layer: str, z: int, x: int, y: int) -> bytes:
    """256 bins by 64 rows of one layer. Times and lanes that are selected are places in it and leave it as it is."""
    every, ready = _zooms(view)
    if z >= len(every):
        raise UsageError(
            f"tile: z={z}: this run has zooms 0 to {len(every) - 1}; strips has the calls"
        )
    zoom = every[z]
    if x * BINS >= zoom.bins or y * ROWS >= zoom.rows:
        raise UsageError(f"tile: x={x}, y={y}: zoom {z} has {zoom.bins} bins and {zoom.rows} rows")
    if selection.layers is not None and layer not in selection.layers:
        return encode(_none())
    is_stored = has_calls(view) and z <= ready and not _are_nested(view, selection)
    if is_stored and selection.files is None and selection.servers is None:
        return encode(_filtered(pyramid(view).tile(layer, z, x, y), selection))
    return encode(_computed(view, replace(selection, layers=(layer,)), zoom, x, y))


def _are_nested(view: View, selection: Selection) -> bool:
    """Are functions selected that calls of their own layer make? Only of those nested calls are drawn."""
    if not selection.ops:
        return False
    nested = view.once(
        "nested functions",
        lambda: view.rows("select distinct layer, op from calls where topmost = false"),
    )
    return any((row["layer"], row["op"]) in selection.ops for row in nested)


def _none() -> pa.Table:
    return pa.table(
        {name: [] for name in ("cell", "op", "kind", "calls", "time", "bytes", "longest", "call")}
    )


def _filtered(cells: pa.Table, selection: Selection) -> pa.Table:
    if selection.kinds is not None:
        cells = cells.filter(pc.is_in(cells["kind"], pa.array(selection.kinds, pa.string())))
    if selection.ops is not None:
        layerless = pa.array([op for _, op in selection.ops], pa.string())
        cells = cells.filter(pc.is_in(cells["op"], layerless))
    return cells


def _computed(view: View, selection: Selection, zoom: Zoom, x: int, y: int) -> pa.Table:
    """The same cells, of the rows of calls or heat that the tile shows."""
    first, last = x * BINS, (x + 1) * BINS
    lanes = (y * ROWS * zoom.lanes, (y + 1) * ROWS * zoom.lanes - 1, 1)
    shown = replace(selection, t=(first * zoom.width, last * zoom.width), lanes=(lanes,))
    return narrowed(view, shown).sql(
        f"{_cells(view, shown, zoom, first, last)}"
        f" select row % {ROWS} * {BINS} + bin % {BINS} as cell, op, kind, calls, time, bytes, longest, call"
        " order by cell, op"
    )


def _cells(view: View, selection: Selection, zoom: Zoom, first: int, last: int) -> str:
    """A statement of the cells of what is selected, in bins [first, last); what to select and an order may follow."""
    source = "calls" if has_calls(view) else "heat"
    which = getattr(conditions, source)(selection)
    if source == "calls" and not _are_nested(view, selection):
        which = f"({which}) and {OUTERMOST}"
    return f"with {statements.rows(source, which)} from {statements.cells(zoom, first, last)}"


def encode(cells: pa.Table) -> bytes:
    """As docs/view-api.md has it."""
    names = pa.table([cells["op"], cells["kind"]], ["op", "kind"])
    ops = sorted(
        (row["op"], row["kind"])
        for row in names.group_by(names.column_names).aggregate([]).to_pylist()
    )
    op = np.zeros(cells.num_rows, "<u2")
    for at, (name, kind) in enumerate(ops):
        op[pc.and_(pc.equal(cells["op"], name), pc.equal(cells["kind"], kind)).to_numpy()] = at
    cell = cells["cell"].to_numpy().astype("<u2")
    columns = [cell, op, cells["calls"].to_numpy().astype("<u4")]
    columns += [cells[name].to_numpy().astype("<f4") for name in ("time", "bytes", "longest")]
    labels = json.dumps(ops, ensure_ascii=False).encode()
    head = MAGIC + struct.pack("<II", cells.num_rows, len(labels))
    return (
        head + b"".join(column.tobytes() for column in columns) + labels + _marks(cells, cell, op)
    )


def _marks(cells: pa.Table, cell: Any, op: Any) -> bytes:
    longest = cells["longest"].to_numpy().astype("<f8")
    order = np.argsort(-longest, kind="stable")[:MARKED]
    calls = cells["call"].take(order).to_pylist()
    return b"".join(
        struct.pack("<HHQd", cell[at], op[at], call, longest[at])
        for at, call in zip(order, calls, strict=True)
        if call is not None
    )
