"""Letters that are pictures: a row of small bars, shades of a cell."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
# Of a cell: empty, and four steps that differ in how much of it is ink.
SHADES = " ░▒▓█"


def line(values: Sequence[float], width: int) -> str:
    """`width` bars of the values' means, as high as the highest says; a blank where there is nothing."""
    if not values:
        return ""
    means = []
    for at in range(width):
        part = values[at * len(values) // width : max((at + 1) * len(values) // width, 1)]
        means.append(sum(part) / len(part) if part else 0.0)
    top = max(means)
    return "".join(
        " " if mean <= 0 else BARS[min(len(BARS) - 1, int(mean / top * len(BARS)))]
        for mean in means
    )
