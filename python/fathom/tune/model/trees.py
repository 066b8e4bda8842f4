"""Regression trees on resampled trials, averaged (Breiman 2001): what is to be had without a formula.

Ours, in NumPy: a page, the same on each machine, and kept as JSON, while a library's pickle is for its version."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fathom.tune.model.factors import Basis, Column, Factor, Row, Table

TREES, LEAF = 30, 3
#: A node: column, threshold, the nodes below and above; a leaf: column -1, its value.
Node = tuple[int, float, int, int]
Numbers = npt.NDArray[np.intp]


def node(numbers: Sequence[float]) -> Node:
    """As JSON had it."""
    column, threshold, low, high = numbers
    return int(column), float(threshold), int(low), int(high)


@dataclass(frozen=True)
class Trees:
    """Of costs, or of their logarithm where all are above 0."""

    factors: tuple[Factor, ...]
    trees: tuple[tuple[Node, ...], ...]
    log: bool

    def predict(self, table: Table) -> Column:
        """Of each row."""
        columns = _columns(self.factors, table)
        costs = np.mean([_walk(tree, columns) for tree in self.trees], axis=0)
        return np.asarray(np.exp(costs) if self.log else costs, dtype=float)


def fit(factors: Sequence[Factor], rows: Sequence[Row], costs: Column, seed: int = 0) -> Trees:
    """Of rows that did not fail."""
    columns, random = _columns(factors, Table.of_rows(factors, rows)), np.random.default_rng(seed)
    log = bool((costs > 0).all())
    target = np.log(costs) if log else costs
    trees = []
    for _ in range(TREES):
        drawn = random.integers(len(rows), size=len(rows))
        nodes: list[Node] = []
        _grow(columns[drawn], target[drawn], nodes)
        trees.append(tuple(nodes))
    return Trees(tuple(factors), tuple(trees), log)


def _columns(factors: Sequence[Factor], table: Table) -> Column:
    """A column for each number, below all of them where there is none, and one for each level."""
    columns = []
    for factor in factors:
        if factor.kind != "level":
            columns.append(np.nan_to_num(table.numbers[factor.name], nan=-1.0))
        columns += [table.basis(Basis(factor.name, "is", level)) for level in factor.levels]
    return np.array(columns).reshape(len(columns), table.rows).T


def _grow(columns: Column, target: Column, nodes: list[Node]) -> int:
    """Adds a node and all below it; its number."""
    number = len(nodes)
    nodes.append((-1, float(target.mean()), 0, 0))
    column, threshold = _split(columns, target)
    if column >= 0:
        under = columns[:, column] <= threshold
        low = _grow(columns[under], target[under], nodes)
        high = _grow(columns[~under], target[~under], nodes)
        nodes[number] = (column, threshold, low, high)
    return number


def _split(columns: Column, target: Column) -> tuple[int, float]:
    """Where squares about the two means are least; column -1: nowhere."""
    rows = len(target)
    varied = np.flatnonzero(np.ptp(columns, axis=0))
    if rows < 2 * LEAF or np.ptp(target) == 0 or not len(varied):
        return -1, 0.0
    columns = columns[:, varied]
    order = np.argsort(columns, axis=0, kind="stable")
    sorted_columns = np.take_along_axis(columns, order, axis=0)
    sums = np.cumsum(target[order], axis=0)
    counts = np.arange(1, rows)[:, None]
    gain = sums[:-1] ** 2 / counts + (sums[-1] - sums[:-1]) ** 2 / (rows - counts)
    gain[sorted_columns[:-1] == sorted_columns[1:]] = -np.inf
    gain[: LEAF - 1] = gain[rows - LEAF :] = -np.inf
    place, column = np.unravel_index(int(np.argmax(gain)), gain.shape)
    if not gain[place, column] > sums[-1, column] ** 2 / rows + 1e-12:
        return -1, 0.0
    threshold = (sorted_columns[place, column] + sorted_columns[place + 1, column]) / 2
    return int(varied[column]), float(threshold)


def _walk(tree: Sequence[Node], columns: Column) -> Column:
    at: Numbers = np.zeros(len(columns), dtype=np.intp)
    column, threshold, low, high = (np.array(part) for part in zip(*tree, strict=True))
    everyone = np.arange(len(columns))
    while (inner := column[at] >= 0).any():
        under = columns[everyone, column[at]] <= threshold[at]
        at = np.where(inner, np.where(under, low[at], high[at]), at)
    return np.asarray(threshold[at], dtype=float)
