"""What a record of Darshan says of the accesses of an op besides their sum: sizes, strides, order, alignment, and the
fastest and slowest rank. Darshan counts some of it for reads and writes together: that is known of a file which was
only read, or only written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Darshan's ranges of sizes: what is in their counters' names, and the least size.
RANGES = {
    "0_100": 0, "100_1K": 101, "1K_10K": 1025, "10K_100K": 10241, "100K_1M": 102401, "1M_4M": 1048577,
    "4M_10M": 4194305, "10M_100M": 10485761, "100M_1G": 104857601, "1G_PLUS": 1073741825,
}  # fmt: skip
# Of the counts of an access (docs/stream-format.md), where they stand.
SEQUENTIAL, CONSECUTIVE, UNALIGNED_FILE, UNALIGNED_MEMORY, SWITCHES, COUNTS = 0, 1, 3, 4, 9, 10
# How many frequent sizes and strides Darshan keeps.
FREQUENT = range(1, 5)
# How many dimensions, the last first; those that a dataset does not have are 0.
DIMENSIONS = range(5, 0, -1)
# How elements of a dataset were selected.
SELECTS = {"REGULAR_HYPERSLAB": "regular", "IRREGULAR_HYPERSLAB": "irregular", "POINT": "of points"}
# Counters of DFS and DAOS that are no calls, as hints name them.
OF_DAOS = {
    "CHUNK_SIZE": "chunk_size", "ARRAY_CHUNK_SIZE": "chunk_size", "ARRAY_CELL_SIZE": "cell_size",
    "OBJ_OTYPE": "object_type", "NB_READS": "nonblocking_reads", "NB_WRITES": "nonblocking_writes",
    "NB_OPS": "nonblocking",
}  # fmt: skip

Pairs = list[list[int]]


@dataclass(frozen=True)
class Access:
    """Reads or writes of a record, `what` being READ or WRITE."""

    counters: Mapping[str, int]
    prefix: str
    what: str
    calls: int
    alone: bool  # the file was only read, or only written

    def _count(self, name: str) -> int | None:
        value = self.counters.get(f"{self.prefix}_{name}")
        return value if value is not None and value >= 0 else None

    def _range(self, what: str, label: str) -> int:
        every = (self._count(f"SIZE_{what}_{agg}{label}") for agg in ("", "AGG_"))
        return next((count for count in every if count is not None), 0)

    def ranges(self) -> Pairs:
        """Least size, calls."""
        by_size = [[least, self._range(self.what, label)] for label, least in RANGES.items()]
        return [pair for pair in by_size if pair[1]]

    def common(self) -> Pairs:
        """Size, calls: those of which it is sure that they are of this direction."""
        pairs = []
        for at in FREQUENT:
            size, calls = (self._count(f"ACCESS{at}_{of}") for of in ("ACCESS", "COUNT"))
            if size is not None and calls and self._is_ours(size, calls):
                pairs.append([size, calls])
        return pairs

    def _is_ours(self, size: int, calls: int) -> bool:
        label = next(label for label, least in reversed(RANGES.items()) if least <= size)
        other = "WRITE" if self.what == "READ" else "READ"
        seen = self._range(self.what, label)
        return calls <= seen and not self._range(other, label)

    def strides(self) -> Pairs:
        """Stride, calls."""
        if not self.alone:
            return []
        pairs = [[self._count(f"STRIDE{at}_{of}") for of in ("STRIDE", "COUNT")] for at in FREQUENT]
        return [[stride, calls] for stride, calls in pairs if stride is not None and calls]

    def counts(self) -> list[int | None]:
        """Null: unknown."""
        counts: list[int | None] = [None] * COUNTS
        counts[SEQUENTIAL] = self._count(f"SEQ_{self.what}S")
        counts[CONSECUTIVE] = self._count(f"CONSEC_{self.what}S")
        if self.alone:
            counts[UNALIGNED_FILE] = self._count("FILE_NOT_ALIGNED")
            counts[UNALIGNED_MEMORY] = self._count("MEM_NOT_ALIGNED")
        # Of both directions together: a read after a write belongs to a write before it.
        switches = self._count("RW_SWITCHES")
        counts[SWITCHES] = switches if self.alone or self.what == "WRITE" or switches is None else 0
        return counts

    def more(self) -> dict[str, Any]:
        """All of it, as lines have it (engine/import/src/jsonl.rs)."""
        common = self.common()
        whole = sum(calls for _, calls in common) == self.calls
        details: dict[str, list[Any]] = {
            "sizes" if whole else "common": common, "ranges": self.ranges(), "strides": self.strides(),
            "counts": self.counts(),
        }  # fmt: skip
        return {
            key: value for key, value in details.items() if any(one is not None for one in value)
        }


def extremes(
    counters: Mapping[str, int], seconds: Mapping[str, float], prefix: str, of: tuple[int, int]
) -> list[list[int]]:
    """Rank, bytes and ns of the slowest and the fastest rank of a record; `of`: bytes and ns of all. What one op of the
    record had of them is taken to be its part of all ranks'."""
    ranks: list[list[int]] = []
    for which in ("SLOWEST", "FASTEST"):
        rank = counters.get(f"{prefix}_{which}_RANK", -1)
        moved = counters.get(f"{prefix}_{which}_RANK_BYTES", -1)
        time = round(seconds.get(f"{prefix}_F_{which}_RANK_TIME", 0.0) * 1e9)
        if (
            rank >= 0 <= moved <= of[0]
            and 0 <= time <= of[1]
            and rank not in (r for r, *_ in ranks)
        ):
            ranks.append([rank, moved, time])
    return ranks if ranks and ranks[0][2] else []


def deviations(layer: str, prefix: str, seconds: Mapping[str, float]) -> dict[str, str]:
    """How far ranks are apart in a record of all: standard deviations, whose squares Darshan has; both 0 if unknown."""
    squares = [seconds.get(f"{prefix}_F_VARIANCE_RANK_{what}", 0.0) for what in ("TIME", "BYTES")]
    if not any(squares) or not all(0 <= square < math.inf for square in squares):
        return {}
    time, moved = map(math.sqrt, squares)
    return {
        f"{layer}_rank_seconds_deviation": f"{time:.6g}",
        f"{layer}_rank_bytes_deviation": f"{moved:.6g}",
    }


def reach(layer: str, prefix: str, counters: Mapping[str, int]) -> dict[str, str]:
    """The byte behind the last that was read: what was read beyond that was read again."""
    last = counters.get(f"{prefix}_MAX_BYTE_READ", 0)
    return {f"{layer}_read_end": str(last + 1)} if last > 0 else {}


def selected(counters: Mapping[str, int], prefix: str) -> dict[str, str]:
    """What was selected of a dataset or variable: its frequent hyperslabs, and how many selections were none; and its
    chunks. Dimensions are in the program's order, their lengths and strides in elements."""

    def by_dimension(name: str) -> list[int]:
        return [counters.get(f"{prefix}_{name}_D{at}", 0) for at in DIMENSIONS]

    details = {}
    for at in FREQUENT:
        calls, size = (counters.get(f"{prefix}_ACCESS{at}_{of}", 0) for of in ("COUNT", "ACCESS"))
        lengths, strides = (by_dimension(f"ACCESS{at}_{of}") for of in ("LENGTH", "STRIDE"))
        pairs = [pair for pair in zip(lengths, strides, strict=True) if pair[0] > 0]
        if calls > 0 and pairs:
            length, stride = ("x".join(map(str, numbers)) for numbers in zip(*pairs, strict=True))
            details[f"selection_{at}"] = f"{length}, stride {stride}: {size} bytes, {calls} times"
    kinds = [counters.get(f"{prefix}_{kind}_SELECTS", 0) for kind in SELECTS]
    if sum(kinds) > 0:
        details["selections"] = ", ".join(
            f"{count} {kind}" for kind, count in zip(SELECTS.values(), kinds, strict=True)
        )
    chunk = [str(size) for size in by_dimension("CHUNK_SIZE") if size > 0]
    return {**details, "chunk": "x".join(chunk)} if chunk else details


def of_daos(counters: Mapping[str, int], prefix: str) -> dict[str, str]:
    """What a record of DFS or DAOS says of a file or an object itself, and how many calls did not block."""
    counts = ((key, counters.get(f"{prefix}_{name}", 0)) for name, key in OF_DAOS.items())
    return {key: str(value) for key, value in counts if value > 0}
