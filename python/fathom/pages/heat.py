"""The heat map of the terminal: ranks down, time across, how much of its time was I/O. Told by shape, not by colour."""

from collections.abc import Sequence
from itertools import pairwise

from fathom.analysis.own import PARTS
from fathom.analysis.when import Line
from fathom.text import numbers
from fathom.text.spark import SHADES

LABEL = 12


def _step(share: float) -> int:
    """0: nothing; else the quarter that the share reaches into, from 1."""
    return 0 if share <= 0.001 else min(4, 1 + int(share * 4))


def _mean(cells: Sequence[float]) -> float:
    return sum(cells) / max(1, len(cells))


def _squeeze(row: Sequence[float], width: int) -> list[float]:
    """PARTS cells as `width` of them."""
    edges = [at * len(row) // width for at in range(width + 1)]
    return [_mean(row[a : max(b, a + 1)]) for a, b in pairwise(edges)]


def _label(unit: str, line: Line) -> str:
    name = str(line.first) if line.units == 1 else f"{line.first}-{line.last}"
    whole = f"{unit} {name}"
    return (whole if len(whole) <= LABEL else name).rjust(LABEL)


def _axis(width: int, run_seconds: float) -> str:
    end = numbers.seconds(run_seconds)
    middle = numbers.seconds(run_seconds / 2)
    line = "0 s".ljust(width // 2 - len(middle) // 2) + middle
    return line.ljust(width - len(end)) + end


def paint(lines: Sequence[Line], unit: str, run_seconds: float, width: int) -> list[str]:
    """Lines of the map, of ranks or processes."""
    columns = max(20, min(PARTS, width - LABEL - 3))
    painted = []
    for line in lines:
        cells = "".join(SHADES[_step(cell)] for cell in _squeeze(line.shares, columns))
        painted.append(f"{_label(unit, line)} |{cells}|")
    painted.append(f"{'':{LABEL}}  {_axis(columns, run_seconds)}")
    steps = "  ".join(f"{SHADES[n]} to {25 * n} %" for n in range(1, 5))
    many = (
        f", mean of the {numbers.plural(unit)} of a line"
        if any(line.units > 1 for line in lines)
        else ""
    )
    painted.append(f"{'':{LABEL}}  {steps} of its time in I/O{many}")
    return painted
