"""What is generated compiles without a warning, writes what a serial writer writes, and reads it back in other pieces.

`make test` has each library, each language and each kernel at least once; all of them together are `full`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import generated

KERNELS = {
    "s3d": generated.Kernel(
        "s3d", "s3d", ("32", "32", "32", "2", "2", "1"), "pressure_wave_test.0.000E+00.field"
    ),
}
#: kernel, library, language, MPI-IO
COVER = [
    ("s3d", "pnetcdf", "c", "romio321"),
]


@pytest.mark.parametrize(("kernel", "library", "language", "mpi"), COVER)
def test_cover(kernel: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    generated.whole(KERNELS[kernel], library, language, mpi, 4, tmp_path)
