"""How time and lanes are cut: level z has up to 256·2^z bins of time and 64·2^z rows of lanes, and its bins and rows
lie whole in those of the level before."""

from dataclasses import dataclass

BINS, ROWS = 256, 64
#: Finest level there can be.
DEEPEST = 10


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
    """Of a run with so many ns and lanes, down to level `deepest`."""

    duration: int
    lanes: int
    deepest: int = DEEPEST

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
        """Bins of the deepest level that is ever made are whole ns, so all are."""
        finest = -(-max(1, self.duration) // (BINS << DEEPEST))
        width = finest << (DEEPEST - z)
        lanes = max(1, self._most_lanes >> z)
        rows = -(-max(1, self.lanes) // lanes)
        return Level(z, -(-max(1, self.duration) // width), rows, width, lanes)

    @property
    def levels(self) -> list[Level]:
        """From the coarsest down."""
        return [self.level(z) for z in range(self.deepest + 1)]
