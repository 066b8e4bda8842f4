"""What `fathom show` answers of the kernels, against what is known of them (kernels/README.md): which library, who calls and who
moves the bytes, which operation, in what order, which source line; at level `call`, and all but the line at `job`."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import fathom
import pytest
from fathom.analysis import Remembered
from fathom.analysis.answers import Answers, answers
from fathom.analysis.own import heat, own
from harness import needs, paths
from harness.runner import LAUNCH, MPI, STACK_ENV

KERNELS = paths.BUILD / "kernels"
SOURCES = paths.ROOT / "kernels"
BUFFERED = "-m collective -H romio_cb_write=enable -H romio_cb_read=enable"
OFF = "-m independent -H romio_ds_write=disable -H romio_ds_read=disable"
MPIIO, HDF5, PNETCDF = ["mpiio", "posix"], ["hdf5", "mpiio", "posix"], ["pnetcdf", "mpiio", "posix"]


@dataclass(frozen=True)
class Kernel:
    """A run of a kernel on 4 ranks, and what is known of it."""

    name: str
    arguments: str
    stack: list[str]  # the library that the program calls, and what that stands on
    moving: str  # who moves the bytes: one (rank 0, the aggregator), all
    writes: str | None  # function of the program's own that writes; null: none does
    reads: str | None
    source: str  # file whose lines call them
    mpi: str = "mpich"
    collective: float | None = None  # share of MPI-IO's data time that is collective
    before: str = ""
    besides: str = ""  # layer that the program calls directly too


FORM = "common/form_{}.c"
KNOWN = [
    Kernel("s3d_mpiio", f"-r {BUFFERED} -c 2 12 12 12 2 2 1", MPIIO, "one", "MPI_File_write_all", "MPI_File_read_all", "mpiio", collective=1.0),
    Kernel("s3d_mpiio", f"-r {OFF} -c 2 12 12 12 2 2 1", MPIIO, "all", "MPI_File_write", "MPI_File_read", "mpiio", collective=0.0),
    Kernel("s3d_hdf5", f"{BUFFERED} -c 2 12 12 12 2 2 1", HDF5, "one", "H5Dwrite", None, "hdf5"),
    Kernel("s3d_pnetcdf", f"{BUFFERED} -c 2 8 8 8 2 2 1", PNETCDF, "one", "ncmpi_put_vara_all", None, "pnetcdf", mpi="romio321", collective=1.0),
    Kernel("flash_hdf5", "-m independent -x 4 -b 8 -f c", HDF5, "all", "H5Dwrite", None, "hdf5"),
    Kernel("flash_pnetcdf", "-m independent -x 4 -b 8 -f c", PNETCDF, "all", "ncmpi_put_vara", None, "pnetcdf", mpi="romio321"),
    Kernel("vpic_hdf5", "-r -p 10000", HDF5, "all", "H5Dwrite", "H5Dread", "hdf5"),
    Kernel("vorpal_hdf5", "-m independent -t 2 8 8 8 1 2 1 1 2 2", HDF5, "all", "H5Dwrite", None, "hdf5"),
    Kernel("gcrm_hdf5", f"{BUFFERED} -l 3 4 4", HDF5, "one", "H5Dwrite", None, "hdf5"),
    Kernel("chombo_hdf5", "-b 20 -l 2 -c 5", HDF5, "all", "H5Dwrite", None, "hdf5"),
    Kernel("athena_mpiio", f"{BUFFERED} -t 2 -s 2 -l 3 -x 16", MPIIO, "one", "MPI_File_write_all", None, "mpiio", besides="posix"),
    Kernel("ior_posix", "-r -F 2 65536 16384", ["posix"], "all", "pwrite", "pread", "posix"),
    Kernel("ior_mpiio", "-r -m independent 2 65536 16384", MPIIO, "all", "MPI_File_write_at", "MPI_File_read_at", "mpiio", collective=0.0),
    Kernel("synthetic_mpiio", f"{BUFFERED} column 64 64", MPIIO, "one", "MPI_File_write_all", None, "mpiio", collective=1.0),
    Kernel("tile_mpiio", f"-r {BUFFERED} -e 4 2 2 16 12 2 1", MPIIO, "one", "MPI_File_write_all", "MPI_File_read_all", "mpiio", collective=1.0),
    Kernel("volume_mpiio", f"-r {BUFFERED} 16 16 8 2 2 1", MPIIO, "one", None, "MPI_File_read_all", "mpiio", collective=1.0, before="volume_serial_netcdf -n 4 16 16 8 2 2 1"),
]  # fmt: skip


def trace(kernel: Kernel, level: str, tmp: Path) -> Remembered:
    """Runs it at this level."""
    needs.require(needs.of_mpi(kernel.mpi))
    program = KERNELS / f"{kernel.name}_{MPI[kernel.mpi]}"
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    out = tmp / "out"
    out.mkdir(exist_ok=True)
    if kernel.before:
        writer, *words = kernel.before.split()
        subprocess.run([KERNELS / writer, *words, out], check=True, timeout=60)
    command = [
        paths.FATHOM, "run", "--no-show", "--level", level, "-o", tmp / level, "--",
        *shlex.split(LAUNCH[kernel.mpi]), "-n", "4", program, *kernel.arguments.split(), out,
    ]  # fmt: skip
    import os

    subprocess.run(command, check=True, timeout=120, env={**os.environ, **STACK_ENV}, stdout=subprocess.DEVNULL)
    return Remembered(fathom.open(tmp / level))
