"""What is generated compiles without a warning, writes what a serial writer writes, and reads it back in other pieces.

`make test` has each library in each language, and each kernel; all of them together are `full`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import generated

S3D = ("32", "32", "32", "2", "2", "1")
VORPAL = ("20", "16", "12", "4", "2", "3", "2", "2", "1")
FLASH = (("blocks: 80", "blocks: 4"), ("int, 323", "int, 19"))
KERNELS = {
    "s3d": generated.Kernel("s3d", "s3d", S3D, "pressure_wave_test.0.000E+00.field"),
    "flash": generated.Kernel("flash", "flash", ("-b", "4", "-f", "c"), "flash_chk_0000", FLASH),
    "flash_plot": generated.Kernel(
        "flash_plot", "flash", ("-b", "4", "-f", "p"), "flash_plt_cnt_0000", FLASH
    ),
    "flash_corners": generated.Kernel(
        "flash_corners", "flash", ("-b", "4", "-f", "k"), "flash_plt_crn_0000", FLASH
    ),
    "vpic": generated.Kernel("vpic", "vpic", ("-p", "4096", "-u"), "vpic.0"),
    "vorpal": generated.Kernel("vorpal", "vorpal", VORPAL, "vorpalio"),
    "gcrm": generated.Kernel("gcrm", "gcrm", ("5", "2"), "prs"),
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


@pytest.mark.parametrize(("kernel", "library", "language", "mpi"), COVER)
def test_cover(kernel: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    generated.whole(KERNELS[kernel], library, language, mpi, 4, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("kernel", "library", "language", "mpi"), ALL)
def test_all(kernel: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    generated.whole(KERNELS[kernel], library, language, mpi, 4, tmp_path)
