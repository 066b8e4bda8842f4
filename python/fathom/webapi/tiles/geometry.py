"""How time and lanes are cut: level z has up to 256·2^z bins of time and 64·2^z rows of lanes, and its bins and rows
lie whole in those of the level before."""

from dataclasses import dataclass

BINS, ROWS = 256, 64
#: So many levels there can be at least; of a long run more, until a bin is as narrow as this many ns.
LEVELS, NARROW = 10, 50_000


@dataclass(frozen=True)
class Level:
    """One level of a run."""

    z: int
    bins: int  # that the run has
    rows: int
    width: int  # ns of a bin
    lanes: int  # of a row


@dataclass(frozen=True)
class Geometry:
    """Of a run with so many ns and lanes."""

    duration: int
    lanes: int

    @property
    def deepest(self) -> int:
        """The finest level there can be."""
        bins = -(-self.duration // (BINS * NARROW))
        return max(LEVELS, (bins - 1).bit_length())

    @property
    def _most_lanes(self) -> int:
        """Of a row at level 0: a power of two."""
        rows = -(-max(1, self.lanes) // ROWS)
        return 1 << (rows - 1).bit_length()

    @property
    def first_whole(self) -> int:
        """The first level that has 512 bins and a row for each lane."""
        return max(1, self._most_lanes.bit_length() - 1)

    def level(self, z: int) -> Level:
        """Bins of the finest level are whole ns, so all are."""
        finest = -(-max(1, self.duration) // (BINS << self.deepest))
        width = finest << (self.deepest - z)
        lanes = max(1, self._most_lanes >> z)
        rows = -(-max(1, self.lanes) // lanes)
        return Level(z, -(-max(1, self.duration) // width), rows, width, lanes)

    def levels(self, deepest: int) -> list[Level]:
        """From the coarsest down to this one."""
        return [self.level(z) for z in range(deepest + 1)]
