"""The heat map of the terminal: ranks down, time across, how much of its time was I/O. Told by shape, not by colour."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from fathom.analysis.own import PARTS
from fathom.view import numbers
from fathom.view.spark import SHADES

MOST_ROWS = 16
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


def _groups(ranks: Sequence[int]) -> list[Sequence[int]]:
    """At most MOST_ROWS groups of neighbours, of one size but for the last."""
    size = max(1, -(-len(ranks) // MOST_ROWS))
    return [ranks[at : at + size] for at in range(0, len(ranks), size)]


def _label(unit: str, group: Sequence[int]) -> str:
    name = str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}"
    whole = f"{unit} {name}"
    return (whole if len(whole) <= LABEL else name).rjust(LABEL)


def _axis(width: int, run_seconds: float) -> str:
    end = numbers.seconds(run_seconds)
    middle = numbers.seconds(run_seconds / 2)
    line = "0 s".ljust(width // 2 - len(middle) // 2) + middle
    return line.ljust(width - len(end)) + end


def paint(shares: Mapping[int, ArrayLike], unit: str, run_seconds: float, width: int) -> list[str]:
    """Lines of the map: of each rank (or process) the share of I/O in PARTS equal parts of the run."""
    columns = max(20, min(PARTS, width - LABEL - 3))
    lines = []
    for group in _groups(sorted(shares)):
        row = np.mean([np.asarray(shares[rank]) for rank in group], axis=0).tolist()
        cells = "".join(SHADES[_step(cell)] for cell in _squeeze(row, columns))
        lines.append(f"{_label(unit, group)} |{cells}|")
    lines.append(f"{'':{LABEL}}  {_axis(columns, run_seconds)}")
    steps = "  ".join(f"{SHADES[n]} to {25 * n} %" for n in range(1, 5))
    many = ", mean of the ranks of a line" if len(shares) > MOST_ROWS else ""
    lines.append(f"{'':{LABEL}}  {steps} of its time in I/O{many}")
    return lines
