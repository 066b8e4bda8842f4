"""Pictures of a run for a notebook, as `fathom view` draws them: the heat map and the timeline. Colours that
colour-blind people tell apart; axes with units. Imports matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fathom.analysis.pictured import Cells, Strips
from fathom.catalog.layers import layers
from fathom.errors import NotRecorded, UsageError, unknown
from fathom.pages.drawn import Drawing
from fathom.text import numbers

#: What a cell of the heat map may say, and its unit.
VALUES = {"time": "% of the time in I/O calls", "bytes": "MB/s", "calls": "calls/s"}
#: As in the UI: the part of viridis that stands out from white, and how much less than the most has its first colour.
HEAT, DECADES = (0.45, 1.0), 1000
#: Labels of a vertical axis, at most.
LABELS = 16
INCHES = 9.0


def check(value: str) -> None:
    """Errors: `UsageError` of what no cell says."""
    if value not in VALUES:
        raise UsageError(unknown("heat: no value", value, VALUES))


def heat(name: str, cells: Cells, value: str) -> Figure:
    """Processes down, time across."""
    check(value)
    grid = _grid(cells, value)
    if np.isnan(grid).all():
        raise NotRecorded(f"{cells.what} have no {value}", "ask for calls")
    most = float(np.nanmax(grid))
    least = max(float(np.nanmin(grid)), most / DECADES)
    colours = ListedColormap(colormaps["viridis_r"](np.linspace(*HEAT, 256)))
    drawn = Drawing(figsize=(INCHES, 1.6 + 0.16 * max(8, len(cells.lanes))), layout="constrained")
    axes = drawn.add_subplot()
    unit, scale = _unit(cells.width * cells.bins / 1e9)
    picture = axes.imshow(
        grid,
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        norm=Normalize(0, max(100, most)) if value == "time" else LogNorm(least, max(most, least)),
        extent=(0, cells.width * cells.bins / 1e9 / scale, len(cells.lanes) - 0.5, -0.5),
    )
    drawn.colorbar(picture, label=VALUES[value])
    many = max(lane.processes for lane in cells.lanes)
    rows = [lane.first + (" …" if lane.processes > 1 else "") for lane in cells.lanes]
    each = -(-len(rows) // LABELS)
    axes.set_yticks(range(0, len(rows), each), rows[::each], fontsize=8)
    axes.set_ylabel(f"{many} processes a row" if many > 1 else "process")
    axes.set_xlabel(f"time since the start of the run ({unit})")
    axes.set_title(f"{name}: {cells.what}", fontsize=10, loc="left")
    return drawn


def _grid(cells: Cells, value: str) -> Any:
    """By row and bin; nan where nothing was done."""
    grid = np.full((len(cells.lanes), cells.bins), np.nan)
    of = np.asarray(cells.table[value], float)
    row, column = (np.asarray(cells.table[name], int) for name in ("row", "bin"))
    if value == "time":
        of = 100 * of / cells.width / np.asarray([lane.processes for lane in cells.lanes])[row]
    else:
        of = of / (cells.width / 1e9) / (1e6 if value == "bytes" else 1)
    some = of > 0
    grid[row[some], column[some]] = of[some]
    return grid


def _unit(seconds: float) -> tuple[str, float]:
    """Of an axis that goes so far, and its seconds."""
    scale, unit = next((pair for pair in numbers.TIMES if seconds >= pair[0]), numbers.TIMES[-1])
    return unit, scale


def timeline(name: str, strips: Strips) -> Figure:
    """Each process a group of rows, one for each layer: its calls, or how busy it was."""
    there = set(strips.table["layer"].unique().to_pylist())
    order = [layer for layer in layers() if layer.name in there]
    rows = len(strips.lanes) * len(order)
    drawn = Drawing(figsize=(INCHES, 1.4 + 0.2 * max(6, rows)), layout="constrained")
    axes = drawn.add_subplot()
    first, last = (at / 1e9 for at in strips.span)
    unit, scale = _unit(last - first)
    rank = {lane: at for at, lane in enumerate(strips.lanes)}
    for at, layer in enumerate(order):
        _paint(
            axes, strips, layer.name, layer.on_white, at / len(order), 1 / len(order), rank, scale
        )
    axes.set_xlim(first / scale, last / scale)
    axes.set_ylim(len(rank), 0)
    axes.set_yticks([at + 0.5 for at in rank.values()], strips.lanes.values(), fontsize=8)
    axes.set_ylabel("process")
    axes.set_xlabel(f"time since the start of the run ({unit})")
    of = f", {len(rank)} of {strips.processes:,} processes" if strips.processes > len(rank) else ""
    axes.set_title(f"{name}: calls by layer{of}", fontsize=10, loc="left")
    handles = [Patch(color=layer.on_white, label=layer.title) for layer in order]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
    for at in range(1, len(rank)):
        axes.axhline(at, color="#DDDDDD", linewidth=0.6, zorder=0)
    return drawn


def _paint(
    axes: Axes, strips: Strips, layer: str, colour: str, below: float, height: float,
    rank: dict[int, int], scale: float,
) -> None:  # fmt: skip
    """All strips of a layer; one that is busy in part is as low, and each has an edge, so that a short one is seen."""
    rows = strips.table.filter(np.asarray(strips.table["layer"]) == layer).to_pydict()
    shapes = []
    for lane, start, duration, busy in zip(
        rows["lane"], rows["start"], rows["duration"], rows["busy"], strict=True
    ):
        left, right = start / 1e9 / scale, (start + duration) / 1e9 / scale
        bottom = rank[lane] + below + 0.9 * height
        top = bottom - 0.8 * height * busy
        shapes.append([(left, bottom), (right, bottom), (right, top), (left, top)])
    axes.add_collection(
        PolyCollection(shapes, facecolors=colour, edgecolors=colour, linewidths=0.5)
    )
