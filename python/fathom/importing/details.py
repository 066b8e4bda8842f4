"""What a record of Darshan says of the accesses of an op besides their sum: sizes, strides, order, alignment, and the
fastest and slowest rank. Darshan counts some of it for reads and writes together: that is known of a file which was
only read, or only written."""

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
        found = [[least, self._range(self.what, label)] for label, least in RANGES.items()]
        return [pair for pair in found if pair[1]]

    def common(self) -> Pairs:
        """Size, calls: those of which it is sure that they are of this direction."""
        found = []
        for at in FREQUENT:
            size, calls = (self._count(f"ACCESS{at}_{of}") for of in ("ACCESS", "COUNT"))
            if size is not None and calls and self._is_ours(size, calls):
                found.append([size, calls])
        return found

    def _is_ours(self, size: int, calls: int) -> bool:
        label = next(label for label, least in reversed(RANGES.items()) if least <= size)
        other = "WRITE" if self.what == "READ" else "READ"
        seen = self._range(self.what, label)
        return calls <= seen and not self._range(other, label)

    def strides(self) -> Pairs:
        """Stride, calls."""
        if not self.alone:
            return []
        found = [[self._count(f"STRIDE{at}_{of}") for of in ("STRIDE", "COUNT")] for at in FREQUENT]
        return [[stride, calls] for stride, calls in found if stride is not None and calls]

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
        """All of it, as lines have it (engine/made/src/told.rs)."""
        common = self.common()
        whole = sum(calls for _, calls in common) == self.calls
        found: dict[str, list[Any]] = {
            "sizes" if whole else "common": common, "ranges": self.ranges(), "strides": self.strides(),
            "counts": self.counts(),
        }  # fmt: skip
        return {key: value for key, value in found.items() if any(one is not None for one in value)}


def extremes(
    counters: Mapping[str, int], seconds: Mapping[str, float], prefix: str, of: tuple[int, int]
) -> list[list[int]]:
    """Rank, bytes and ns of the slowest and the fastest rank of a record; `of`: bytes and ns of all. What one op of the
    record had of them is taken to be its part of all ranks'."""
    found: list[list[int]] = []
    for which in ("SLOWEST", "FASTEST"):
        rank = counters.get(f"{prefix}_{which}_RANK", -1)
        moved = counters.get(f"{prefix}_{which}_RANK_BYTES", -1)
        time = round(seconds.get(f"{prefix}_F_{which}_RANK_TIME", 0.0) * 1e9)
        if (
            rank >= 0 <= moved <= of[0]
            and 0 <= time <= of[1]
            and rank not in (r for r, *_ in found)
        ):
            found.append([rank, moved, time])
    return found if found and found[0][2] else []
