"""What is generated compiles without a warning, writes what a serial writer writes, and reads it back in other pieces.

`make test` has each library in each language, and each kernel; all of them together are `full`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import generated

S3D = ("32", "32", "32", "2", "2", "1")
VORPAL = ("20", "16", "12", "4", "2", "3", "2", "2", "1")
#: A grid of processes for 1, 2, 4, 8.
GRID = (
    ("npx: 2;", "npx: min(nprocs, 2);"),
    ("npy: 2;", "npy: max(1, min(div(nprocs, 2), 2));"),
    ("npz: nprocs / 4;", "npz: max(1, div(nprocs, 4));"),
)
#: As many blocks, or particles, as four ranks of the kernel have, in pieces as even as they can be.
BLOCKS = "blocks: div(19 * (rank + 1), nprocs) - div(19 * rank, nprocs)"
FLASH = (("blocks: 80 + rank % 3", BLOCKS),)
PARTICLES = "count: div(18432 * (rank + 1), nprocs) - div(18432 * rank, nprocs)"
VPIC = (("count: 4096 + rank % 3 % 2 * 2048", PARTICLES),)


def flash(name: str, file: str, written: str) -> generated.Kernel:
    arguments = ("-b", "4", "-f", file)
    return generated.Kernel(name, "flash", arguments, written, (1, 2, 3, 4), FLASH)


#: VORPAL's rule gives each grid of processes an array of its own: so its array has one.
KERNELS = {
    "s3d": generated.Kernel(
        "s3d", "s3d", S3D, "pressure_wave_test.0.000E+00.field", (1, 2, 4, 8), GRID
    ),
    "flash": flash("flash", "c", "flash_chk_0000"),
    "flash_plot": flash("flash_plot", "p", "flash_plt_cnt_0000"),
    "flash_corners": flash("flash_corners", "k", "flash_plt_crn_0000"),
    "vpic": generated.Kernel("vpic", "vpic", ("-p", "4096", "-u"), "vpic.0", (1, 2, 3, 4), VPIC),
    "vorpal": generated.Kernel("vorpal", "vorpal", VORPAL, "vorpalio"),
    "gcrm": generated.Kernel("gcrm", "gcrm", ("5", "2"), "prs", (1, 2, 4, 5)),
}
#: kernel, library, language, MPI-IO: each library in each language, each kernel in each language or nearly
COVER = [
    ("s3d", "pnetcdf", "c", "romio321"),
    ("flash", "pnetcdf", "c++", "romio321"),
    ("flash_plot", "pnetcdf", "fortran", "ompio"),
    ("flash", "hdf5", "c", "mpich"),
    ("vpic", "hdf5", "c++", "ompio"),
    ("s3d", "hdf5", "fortran", "mpich"),
    ("flash_corners", "mpiio", "c", "mpich"),
    ("s3d", "mpiio", "c++", "romio321"),
    ("flash", "mpiio", "fortran", "romio321"),
    ("vpic", "netcdf4", "c", "romio321"),
    ("flash_plot", "netcdf4", "c++", "ompio"),
    ("vorpal", "posix", "c", "mpich"),
    ("gcrm", "posix", "c++", "mpich"),
    ("vorpal", "posix", "fortran", "ompio"),
]
LIBRARIES = ("pnetcdf", "hdf5", "mpiio", "netcdf4", "posix")
LANGUAGES = ("c", "c++", "fortran")
ALL = [
    (kernel, library, language, mpi)
    for kernel in KERNELS
    for library in LIBRARIES
    for language in LANGUAGES
    for mpi in ("mpich", "ompio", "romio321")
    if mpi != "mpich" or library not in ("pnetcdf", "netcdf4")
    if language != "fortran" or library != "netcdf4"
]


@pytest.mark.some(5)
@pytest.mark.parametrize(("kernel", "library", "language", "mpi"), COVER)
def test_cover(kernel: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    generated.whole(KERNELS[kernel], library, language, mpi, (4,), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("kernel", "library", "language", "mpi"), ALL)
def test_all(kernel: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    generated.whole(KERNELS[kernel], library, language, mpi, KERNELS[kernel].ranks, tmp_path)
