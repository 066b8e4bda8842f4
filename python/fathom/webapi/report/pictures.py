"""What a report's first screen draws of a run: how busy each process was when, and at what. SVG that no script draws.

Colours are classes that the page brings along (web/vite.config.ts). Words stand outside of what is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import groupby

from fathom.analysis import pictured
from fathom.analysis.pictured import Cells, Strips
from fathom.catalog.layers import layers
from fathom.errors import NotRecorded
from fathom.text import numbers
from fathom.webapi.answers.session import View

#: Steps of the heat map's colours, as in web/vite.config.ts.
STEPS = 8
#: Parts of the time that the strips tell apart, and processes that they show.
BINS, LANES = 240, 8
#: Pixels of a row at most, and of all rows where there are many.
ROW, ROWS = 16, 384
#: Units of a strip, from its foot to its top.
TALL = 16
NAMES, AXIS = 120, 36  # pixels beside the rows and beneath them
LETTER = 9  # pixels that a name needs
TICKS = 5

Row = tuple[str, str]  # name, and what is drawn in it


def pictures(view: View) -> str:
    """Both, or why there is none."""
    return "".join([*_figure(lambda: _heat(view)), *_figure(lambda: _strips(view))])


def _figure(draw: Callable[[], Iterator[str]]) -> Iterator[str]:
    try:
        yield f"<figure>{''.join(draw())}</figure>"
    except NotRecorded as error:
        yield f'<p class="quiet">No picture: {escape(error.what)}</p>'


def _heat(view: View) -> Iterator[str]:
    cells = pictured.cells(view, None)
    seconds = cells.width * cells.bins / 1e9
    title = f"When each process was in {cells.what}"
    rows = [
        (lane.first + (" …" if lane.processes > 1 else ""), drawn)
        for lane, drawn in zip(cells.lanes, _heat_rows(cells), strict=True)
    ]
    many = max(lane.processes for lane in cells.lanes)
    each = f"{many} processes are a row" if many > 1 else "each process is a row"
    yield _caption(title, f"{each}; the colour is the share of its time")
    yield from _plot(title, rows, cells.bins, 1, (0.0, seconds))
    steps = "".join(_swatch(f"heat-{step}") for step in range(STEPS))
    yield f'<p class="legend">0 % <span>{steps}</span> 100 % of the time in calls</p>'


def _heat_rows(cells: Cells) -> Iterator[str]:
    """Of each row lines in the colours of its steps, and what it adds up to."""
    by_row: dict[int, list[tuple[int, int]]] = {}
    sums = dict.fromkeys(range(len(cells.lanes)), (0.0, 0.0, 0.0))
    for one in cells.table.to_pylist():
        row = one["row"]
        share = one["time"] / cells.width / cells.lanes[row].processes
        if share > 0:
            step = min(STEPS - 1, math.floor(share * STEPS))
            by_row.setdefault(row, []).append((one["bin"], step))
        time, calls, size = sums[row]
        sums[row] = (time + one["time"], calls + one["calls"], size + one["bytes"])
    for row, lane in enumerate(cells.lanes):
        time, calls, size = sums[row]
        spent = f"{numbers.seconds(time / 1e9)} in {numbers.count(round(calls))} calls"
        says = f"{lane.first}: {spent}, {numbers.size(size)}"
        runs = _runs(by_row.get(row, []))
        lines = "".join(
            f'<path class="stroke heat-{step}" d="{"".join(_line(runs, step, row))}"/>'
            for step in sorted({step for _, _, step in runs})
        )
        yield f"<g><title>{escape(says)}</title>{lines}</g>"


def _line(runs: list[tuple[int, int, int]], step: int, row: int) -> Iterator[str]:
    return (f"M{first} {row}.5h{count}" for first, count, one in runs if one == step)


def _runs(bins: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring bins of one value: the first, how many, the value."""
    beside = groupby(enumerate(bins), key=lambda pair: (pair[1][0] - pair[0], pair[1][1]))
    grouped = [[one for _, one in members] for _, members in beside]
    return [(some[0][0], len(some), some[0][1]) for some in grouped]


def _strips(view: View) -> Iterator[str]:
    strips = pictured.strips(view, "true", None, None, BINS)
    shown = dict(list(strips.lanes.items())[:LANES])
    busy = _busy(strips)
    there = [layer for layer in layers() if any(name == layer.name for _, name in busy)]
    rows: list[Row] = []
    for lane, name in shown.items():
        for layer in (layer.name for layer in there if (lane, layer.name) in busy):
            spent = sum(busy[lane, layer].values()) * _width(strips) / 1e9
            says = f"{name}, {layer}: {numbers.seconds(spent)} in calls"
            path = _bars(busy[lane, layer], len(rows) * TALL)
            drawn = (
                f'<path class="fill layer-{layer}" d="{path}"><title>{escape(says)}</title></path>'
            )
            rows.append((f"{name} {layer}", drawn))
    title = "What each process was at"
    first, last = (at / 1e9 for at in strips.span)
    of = (
        f", {len(shown)} of {strips.processes:,} processes" if strips.processes > len(shown) else ""
    )
    yield _caption(title, f"each layer of a process is a row, as high as it was busy{of}")
    yield from _plot(title, rows, BINS, TALL, (first, last))
    marks = "".join(
        f"<li>{_swatch(f'layer-{layer.name}')} {escape(layer.title)}</li>" for layer in there
    )
    yield f'<ul class="legend">{marks}</ul>'


def _busy(strips: Strips) -> dict[tuple[int, str], dict[int, float]]:
    """Share of each bin that each lane and layer was in calls."""
    first, width = strips.span[0], _width(strips)
    busy: dict[tuple[int, str], dict[int, float]] = {}
    for row in strips.table.to_pylist():
        at = round((row["start"] - first) / width)
        busy.setdefault((row["lane"], row["layer"]), {})[at] = row["busy"]
    return busy


def _width(strips: Strips) -> float:
    first, last = strips.span
    return (last - first) / BINS


def _bars(busy: Mapping[int, float], top: int) -> str:
    """A bar for each part of the time, never too low to be seen."""
    high = [(at, max(1, round(share * (TALL - 2)))) for at, share in sorted(busy.items())]
    return "".join(
        f"M{at} {top + TALL - 1}v-{tall}h{count}v{tall}z" for at, count, tall in _runs(high)
    )


def _caption(title: str, says: str) -> str:
    return f'<figcaption><strong>{escape(title)}</strong> <span class="quiet">{escape(says)}</span></figcaption>'


def _swatch(name: str) -> str:
    square = f'<rect class="fill {name}" width="1" height="1"/>'
    return f'<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">{square}</svg>'


def _plot(
    title: str, rows: list[Row], bins: int, tall: int, span: tuple[float, float]
) -> Iterator[str]:
    """Rows under each other with their names, and the seconds that they go over; a row is `tall` units."""
    row = min(ROW, max(1, ROWS // len(rows)))
    height = row * len(rows)
    every = -(-LETTER // row)
    names = "".join(
        f'<text x="{NAMES - 8}" y="{at * row + max(row, LETTER) / 2:g}">{escape(name)}</text>'
        for at, (name, _) in enumerate(rows)
        if at % every == 0
    )
    label = escape(f"{title}: {len(rows)} rows, time across from {_ends(span)}", quote=True)
    yield f'<div class="plot"><svg class="names" width="{NAMES}" height="{height}" aria-hidden="true">{names}</svg>'
    yield f'<svg width="100%" height="{height + AXIS}" role="img" aria-label="{label}">'
    units = f'viewBox="0 0 {bins} {len(rows) * tall}" preserveAspectRatio="none"'
    yield f'<svg class="rows" width="100%" height="{height}" {units}>'
    yield from (drawn for _, drawn in rows)
    yield f'</svg><line class="edge" x2="100%" y1="{height}" y2="{height}"/>'
    yield from _axis(span, height)
    yield "</svg></div>"


def _ends(span: tuple[float, float]) -> str:
    return " to ".join(map(numbers.seconds, span))


def _axis(span: tuple[float, float], top: int) -> Iterator[str]:
    """Round times with their places, all in one unit, and what they are."""
    first, last = span
    scale, unit = next((pair for pair in numbers.TIMES if last >= pair[0]), numbers.TIMES[-1])
    step = _step((last - first) / scale / TICKS)
    for at in range(math.ceil(first / scale / step), math.floor(last / scale / step) + 1):
        place = f"{(at * step * scale - first) / (last - first) * 100:.2f}%"
        anchor = "start" if at * step * scale <= first else "middle"
        yield f'<line class="edge" x1="{place}" x2="{place}" y1="{top}" y2="{top + 4}"/>'
        if float(place[:-1]) < 96:
            yield f'<text x="{place}" y="{top + 14}" text-anchor="{anchor}">{at * step:g} {unit}</text>'
    yield f'<text x="50%" y="{top + 30}" text-anchor="middle">time since the start of the run</text>'


def _step(least: float) -> float:
    """1, 2 or 5 of a power of ten, not less than this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= least)
