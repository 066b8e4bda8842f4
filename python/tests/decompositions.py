"""Decompositions of arrays made by rule, as the rows that a recorded run would have: what the recogniser is tested on.

Knows nothing of how it recognises. A rank's part is kept element by element; the rows are made from the runs of these.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

RANKS = 64
MASK = (1 << 64) - 1
Indices = list[int]


@dataclass
class Decomposition:
    """One array: `parts[rank]` are the indices per dimension whose combinations the rank touches."""

    name: str
    kinds: tuple[str, ...]
    extents: tuple[int, ...]
    parts: dict[int, tuple[Indices, ...]]
    element: int = 8
    particles: dict[int, Indices] = field(default_factory=dict)  # of one dimension, at random

    def elements(self) -> dict[int, set[tuple[int, ...]]]:
        """By rank, every element."""
        held = {rank: set(product(*part)) for rank, part in self.parts.items()}
        held |= {rank: {(i,) for i in some} for rank, some in self.particles.items()}
        return {rank: some for rank, some in held.items() if some}


# ---- one dimension: the indices of each place


def block(_draw: random.Random, extent: int, places: int) -> list[Indices]:
    each = -(-extent // places)
    return [list(range(i * each, min(extent, (i + 1) * each))) for i in range(places)]


def gen_block(draw: random.Random, extent: int, places: int) -> list[Indices]:
    cuts = sorted(draw.sample(range(1, extent), places - 1))
    return [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]


def balanced(_draw: random.Random, extent: int, places: int) -> list[Indices]:
    cuts = [extent * i // places for i in range(places + 1)]
    return [list(range(a, b)) for a, b in pairwise(cuts)]


def cyclic(_draw: random.Random, extent: int, places: int) -> list[Indices]:
    return [list(range(i, extent, places)) for i in range(places)]


def block_cyclic(draw: random.Random, extent: int, places: int) -> list[Indices]:
    each = draw.randint(2, max(2, extent // places // 2))
    return [[n for n in range(extent) if n // each % places == i] for i in range(places)]


def ghosts(draw: random.Random, extent: int, places: int) -> list[Indices]:
    each = -(-extent // places)
    low, high = draw.choice([(1, 1), (1, 0), (0, 1), (2, 2), (2, 1)])
    low, high = min(low, each), min(high, each)
    return [
        list(range(max(0, i * each - low), min(extent, (i + 1) * each + high)))
        for i in range(places)
        if i * each < extent
    ]


def uneven_ghosts(draw: random.Random, extent: int, places: int) -> list[Indices]:
    """Blocks of different sizes, at least 2, with an index more on either side."""
    spare = extent - 2 * places
    cuts = [0, *sorted(draw.randint(0, spare) for _ in range(places - 1)), spare]
    cuts = [cut + 2 * i for i, cut in enumerate(cuts)]
    return [list(range(max(0, a - 1), min(extent, b + 1))) for a, b in pairwise(cuts)]


def whole(_draw: random.Random, extent: int, _places: int) -> list[Indices]:
    return [list(range(extent))]


def every_other(draw: random.Random, extent: int, places: int) -> list[Indices]:
    """Holes: places share out every second or third index."""
    step = draw.randint(2, 3)
    some = list(range(draw.randrange(step), extent, step))
    each = -(-len(some) // places)
    return [some[i * each : (i + 1) * each] for i in range(places)]


def inner(_draw: random.Random, extent: int, places: int) -> list[Indices]:
    """Blocks of a part of the dimension."""
    first, end = extent // 4, extent - extent // 5
    each = -(-(end - first) // places)
    return [list(range(first + i * each, min(end, first + (i + 1) * each))) for i in range(places)]


KINDS: dict[str, Callable[[random.Random, int, int], list[Indices]]] = {
    "block": block,
    "gen_block": gen_block,
    "balanced": balanced,
    "cyclic": cyclic,
    "block_cyclic": block_cyclic,
    "ghosts": ghosts,
    "uneven_ghosts": uneven_ghosts,
    "whole": whole,
    "every_other": every_other,
    "inner": inner,
}
LINES = ("block", "gen_block", "balanced", "whole")


def decomposition(
    draw: random.Random,
    name: str,
    kinds: Sequence[str] = tuple(KINDS),
    longest: Sequence[int] = (200, 30, 8, 4),
    elements: Sequence[int] = (1, 4, 8),
    room: int = RANKS,
) -> Decomposition:
    """A grid over 1 to 4 dimensions, ranks in any order of dimensions, some of them copies, not always from rank 0 on.

    `room`: ranks of the job; `longest`: about so many indices has a dimension of an array of one, two… dimensions;
    `elements`: their bytes.
    """
    dimensions = draw.randint(1, 4)
    more = longest[dimensions - 1]
    chosen, extents, places = [], [], []
    job = room
    for _ in range(dimensions):
        kind = draw.choice(kinds)
        parts = (
            1
            if kind == "whole"
            else draw.randint(1, max(1, min(room, 8 if dimensions > 1 else 64)))
        )
        extent = draw.randint(max(2, parts * 3), max(3, parts * 3 + more))
        some = [place for place in KINDS[kind](draw, extent, parts) if place]
        room //= len(some)
        chosen.append(kind)
        extents.append(extent)
        places.append(some)
    order = list(range(dimensions))
    draw.shuffle(order)
    counts = [len(places[dimension]) for dimension in order]
    copies = draw.choice([1, 1, 1, 2, 3]) if room >= 3 else 1
    used = math.prod(counts) * copies
    ranks = sorted(draw.sample(range(job), used)) if draw.random() < 0.3 else list(range(used))
    if draw.random() < 0.1:
        draw.shuffle(ranks)
    parts_: dict[int, tuple[Indices, ...]] = {}
    for number, rank in enumerate(ranks):
        rest, at = number // copies, [0] * dimensions
        for dimension, count in zip(order, counts, strict=True):
            rest, at[dimension] = divmod(rest, count)
        parts_[rank] = tuple(places[dimension][at[dimension]] for dimension in range(dimensions))
    return Decomposition(name, tuple(chosen), tuple(extents), parts_, draw.choice(elements))


def particles(draw: random.Random, name: str) -> Decomposition:
    """Each element of a row on a rank drawn by lot."""
    extent, ranks = draw.randint(60, 200), draw.randint(3, 16)
    held: dict[int, Indices] = {rank: [] for rank in range(ranks)}
    for i in range(extent):
        held[draw.randrange(ranks)].append(i)
    return Decomposition(
        name, ("particles",), (extent,), {}, 8, {r: some for r, some in held.items() if some}
    )


# ---- as rows of tables


def runs(some: Iterable[int]) -> list[tuple[int, int]]:
    """(first, count) of neighbours."""
    stretches: list[tuple[int, int]] = []
    for i in some:
        if stretches and sum(stretches[-1]) == i:
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + 1)
        else:
            stretches.append((i, 1))
    return stretches


class Tables:
    """Rows of a run of RANKS ranks."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("calls", "args", "objects", "selections", "files")
        }
        self.seq = dict.fromkeys(range(RANKS), 0)
        self.selection_of: dict[object, int] = {}

    def call(self, rank: int, start: int | None = None, **more: Any) -> None:
        """One write of the program's own; `start`: the argument of that name."""
        self.seq[rank] += 1
        id_ = rank << 40 | self.seq[rank]
        row = {
            "id": id_, "stream": rank, "process": rank, "thread": rank, "rank": rank, "start": self.seq[rank] * 100,
            "duration": 10, "kind": "write", "state": "done", **more,
        }  # fmt: skip
        row.setdefault("bytes", row.get("size"))
        self.rows["calls"].append(row)
        if start is not None:
            self.rows["args"].append({"call": id_, "name": "start", "value": start})

    def file(self, path: str) -> int:
        self.rows["files"].append(
            {"file": len(self.rows["files"]), "path": path, "kind": "regular"}
        )
        return len(self.rows["files"]) - 1

    def object(self, **row: Any) -> int:
        self.rows["objects"].append({"object": len(self.rows["objects"]), "number": 1, **row})
        return len(self.rows["objects"]) - 1

    def selection(self, process: int, /, **row: Any) -> int:
        known = (process, repr(row))
        if known not in self.selection_of:
            self.selection_of[known] = len(self.rows["selections"])
            number = self.selection_of[known]
            self.rows["selections"].append(
                {"selection": number, "process": process, "number": 1, **row}
            )
        return self.selection_of[known]


# ---- hyperslabs


def hash_of_hyperslab(slab: Sequence[tuple[int, int, int]]) -> int:
    """runtime/handlers/selection.c: of (stride, count, block), begun with HDF5's number for hyperslabs."""
    value = 2
    for stride, count, length in slab:
        for word in (stride if count > 1 else 0, count, length):
            value = (value ^ word) * 0x9E3779B97F4A7C15 & MASK
            value ^= value >> 29
    return value


def _slab(some: Sequence[tuple[int, int]]) -> tuple[int, int, int, int] | None:
    """(start, stride, count, block), as H5Sselect_hyperslab takes them."""
    lengths = {count for _, count in some}
    steps = {b[0] - a[0] for a, b in pairwise(some)}
    if len(lengths) > 1 or len(steps) > 1:
        return None
    return some[0][0], steps.pop() if steps else 1, len(some), lengths.pop()


def hyperslabs(part: Sequence[Indices]) -> list[list[tuple[int, int, int, int]]]:
    """As few as give the part: where a dimension's runs are not regular, one for each."""
    ways: list[list[tuple[int, int, int, int]]] = []
    for some in map(runs, part):
        slab = _slab(some)
        ways.append([slab] if slab else [(first, 1, 1, count) for first, count in some])
    return [list(one) for one in product(*ways)]


def hdf5(tables: Tables, of: Decomposition, draw: random.Random) -> None:
    """Written by hyperslabs, some ranks in several calls; particles by lists of points."""
    file = tables.file(f"/d/{of.name}.h5")
    everything = [*of.parts.items(), *((rank, (some,)) for rank, some in of.particles.items())]
    for rank, part in everything:
        object_ = tables.object(
            process=rank, file=file, name="/u", extents=list(of.extents), element_bytes=of.element,
            **{"class": "hdf5_dataset"},
        )  # fmt: skip
        pieces = [part]
        if draw.random() < 0.4:
            dimension = draw.randrange(len(part))
            cut = draw.randint(0, len(part[dimension]))
            pieces = [
                (*part[:dimension], half, *part[dimension + 1 :])
                for half in (part[dimension][:cut], part[dimension][cut:])
                if half
            ]
        slabs = [slab for piece in pieces for slab in hyperslabs(piece)]
        draw.shuffle(slabs)
        for slab in slabs:
            _write_slab(tables, of, rank, slab, object=object_, file=file)


def _write_slab(
    tables: Tables,
    of: Decomposition,
    rank: int,
    slab: Sequence[tuple[int, int, int, int]],
    **more: Any,
) -> None:
    total = math.prod(count * length for _, _, count, length in slab)
    places = list(product(*([n * stride for n in range(count)] for _, stride, count, _ in slab)))
    exact = len(places) <= 64
    lengths = [length for *_, length in slab]
    box = [(count - 1) * stride + length for _, stride, count, length in slab]
    selection = tables.selection(
        rank, form="elements", exact=exact, rank=len(slab), unit=1, total=total, box_start=[0] * len(slab),
        box_count=box, hash=hash_of_hyperslab([one[1:] for one in slab]), blocks=len(places) * exact,
        block_start=[n for place in places for n in place] if exact else [],
        block_count=[n for _ in places for n in lengths] if exact else [],
    )  # fmt: skip
    start = 0
    for (first, *_), extent in zip(slab, of.extents, strict=True):
        start = start * extent + first
    tables.call(
        rank,
        start,
        layer="hdf5",
        op="H5Dwrite",
        size=total * of.element,
        selection=selection,
        **more,
    )


# ---- bytes


def byte_runs(of: Decomposition, rank: int) -> list[tuple[int, int]]:
    """(first, count) of the rank's bytes when the array lies in row-major order from byte 0 on."""
    weights = [math.prod(of.extents[d + 1 :]) for d in range(len(of.extents))]
    indices = sorted(
        sum(i * weight for i, weight in zip(place, weights, strict=True))
        for place in product(*of.parts[rank])
    )
    return [(first * of.element, count * of.element) for first, count in runs(indices)]


def posix(tables: Tables, of: Decomposition, draw: random.Random) -> None:
    """Written by pwrite, run after run, some in two."""
    file = tables.file(f"/d/{of.name}.raw")
    for rank in of.parts:
        pieces = []
        for first, count in byte_runs(of, rank):
            cut = draw.randint(0, count) if draw.random() < 0.3 else 0
            pieces += [(a, n) for a, n in ((first, cut), (first + cut, count - cut)) if n]
        for first, count in pieces:
            tables.call(
                rank,
                layer="posix",
                op="pwrite",
                file=file,
                size=count,
                file_offset=first,
                offset_from="given",
            )


def repeated(of: Decomposition, rank: int) -> dict[str, list[int]]:
    """The subarray as one block repeated level within level (docs/tables.md); innermost levels that touch are one."""
    part = of.parts[rank]
    first, length, levels = 0, of.element, []
    for d, some in enumerate(part):
        weight = of.element * math.prod(of.extents[d + 1 :])
        first += some[0] * weight
        levels.append((len(some), weight))
    while levels and (levels[-1][1] == length or levels[-1][0] == 1):
        length *= levels.pop()[0]
    return {
        "part_start": [first],
        "part_bytes": [length],
        "part_levels": [len(levels)],
        "part_count": [count for count, _ in levels],
        "part_stride": [stride for _, stride in levels],
    }


def view(tables: Tables, of: Decomposition, draw: random.Random) -> None:
    """Written by one collective call each, through a view that is a subarray behind a header."""
    file = tables.file(f"/d/{of.name}.bin")
    period = math.prod(of.extents) * of.element
    header = draw.choice([0, 512])
    for rank in of.parts:
        blocks = byte_runs(of, rank)
        first, total = blocks[0][0], sum(count for _, count in blocks)
        exact = len(blocks) <= 64
        selection = tables.selection(
            rank, form="bytes", exact=exact, rank=1, unit=1, displacement=header, period=period, total=total,
            box_start=[first], box_count=[sum(blocks[-1]) - first],
            blocks=len(blocks) * exact,
            block_start=[a for a, _ in blocks] if exact else [], block_count=[n for _, n in blocks] if exact else [],
            **({} if exact else repeated(of, rank)),
        )  # fmt: skip
        tables.call(
            rank, layer="mpiio", op="MPI_File_write_all", file=file, size=total, selection=selection,
            file_offset=header + first, offset_from="tracked", collective=0,
        )  # fmt: skip
