"""How time and lanes are cut: zoom z has up to 256·2^z bins of time and 64·2^z rows of lanes, and its bins and rows
lie whole in those of the zoom before."""

from dataclasses import dataclass

BINS, ROWS = 256, 64
#: So many zooms there can be at least; of a long run more, until a bin is as narrow as this many ns.
ZOOMS, NARROW = 10, 50_000


@dataclass(frozen=True)
class Zoom:
    """One zoom of a run."""

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
        """The finest zoom there can be."""
        bins = -(-self.duration // (BINS * NARROW))
        return max(ZOOMS, (bins - 1).bit_length())

    @property
    def _most_lanes(self) -> int:
        """Of a row at zoom 0: a power of two."""
        rows = -(-max(1, self.lanes) // ROWS)
        return 1 << (rows - 1).bit_length()

    @property
    def first_whole(self) -> int:
        """The first zoom that has 512 bins and a row for each lane."""
        return max(1, self._most_lanes.bit_length() - 1)

    def zoom(self, z: int) -> Zoom:
        """Bins of the finest zoom are whole ns, so all are."""
        finest = -(-max(1, self.duration) // (BINS << self.deepest))
        width = finest << (self.deepest - z)
        lanes = max(1, self._most_lanes >> z)
        rows = -(-max(1, self.lanes) // lanes)
        return Zoom(z, -(-max(1, self.duration) // width), rows, width, lanes)

    def zooms(self, deepest: int) -> list[Zoom]:
        """From the coarsest down to this one."""
        return [self.zoom(z) for z in range(deepest + 1)]
