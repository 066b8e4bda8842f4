"""Sets of elements as boxes: (first, end) per dimension, in an array of shape (boxes, dimensions, 2)."""

import math

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.distribution.spans import Spans, spans

Boxes = NDArray[np.int64]
# Boxes that may overlap are drawn on a grid of cells; more boxes or cells than these are not looked at.
BOXES, CELLS = 20_000, 4_000_000


def merged(boxes: Boxes) -> Boxes:
    """The same elements in fewer boxes: those that touch or overlap in one dimension and are alike in all others."""
    boxes = boxes[(boxes[:, :, 1] > boxes[:, :, 0]).all(axis=1)]
    dimensions = boxes.shape[1]
    while len(boxes) > 1:
        before = len(boxes)
        for dimension in reversed(range(dimensions)):
            boxes = _merged_along(boxes, dimension)
        if len(boxes) == before:
            break
    return boxes


def _merged_along(boxes: Boxes, dimension: int) -> Boxes:
    if len(boxes) < 2:
        return boxes
    others = np.delete(boxes, dimension, axis=1).reshape(len(boxes), -1)
    order = np.lexsort((boxes[:, dimension, 0], *others.T))
    boxes, others = boxes[order], others[order]
    first, end = boxes[:, dimension, 0], boxes[:, dimension, 1]
    row = np.concatenate(([0], np.cumsum((others[1:] != others[:-1]).any(axis=1))))
    # the furthest end so far, of the same row: rows are told apart by adding what no end reaches
    beyond = int(end.max()) - min(0, int(first.min())) + 1
    far = np.maximum.accumulate(end + row * beyond) - row * beyond
    begins = np.concatenate(([True], (row[1:] != row[:-1]) | (first[1:] > far[:-1])))
    at = np.flatnonzero(begins)
    union = boxes[at].copy()
    union[:, dimension, 1] = far[np.append(at[1:], len(boxes)) - 1]
    return union


def product(boxes: Boxes) -> list[Spans] | None:
    """One set per dimension, when the elements are all combinations of these; None: they are not, or are too many."""
    dimensions = range(boxes.shape[1])
    sets = [spans(boxes[:, dimension]) for dimension in dimensions]
    if len(boxes) == 1 or boxes.shape[1] == 1:
        return sets
    cuts = [np.unique(boxes[:, dimension]) for dimension in dimensions]
    if len(boxes) > BOXES or math.prod(len(cut) - 1 for cut in cuts) > CELLS:
        return None
    cells = np.zeros([len(cut) - 1 for cut in cuts], bool)
    for box in boxes:
        cells[
            tuple(
                slice(*np.searchsorted(cuts[dimension], box[dimension])) for dimension in dimensions
            )
        ] = True
    combined = np.ones(cells.shape, bool)
    for dimension in dimensions:
        others = tuple(other for other in dimensions if other != dimension)
        combined &= cells.any(axis=others, keepdims=True)
    return sets if np.array_equal(cells, combined) else None


def elements(boxes: Boxes) -> int:
    """How many elements; those in several boxes count as often."""
    return int((boxes[:, :, 1] - boxes[:, :, 0]).prod(axis=1).sum())
