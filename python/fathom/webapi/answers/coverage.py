"""`coverage`: which bytes of a file were asked for, read, read again, written, written again, read for nothing."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom.analysis import conditions
from fathom.analysis.distribution.shapes import shapes
from fathom.analysis.distribution.spans import NOTHING, Spans, spans, union
from fathom.analysis.distribution.views import bytes_of
from fathom.analysis.latency.layers import stack
from fathom.analysis.selection import Selection
from fathom.run.database import one_of
from fathom.webapi.answers import answer, number, table
from fathom.webapi.answers.access import Extent, extent, file_of, note_of
from fathom.webapi.answers.session import View
from fathom.webapi.answers.time_index import narrowed_to_file

Bins = NDArray[np.int64]
COLUMNS = ("asked", "read", "read twice", "written", "written twice", "unused")


def _swept(ranges: Spans, weights: Bins) -> tuple[Spans, Bins]:
    """The parts that the ends of intervals cut the numbers into, and the weights of the intervals that hold each."""
    places = np.concatenate((ranges[:, 0], ranges[:, 1]))
    order = np.argsort(places, kind="stable")
    edges, first = np.unique(places[order], return_index=True)
    if not len(edges):
        return NOTHING, np.zeros(0, np.int64)
    level = np.cumsum(np.add.reduceat(np.concatenate((weights, -weights))[order], first))
    return np.stack((edges[:-1], edges[1:]), axis=1), level[:-1]


def depths(ranges: Spans, times: Bins) -> tuple[Spans, Spans]:
    """What lies in at least one of the intervals, each there so many times, and what lies in at least two."""
    parts, depth = _swept(ranges, times)
    return spans(parts[depth >= 1]), spans(parts[depth >= 2])


def without(of: Spans, other: Spans) -> Spans:
    """What is in the first and not in the second."""
    weights = np.concatenate((np.ones(len(of), np.int64), np.full(len(other), 2)))
    parts, level = _swept(np.concatenate((of, other)), weights)
    return spans(parts[level == 1])


def in_bins(of: Spans, edges: Bins) -> Bins:
    """How many numbers of a set lie between one edge and the next."""
    before = np.concatenate(([0], np.cumsum(of[:, 1] - of[:, 0])))
    place = np.searchsorted(of[:, 0], edges, side="right")
    last = np.maximum(place - 1, 0)
    inside = np.minimum(edges, of[last, 1]) - of[last, 0] if len(of) else np.zeros_like(edges)
    below = np.where(place > 0, before[last] + inside, 0)
    return np.diff(below)


def _ranges(rows: pa.Table, kind: str) -> tuple[Spans, Bins]:
    of_kind = rows.filter(pa.compute.equal(rows["kind"], kind))
    columns = [of_kind[name].to_numpy().astype(np.int64) for name in ("a", "z", "calls")]
    return np.stack(columns[:2], axis=1), columns[2]


def asked_of(view: View, rows: pa.Table) -> Spans | None:
    """Bytes that reads asked for, through views or not; None: not known of all of them."""
    selections, offsets = (
        rows[name].to_numpy().astype(float) for name in ("selection", "file_offset")
    )
    sizes = rows["bytes"].to_numpy().astype(np.int64)
    if np.isnan(offsets).any():
        return None
    plain = np.isnan(selections)
    first = offsets[plain].astype(np.int64)
    parts = [spans(np.stack((first, first + sizes[plain]), axis=1))]
    known = view.once("shapes", lambda: shapes(view)) if not plain.all() else {}
    for number_ in np.unique(selections[~plain]).astype(int):
        of_selection = selections == number_
        seen = (
            bytes_of(known[number_], offsets[of_selection], sizes[of_selection])
            if number_ in known
            else None
        )
        if seen is None:
            return None
        parts.append(seen)
    return union(parts)


@answer("coverage", file=number(), width=number(1, 2048))
def coverage(
    view: View, selection: Selection, file: int | None = None, width: int = 512
) -> dict[str, Any]:
    """`bins`: bytes of each of `width` equal parts of the file; `begin`, `step`: where they are."""
    file = file_of(view, selection, file)
    place = extent(view, selection, file, width)
    text = _text(selection, file, place)
    of_calls = narrowed_to_file(view, selection, file)
    rows = of_calls.sql(text)
    reads = of_calls.sql(f"from coverage_asked({file}, {conditions.calls(selection, 'layers')})")
    bytes_asked = asked_of(view, reads)
    edges = place.low + place.step * np.arange(width + 1, dtype=np.int64)
    read, twice = depths(*_ranges(rows, "read"))
    written, rewritten = depths(*_ranges(rows, "write"))
    unused = None if bytes_asked is None else without(read, bytes_asked)
    sets = (bytes_asked, read, twice, written, rewritten, unused)
    columns = [None if covered is None else in_bins(covered, edges).tolist() for covered in sets]
    content = {"bin": pa.array(range(width), pa.int32())} | {
        name: pa.array([None] * width if values is None else values, pa.int64())
        for name, values in zip(COLUMNS, columns, strict=True)
    }
    remark = table.notes(
        note_of(view, selection, file, place.unknown),
        "what was asked for is not known of all reads" if bytes_asked is None else None,
    )
    units = dict.fromkeys(COLUMNS, "bytes")
    return {
        "begin": place.low,
        "step": place.step,
        "layers": list(place.layers),
        "asked of": stack(reads["layer"].unique().to_pylist()),
        "bins": table.of(pa.table(content), text, units, note=remark),
        "sums": _sums(sets),
    }


def _sums(sets: tuple[Spans | None, ...]) -> dict[str, int | None]:
    """Bytes of the whole file, each once."""
    sizes = [
        None if covered is None else int((covered[:, 1] - covered[:, 0]).sum()) for covered in sets
    ]
    return dict(zip(COLUMNS, sizes, strict=True))


def _text(selection: Selection, file: int, place: Extent) -> str:
    selected, which = conditions.calls(selection), one_of("layer", place.layers)
    return f"from coverage_ranges({file}, {selected}, {which})"
