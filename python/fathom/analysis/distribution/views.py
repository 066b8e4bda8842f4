"""File views: which bytes of the file a rank's calls touched."""

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.distribution.shapes import LISTED, Shape, boxes_of
from fathom.analysis.distribution.spans import Spans, section, spans
from fathom.analysis.distribution.strides import Nest, settled


def tiles_of(shape: Shape, offsets: NDArray[np.float64], sizes: NDArray[np.int64]) -> Nest | None:
    """What calls through a view of nested strides touched, when they are whole tiles in a row; else None."""
    nest = shape.nest
    if nest is None or np.isnan(offsets).any() or (sizes % shape.total).any():
        return None
    first = offsets.astype(np.int64) - shape.displacement - nest.first
    if (first % shape.period).any():
        return None
    tiles = first // shape.period
    touched = section(spans(np.stack((tiles, tiles + sizes // shape.total), axis=1)))
    if touched is None or not touched.whole:
        return None
    start = shape.displacement + touched.first * shape.period + nest.first
    again = ((touched.length, shape.period),)
    return settled(Nest(start, nest.run, nest.levels + again))


def bytes_of(shape: Shape, offsets: NDArray[np.float64], sizes: NDArray[np.int64]) -> Spans | None:
    """What calls through a view touched; `offsets`: first bytes in the file, NaN where not known. None: not known."""
    boxes = boxes_of(shape.nest) if shape.nest else shape.boxes
    if boxes is None or np.isnan(offsets).any() or not shape.total:
        return None
    starts, ends = boxes[:, 0, 0], boxes[:, 0, 1]
    if (starts[1:] < ends[:-1]).any():
        return None  # a type map that goes back and forth
    before = np.concatenate(([0], np.cumsum(ends - starts)))
    tile, place = np.divmod(offsets.astype(np.int64) - shape.displacement, max(1, shape.period))
    block = np.searchsorted(starts, place, side="right") - 1
    first = tile * shape.total + before[block] + place - starts[block]
    seen = spans(np.stack((first, first + sizes), axis=1))
    return _shown(shape, starts, before, seen)


def _shown(
    shape: Shape, starts: NDArray[np.int64], before: NDArray[np.int64], seen: Spans
) -> Spans | None:
    """Intervals of the view's own bytes as intervals of the file's."""
    pieces = []
    for a, z in seen.tolist():
        if len(starts) == 1 and before[-1] == shape.period:  # without holes
            pieces.append(np.array([[a, z]], np.int64) + shape.displacement + starts[0])
            continue
        if ((z - a) // shape.total + 2) * len(starts) > LISTED:
            return None
        tiles = np.arange(a // shape.total, -(-z // shape.total), dtype=np.int64)
        own = (tiles[:, None] * shape.total + before[None, :-1]).ravel()
        file = (tiles[:, None] * shape.period + starts[None, :]).ravel() + shape.displacement
        lengths = np.tile(np.diff(before), len(tiles))
        low = np.maximum(own, a) - own
        high = np.minimum(own + lengths, z) - own
        pieces.append(np.stack((file + low, file + high), axis=1)[high > low])
    return spans(np.concatenate(pieces)) if pieces else spans([])
