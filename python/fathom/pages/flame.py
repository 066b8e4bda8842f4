"""The call tree as a flame graph (Gregg, CACM 59(6), 2016): an SVG file without script, in the colours of the layers.
A box is as wide as its calls took, and lies on what made them; a reader's pointer shows the rest of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fathom.analysis import Source
from fathom.analysis.tree import Node, call_tree
from fathom.catalog.layers import layers
from fathom.errors import NotRecorded
from fathom.pages.answers import place
from fathom.text import numbers
from fathom.text.tables import printable

WIDTH, HEIGHT, MARGIN, LETTER = 1200.0, 18, 10.0, 6.6  # pixels; of a letter its width
LEAST = 0.4  # of a box that is drawn
#: Of lines of the program, and of regions.
PROGRAM, REGION = "#e8e8e8", "#d5d5d5"
LAYERS = {layer.name: layer for layer in layers()}


@dataclass(frozen=True)
class Box:
    """One node: its left edge and width in pixels, and on how many others it lies."""

    node: Node
    left: float
    width: float
    row: int


def boxes(root: Node) -> list[Box]:
    """Those that are wide enough to be seen. What is inside a call is never wider than it."""
    scale = (WIDTH - 2 * MARGIN) / (root.time or 1)

    def below(node: Node, left: float, width: float, row: int) -> Iterator[Box]:
        inside = scale * sum(one.time for one in node.below.values())
        shrink = min(1.0, width / inside) if inside else 1.0
        for one in node.sorted():
            wide = shrink * scale * one.time
            if wide >= LEAST:
                yield Box(one, left, wide, row)
                yield from below(one, left, wide, row + 1)
            left += wide

    return list(below(root, MARGIN, WIDTH - 2 * MARGIN, 0))


def save(path: Path, name: str, source: Source, frames: bool = False) -> None:
    """Writes the file. Errors: OSError; `NotRecorded` where there is nothing to draw."""
    root = call_tree(source, place, frames)
    if not root.time:
        raise NotRecorded("no I/O call of the program was recorded in full")
    path.write_text(svg(root, name), encoding="utf-8")


def svg(root: Node, name: str) -> str:
    """The document."""
    drawn = boxes(root)
    rows = max(box.row for box in drawn) + 1
    bottom = 40 + rows * HEIGHT
    there = {box.node.layer for box in drawn}
    seconds = numbers.seconds(root.time / 1e9)
    title = escape(
        f"{printable(name)}: {seconds} in the program's I/O calls, summed over processes"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {bottom + 34}" role="img"'
            f' aria-label="{title}" font-family="system-ui, sans-serif" font-size="11">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="{MARGIN:.0f}" y="22" font-size="14">{title}</text>',
            *(_box(box, bottom, root.time) for box in drawn),
            *_legend([layer for layer in LAYERS if layer in there], bottom + 20),
            "</svg>\n",
        ]
    )


def _box(box: Box, bottom: int, total: int) -> str:
    node, top = box.node, bottom - (box.row + 1) * HEIGHT
    name = printable(node.name)
    colour = _colour(node)
    seconds, share = numbers.seconds(node.time / 1e9), numbers.percent(node.time / total)
    alone = f", {numbers.seconds(node.self_time / 1e9)} of its own" if node.self_time else ""
    says = f"{name}: {seconds} ({share}){alone}, {numbers.things(node.calls, 'call')}, {numbers.size(node.bytes)}"
    label = _fitted(name, box.width)
    words = f'<text x="{box.left + 3:.1f}" y="{top + 12.5}" fill="{_ink(colour)}">{escape(label)}</text>'
    width = max(LEAST, box.width - 0.5)
    corners = f'x="{box.left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT - 1}"'
    rect = f'<rect {corners} fill="{colour}"/>'
    return f"<g><title>{escape(says)}</title>{rect}{words if label else ''}</g>"


def _colour(node: Node) -> str:
    if node.layer in LAYERS and node.layer != "user":
        return LAYERS[node.layer].on_white
    return REGION if node.layer else PROGRAM


def _ink(colour: str) -> str:
    """Black or white, whichever is told from the ground more easily (WCAG's luminance)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#ffffff"


def _fitted(name: str, width: float) -> str:
    """As much of it as there is room for; nothing where that says nothing."""
    letters = int((width - 6) / LETTER)
    if len(name) <= letters:
        return name
    return f"{name[: letters - 1]}…" if letters >= 4 else ""


def _legend(names: list[str], y: int) -> Iterator[str]:
    left = MARGIN
    for name in names:
        layer = LAYERS[name]
        colour = REGION if name == "user" else layer.on_white
        yield f'<rect x="{left:.0f}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{left + 14:.0f}" y="{y}">{escape(layer.title)}</text>'
        left += 30 + LETTER * len(layer.title)
