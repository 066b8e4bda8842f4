"""The shape of the slides' tables follows from the arrays' extents: so it holds on any machine, to the byte."""

from __future__ import annotations

import pytest
import slides
from slides import S3D_GRID, SLICE, VOLUME_GRID

COMPONENTS = (11, 3, 1, 1)  # of S3D's variables
RANKS = 16
WINDOW = 4 << 20
POINTS, PARTS = S3D_GRID
OWN = [points // parts for points, parts in zip(POINTS, PARTS, strict=True)]
FIELD = POINTS[0] * POINTS[1] * POINTS[2]
ROWS = RANKS * OWN[1] * OWN[2] * sum(COMPONENTS)
ALL = 8 * FIELD * sum(COMPONENTS)


def windows(components: int) -> list[int]:
    """Bytes of the windows through which data sieving writes a rank's part of one variable: each begins at a byte
    that is the rank's, and is as long as the buffer, or ends with the last such byte."""
    row = 8 * OWN[0]
    starts = [
        8 * (c * FIELD + z * POINTS[0] * POINTS[1] + y * POINTS[0])
        for c in range(components)
        for z in range(OWN[2])
        for y in range(OWN[1])
    ]
    last = starts[-1] + row
    sizes = [min(WINDOW, last)]
    done = sizes[0]
    while done < last:
        begin = next(max(start, done) for start in starts if start + row > done)
        sizes.append(min(WINDOW, last - begin))
        done = begin + sizes[-1]
    return sizes


@pytest.mark.full
@pytest.mark.parametrize("form", slides.S3D, ids=lambda form: form.name)
def test_s3d_is_the_slides_table(form: slides.Form) -> None:
    counts_of = slides.s3d(form)
    neither, sieving, buffering = counts_of["neither"], counts_of["sieving"], counts_of["buffering"]
    #: Of headers and metadata: none in plain files, one header in PnetCDF, a few small pieces in HDF5.
    few = {"MPI-IO": range(1), "PnetCDF": range(1, 2), "HDF5": range(1, 80)}[form.name]
    sieved = [size for components in COMPONENTS for size in windows(components)] * RANKS
    assert (ROWS, len(sieved)) == (102_400, 80)
    assert neither.writes - ROWS in few
    assert sieving.writes - len(sieved) in few
    assert buffering.writes - len(COMPONENTS) in few
    assert neither.reads == buffering.reads == 0 or form.name == "HDF5"
    assert neither.written - ALL == buffering.written - ALL < 16384
    assert sieving.written - sum(sieved) == neither.written - ALL
    # At a new file's end a window is read in two pieces, and there is less to be read than written.
    assert len(sieved) <= sieving.reads <= 2 * len(sieved) + len(few)
    assert sieving.bytes_read <= sieving.written
    assert sieving.locks >= 2 * RANKS * len(COMPONENTS)
    assert neither.locks == buffering.locks == 0
    assert neither.unaligned > 0.9 * ROWS
    if form.name == "PnetCDF":
        assert {one.mpiio_writes for one in counts_of.values()} == {RANKS * len(COMPONENTS) + 1}


@pytest.mark.full
def test_volume_is_the_slides_table() -> None:
    raw, plain, hints, hdf5, fixed = (slides.volume(access) for access in slides.VOLUME)
    slices = VOLUME_GRID[0][2]
    useful = slices * SLICE
    between = (5 * (slices - 1) + 1) * SLICE  # from the variable's first record to its last
    buffers = -(-between // (16 << 20))
    assert (raw.reads, raw.bytes_read) == (1, useful)
    assert 0 <= plain.bytes_read - between < 1 << 19  # and the header
    assert buffers <= plain.reads <= buffers + 2
    assert 0 <= hints.bytes_read - useful < 1 << 19
    assert slices <= hints.reads <= slices + 2
    assert 0 <= hdf5.bytes_read - useful < 1 << 19
    assert hdf5.reads > 3 * 8  # every rank reads the metadata for itself
    assert 0 <= fixed.bytes_read - useful < 1 << 19
    assert fixed.reads <= 3
    assert raw.reads <= fixed.reads < plain.reads < hints.reads
    assert useful / plain.bytes_read < 0.23 < 0.9 < useful / hints.bytes_read
