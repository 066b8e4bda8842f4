"""Answers to queries, and landscapes, as pictures: bars in colours that colour-blind people tell apart.

matplotlib is imported when a picture is drawn, not before: other commands do not pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fathom.analysis.latency.ask import Answer
from fathom.analysis.latency.language import Query
from fathom.catalog.layers import layers
from fathom.errors import UsageError, needed
from fathom.pages.latency import longest
from fathom.text.tables import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More bars cannot be told apart on a page; an SVG is as wide as its bars need, and is scrolled.
MOST, ANY = 40, 1_000_000
#: Largest over smallest bar from which the axis is logarithmic.
WIDE = 30.0
#: Of an answer, what pictures are made of.
VIEWS = frozenset({"call", "process", "subcall", "detail"})
ENDINGS = (".png", ".svg", ".pdf")
# Okabe and Ito, 2008.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
OF_LAYERS = {layer.name: layer.on_white for layer in layers()}


@dataclass(frozen=True)
class Series:
    """One colour of the picture: a value per bar."""

    name: str
    colour: str
    values: list[float]


@dataclass(frozen=True)
class Picture:
    """What is drawn, before anything draws it."""

    title: str
    across: str  # what a bar is
    up: str
    labels: list[str]
    series: list[Series]
    stacked: bool  # parts on one another; else each from the ground, the smaller in front
    logarithmic: bool
    marks: list[str]  # above each bar; none: nothing
    below: list[str]  # a second line of the labels
    footnote: str = ""


def wide(values: Sequence[float]) -> bool:
    """Would small bars vanish on a linear axis?"""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) > WIDE * min(positive)


def _labels(rows: list[dict[str, Any]], who: str) -> tuple[list[str], str]:
    """What is written under each bar, and what that means."""
    if rows and "call" not in rows[0]:
        return [str(row[who]) for row in rows], who
    is_alone = len({row[who] for row in rows}) == 1
    subs = rows and "subcall" in rows[0] and "subcalls" not in rows[0]
    labels = [
        ("" if is_alone else f"{row[who]}:")
        + str(row["call"])
        + (f"-{row['subcall']}" if subs else "")
        for row in rows
    ]
    what = "call - sub-call" if subs else "call"
    return labels, f"{what} of {who} {rows[0][who]}" if is_alone else f"{who} : {what}"


def most_of(path: Path) -> int:
    """Bars that a picture of this form can have."""
    return ANY if path.suffix.lower() == ".svg" else MOST


def _cut(table: pa.Table, title: str, most: int) -> tuple[list[dict[str, Any]], str]:
    rows = longest(table, most).to_pylist()
    more = f" ({len(rows)} longest of {table.num_rows:,})" if len(rows) < table.num_rows else ""
    return rows, title + more


def _breakdown(query: Query, answer: Answer, most: int) -> Picture:
    exclusive = query.name.endswith("exclusive")
    few = answer.views["call"].num_rows <= most
    by_call = query.calls.ranges is not None or few or answer.views["process"].num_rows == 1
    rows, title = _cut(answer.views["call" if by_call else "process"], str(query), most)
    labels, across = _labels(rows, answer.who)
    series = [
        Series(name, OF_LAYERS.get(name, "#332288"), [row[f"{name}_seconds"] for row in rows])
        for name in answer.layers
    ]
    series = [series_ for series_ in series if any(series_.values)]
    return Picture(
        title, across, f"{'exclusive' if exclusive else 'inclusive'} seconds", labels, series,
        exclusive, not exclusive and wide([v for s in series for v in s.values]), [], [],
        "" if exclusive else "a colour ends at the layer's inclusive time: what is in front lies below it or beside it",
    )  # fmt: skip


def _by_server(rows: list[dict[str, Any]], value: str) -> list[Series]:
    """Each bar in the colour of its server."""
    return [
        Series(
            f"server {number}",
            COLOURS[n % len(COLOURS)],
            [row[value] or 0.0 if row["server"] == number else 0.0 for row in rows],
        )
        for n, number in enumerate(sorted({row["server"] for row in rows}))
    ]


def _operation(query: Query, answer: Answer, most: int) -> Picture:
    name = query.name.rpartition(" ")[2]
    view = {"list": "request", "avg": "call"}.get(name, "call")
    if name in ("max", "min") and answer.views["subcall"].num_rows <= most:
        view = "subcall"
    rows, title = _cut(answer.views[view], str(query), most)
    labels, across = _labels(rows, answer.who)
    if name == "avg":
        series = [Series("mean of a request", COLOURS[0], [row["mean_seconds"] for row in rows])]
    else:
        series = _by_server(rows, "seconds")
    marks = [str(row["server"]) for row in rows] if name in ("max", "min") else []
    subs = [f"{row['subcalls']} sub" for row in rows] if view == "call" else []
    notes = [
        *(["number at a bar: the server it was in"] if marks else []),
        *(["sub: sub-calls of the call"] if subs else []),
    ]
    up = {
        "list": "seconds",
        "avg": "mean seconds",
        "max": "longest, seconds",
        "min": "shortest, seconds",
    }[name]
    values = [value for series_ in series for value in series_.values]
    return Picture(
        title, across, up, labels, series, False, wide(values), marks, subs, "; ".join(notes)
    )


def _stacked(query: Query, answer: Answer, most: int) -> Picture:
    """Per call, one part per server."""
    value, up = {
        "throughput": ("server_mb_per_s", "MB/s of servers, added up"),
        "energy": ("joules", "joules, estimated"),
        "call": ("subcalls", "sub-calls"),
    }[query.name]
    rows, title = _cut(answer.views["call"], str(query), most)
    labels, across = _labels(rows, answer.who)
    place = {(row[answer.who], row["call"]): n for n, row in enumerate(rows)}
    of_servers: dict[int, list[float]] = {}
    for row in answer.views["detail"].to_pylist():
        at = place.get((row[answer.who], row["call"]))
        if at is not None:
            of_servers.setdefault(row["server"], [0.0] * len(rows))[at] += row[value] or 0.0
    series = [
        Series(f"server {number}", COLOURS[n % len(COLOURS)], of_servers[number])
        for n, number in enumerate(sorted(of_servers))
    ]
    return Picture(title, across, up, labels, series, True, False, [], [])


def _collective(query: Query, answer: Answer, most: int) -> Picture:
    rows, title = _cut(answer.views["collective"], str(query), most)
    parts = {
        "all": ("seconds", "#BBBBBB"),
        "communication (slowest rank)": ("communication_seconds", OF_LAYERS["mpi"]),
        "waiting for the last rank": ("waiting_seconds", COLOURS[3]),
        "storage (slowest rank)": ("storage_seconds", OF_LAYERS["posix"]),
    }
    series = [
        Series(name, colour, [row[column] or 0.0 for row in rows])
        for name, (column, colour) in parts.items()
    ]
    labels = [str(row["collective"]) for row in rows]
    every = [value for series_ in series for value in series_.values]
    below = [printable(row["function"]).removeprefix("MPI_File_") for row in rows]
    return Picture(title, "collective", "seconds", labels, series, False, wide(every), [], below,
                   "each colour from the ground: they may overlap in time")  # fmt: skip


def picture(query: Query, answer: Answer, most: int = MOST) -> Picture:
    """What to draw of an answer: so many bars, the longest."""
    if query.name.startswith("latency breakdown"):
        return _breakdown(query, answer, most)
    if query.name.startswith("latency operation"):
        return _operation(query, answer, most)
    return (
        _collective(query, answer, most)
        if query.name == "latency collective"
        else _stacked(query, answer, most)
    )


def check(path: Path, command: str = "query") -> None:
    """Errors: `UsageError` of an ending that says no picture."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{command}: --plot {path}: its ending says the form, and is one of {', '.join(ENDINGS)}"
        )
    with needed(f"{command}: --plot {path}", "plot"):
        import matplotlib  # noqa: F401 # before a query is worked out that nobody will see


def _paint(axes: Axes, of: Picture) -> list[float]:
    """The bars; gives their tops."""
    count = len(of.labels)
    tops = [0.0] * count
    if of.stacked:
        for series_ in of.series:
            axes.bar(
                range(count),
                series_.values,
                bottom=tops,
                color=series_.colour,
                label=series_.name,
                width=0.8,
            )
            tops = [top + value for top, value in zip(tops, series_.values, strict=True)]
        return tops
    for n in range(count):
        order = sorted(
            (series_ for series_ in of.series if series_.values[n] > 0),
            key=lambda series_: -series_.values[n],
        )
        for series_ in order:
            axes.bar(n, series_.values[n], color=series_.colour, width=0.8)
        tops[n] = order[0].values[n] if order else 0.0
    return tops


def lowest(of: Picture, tops: list[float]) -> float:
    """Where the axis begins: so that on a logarithmic one the smallest bar is seen too."""
    values = tops if of.stacked else [value for series_ in of.series for value in series_.values]
    return min((value for value in values if value > 0), default=0.0) / 2 if of.logarithmic else 0.0


def figure(of: Picture) -> Figure:
    """Drawn, on no screen and in no file."""
    with needed("a picture of bars", "plot"):
        from fathom.pages.drawn import Drawing

    count = len(of.labels)
    drawn = Drawing(figsize=(max(6.0, 2.8 + 0.28 * count), 4.6), layout="constrained")
    axes = drawn.add_subplot()
    tops = _paint(axes, of)
    if of.logarithmic:
        axes.set_yscale("log")
    axes.margins(x=0.01 if count > 3 else 0.3)
    axes.set_ylim(
        lowest(of, tops), max(tops, default=1.0) * (2.5 if of.logarithmic else 1.12) or 1.0
    )
    _words(axes, of, tops)
    if of.footnote:
        drawn.supxlabel(of.footnote, fontsize=7, color="#555555")
    return drawn


def save(path: Path, of: Picture, command: str = "query") -> None:
    """Draws into a file; its ending says the form. Errors: `UsageError` where it cannot be written."""
    check(path, command)
    from matplotlib import rc_context

    # Text stays text in an SVG; its ids do not change from one drawing to the next.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "fathom", "font.size": 9}):
        try:
            figure(of).savefig(
                path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else None
            )
        except OSError as error:
            raise UsageError(
                f"{command}: cannot write {path}: {error.strerror or error}"
            ) from error


def _words(axes: Axes, of: Picture, tops: list[float]) -> None:
    from matplotlib.patches import Patch

    count = len(of.labels)
    labels = [
        f"{label}\n{below}"
        for label, below in zip(of.labels, of.below or [""] * count, strict=True)
    ]
    longest_word = max((len(line) for label in labels for line in label.split("\n")), default=1)
    steep = longest_word * count > 90
    axes.set_xticks(
        range(count),
        [label.rstrip("\n") for label in labels],
        rotation=90 if steep else 0,
        fontsize=7,
    )
    for n, mark in enumerate(of.marks):
        axes.annotate(mark, (n, tops[n]), ha="center", va="bottom", fontsize=7, fontweight="bold",
                      xytext=(0, 1), textcoords="offset points")  # fmt: skip
    axes.set_title(of.title, fontsize=10, loc="left")
    axes.set_xlabel(of.across)
    axes.set_ylabel(of.up + (" (logarithmic)" if of.logarithmic else ""))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    if len(of.series) > 1 or of.stacked:
        colours = [Patch(color=series_.colour, label=series_.name) for series_ in of.series]
        axes.legend(
            handles=colours, fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
