"""What ranks touched of each dataset or variable: its elements, as far as the calls that selected them are known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom.analysis import Source
from fathom.analysis.distribution.boxes import Boxes
from fathom.analysis.distribution.shapes import Shape

Row = dict[str, Any]


@dataclass
class Touched:
    """One array (of a file without names: its bytes, `name` None), read or written by `layer`.

    `held`: by rank its boxes; ranks of which something is not known are not in it but in `unknown`, with the reason.
    """

    file: int
    path: str
    layer: str
    name: str | None
    direction: str
    extents: tuple[int, ...]
    element_bytes: int | None
    calls: int = 0
    collective: int = 0
    posted: int = 0
    bytes: int = 0
    first_start: int = 0
    held: dict[int, Boxes] = field(default_factory=dict)
    unknown: dict[int, str] = field(default_factory=dict)
    origin: int | None = None  # of bytes: where in the file the array begins

    @property
    def mode(self) -> str:
        """How the ranks call."""
        if self.posted:
            return "nonblocking" if self.posted == self.calls else "mixed"
        if self.collective:
            return "collective" if self.collective == self.calls else "mixed"
        return "independent"

    def add(self, row: Row) -> None:
        """Sums of one of its rows."""
        for name in ("calls", "collective", "posted", "bytes"):
            setattr(self, name, getattr(self, name) + row[name])
        self.first_start = min(self.first_start, row["first_start"])


def with_lists(table: pa.Table, *names: str) -> list[Row]:
    """Rows, in which columns of lists are numpy's arrays; null is NaN."""
    rows: list[Row] = table.drop_columns(list(names)).to_pylist()
    for name in names:
        lists = table[name].combine_chunks()
        values, ends = lists.values.to_numpy(zero_copy_only=False), lists.offsets.to_numpy()
        for row, first, end in zip(rows, ends, ends[1:], strict=False):
            row[name] = values[first:end]
    return rows


def groups(rows: Sequence[Row], *names: str) -> Iterator[list[Row]]:
    for _, group in groupby(rows, key=lambda row: tuple(row[name] for name in names)):
        yield list(group)


def begin(row: Row, extents: Sequence[int], element_bytes: int | None) -> Touched:
    return Touched(
        row["file"],
        row["path"],
        row["layer"],
        row.get("name"),
        row["direction"],
        tuple(extents),
        element_bytes,
        first_start=row["first_start"],
    )


# ---- datasets and variables


def arrays(source: Source, known: Mapping[int, Shape], part: Mapping[str, Any]) -> list[Touched]:
    """Datasets and variables, by file and name."""
    rows = with_lists(source.sql("from selected_by_rank($inside, $part)", **part), "starts")
    return [_array(group, known) for group in groups(rows, "file", "layer", "name", "direction")]


def _array(rows: Sequence[Row], known: Mapping[int, Shape]) -> Touched:
    # a scalar is an array of one element
    extents = max((tuple(row["extents"] or ()) for row in rows), default=()) or (1,)
    array = begin(rows[0], extents, rows[0]["element_bytes"])
    for row in rows:
        array.add(row)
        boxes = _selected(row, extents, known)
        rank = row["who"]
        if isinstance(boxes, str):
            array.unknown[rank] = boxes
        else:
            array.held[rank] = np.concatenate([array.held.get(rank, boxes[:0]), boxes])
    return array


def _selected(row: Row, extents: Sequence[int], known: Mapping[int, Shape]) -> Boxes | str:
    """Boxes of all calls of one shape, or why they are not known."""
    starts = row["starts"]
    if (starts < 0).any():
        return "where a selection begins is not known"
    if row["selection"] is None:
        if starts.any() or not all(extents[1:]):
            return "what was selected is not known"
        return _everything(row, extents)
    shape = known[row["selection"]]
    if shape.boxes is None:
        return "a selection of more than 64 blocks that is not regular"
    if shape.boxes.shape[1] != len(extents) or not all(extents[1:]):
        return "a selection of bytes, not of elements"
    lows = _corners(starts, extents)
    if (lows[:, 1:] + shape.box[1:] > np.asarray(extents[1:])).any():
        return "the dataset's extents changed"
    boxes = lows[:, None, :, None] + shape.boxes[None, :, :, :]
    return boxes.reshape(-1, len(extents), 2)


def _corners(starts: NDArray[np.int64], extents: Sequence[int]) -> NDArray[np.int64]:
    """Row-major indices as places in the array."""
    corners = np.empty((len(starts), len(extents)), np.int64)
    left = starts
    for dimension in reversed(range(1, len(extents))):
        left, corners[:, dimension] = np.divmod(left, extents[dimension])
    corners[:, 0] = left
    return corners


def _everything(row: Row, extents: Sequence[int]) -> Boxes | str:
    """The whole array; an unlimited first dimension is as long as the bytes of a call say."""
    first = extents[0]
    if not first and row["element_bytes"]:
        rest = int(np.prod(extents[1:], dtype=np.int64)) * row["element_bytes"] * row["calls"]
        first = row["bytes"] // rest
    whole = np.array([[(0, extent) for extent in (first, *extents[1:])]], np.int64)
    return whole if first else "an array without end was read whole"
