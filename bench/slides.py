"""Two tables of the tutorial "Parallel I/O in Practice", from runs on this machine: what collective buffering and
data sieving make of S3D's checkpoint, and what it costs to read one variable of five in each way.

    python bench/slides.py > tables.md

Sizes are the slides' where they fit: S3D's 6.25 MiB on 16 ranks are theirs; the volume is 8 MiB of 40 instead of
5.2 GiB of 26. Counts are exact, and follow from the extents (bench/test_slides.py); seconds are those of an
oversubscribed machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import FATHOM, ROOT, BenchError, fathom_run, run, scratch

MPICH: list[str | Path] = ["mpiexec.mpich"]
# PnetCDF is built for Open MPI; ROMIO's hints need its romio321.
ROMIO321: list[str | Path] = [
    *("mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "io", "romio321"),
]
QUIET = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}
COUNTS = """
select
	sum(calls) filter (layer = 'posix' and c.kind = 'write') as writes,
	sum(bytes) filter (layer = 'posix' and c.kind = 'write') as written,
	sum(calls) filter (layer = 'posix' and c.kind = 'read') as reads,
	sum(bytes) filter (layer = 'posix' and c.kind = 'read') as bytes_read,
	sum(calls) filter (layer = 'mpiio' and c.kind = 'write') as mpiio_writes,
	sum(calls) filter (layer = 'mpiio' and op in ('MPI_File_read_all', 'MPI_File_read_at_all')) as mpiio_reads,
	sum(unaligned_file) filter (layer = 'posix' and c.kind in ('read', 'write')) as unaligned,
	sum(calls) filter (layer = 'posix' and op = 'fcntl' and enclosing_layer = 'mpiio') as locks
from counters as c join files using (file)
where path like '%.field.%' or path like '%/volume.%'
"""
FIELDS = (
    "writes",
    "written",
    "reads",
    "bytes_read",
    "mpiio_writes",
    "mpiio_reads",
    "unaligned",
    "locks",
)


@dataclass(frozen=True)
class Counts:
    """Of one run: what reached the files."""

    writes: int
    written: int
    reads: int
    bytes_read: int
    mpiio_writes: int
    mpiio_reads: int
    unaligned: int
    locks: int
    job_seconds: float


@dataclass(frozen=True)
class Form:
    """A kernel's program and how it is started."""

    name: str
    program: str
    launch: list[str | Path]


S3D = [
    Form("MPI-IO", "s3d_mpiio_mpich", MPICH),
    Form("HDF5", "s3d_hdf5_mpich", MPICH),
    Form("PnetCDF", "s3d_pnetcdf_openmpi", ROMIO321),
]
#: Points, and ranks in x, y, z: 51,200 points of 16 doubles; a rank's rows are 64 bytes long.
S3D_GRID = ((32, 40, 40), (4, 2, 2))
NO_CB = {"romio_cb_write": "disable"}
S3D_HINTS = {
    "neither": {**NO_CB, "romio_ds_write": "disable"},
    # A window of 4 MiB: with ROMIO's usual 512 KiB it would be more, smaller windows over the same bytes.
    "sieving": {**NO_CB, "romio_ds_write": "enable", "ind_wr_buffer_size": str(4 << 20)},
    "buffering": {"romio_cb_write": "enable"},
}
#: Points, and ranks in x, y, z, of five variables of floats: slices of 256 KiB, 8 MiB a variable.
VOLUME_GRID = ((256, 256, 32), (2, 2, 2))
SLICE = 256 * 256 * 4


@dataclass(frozen=True)
class Access:
    """A way to read the volume."""

    name: str
    form: Form
    options: list[str]
    hints: dict[str, str]


PNETCDF = Form("PnetCDF", "volume_pnetcdf_openmpi", ROMIO321)
READING = {"romio_cb_read": "enable"}
VOLUME = [
    Access("MPI-IO, raw data", Form("raw", "volume_raw_mpich", MPICH), ["-f", "-c", "1"], READING),
    Access("PnetCDF, no hints", PNETCDF, ["-m", "nonblocking"], {}),
    Access(
        "PnetCDF, hints", PNETCDF, ["-m", "nonblocking"], {**READING, "cb_buffer_size": str(SLICE)}
    ),
    Access("HDF5", Form("HDF5", "volume_hdf5_mpich", MPICH), ["-f"], READING),
    Access("PnetCDF, fixed variable", PNETCDF, ["-f"], READING),
]


def measure(
    form: Form, options: list[str], hints: dict[str, str], grid: tuple[object, ...]
) -> Counts:
    """One traced run in a scratch directory."""
    points, ranks = grid
    assert isinstance(points, tuple)
    assert isinstance(ranks, tuple)
    many = ranks[0] * ranks[1] * ranks[2]
    words: list[str | Path] = [*form.launch, "-n", str(many), ROOT / "build/kernels" / form.program]
    words += options
    for key, value in hints.items():
        words += ["-H", f"{key}={value}"]
    with scratch() as directory:
        (directory / "out").mkdir()
        grid_words = [str(number) for number in (*points, *ranks)]
        output = run(
            [*fathom_run(directory / "run.fathom"), *words, *grid_words, directory / "out"], QUIET
        )
        answer = run([FATHOM, "query", directory / "run.fathom", "--json", "--sql", COUNTS])
    seconds = re.search(r"^job_seconds=([0-9.]+)$", output, re.MULTILINE)
    if not seconds:
        raise BenchError(f"{form.program} printed no job_seconds")
    (row,) = json.loads(answer)
    counts = {name: int(row[name] or 0) for name in FIELDS}
    return Counts(**counts, job_seconds=float(seconds[1]))


def s3d(form: Form) -> dict[str, Counts]:
    """One checkpoint with neither optimisation, with data sieving, with collective buffering."""
    return {name: measure(form, ["-c", "1"], hints, S3D_GRID) for name, hints in S3D_HINTS.items()}


def volume(access: Access) -> Counts:
    """The variable written, then read back in blocks."""
    return measure(access.form, ["-r", *access.options], access.hints, VOLUME_GRID)


def mib(value: int) -> str:
    return f"{value / (1 << 20):,.2f}"


def print_s3d() -> None:
    slide = {
        "POSIX writes": ("102,401", "81", "5"),
        "POSIX reads": ("0", "80", "0"),
        "MPI-IO writes": ("64", "64", "64"),
        "unaligned in file": ("102,399", "80", "4"),
        "MiB written": ("6.25", "87.11", "6.25"),
        "seconds": ("1,443", "11", "6.0"),
    }
    counts_of = {form.name: list(s3d(form).values()) for form in S3D}
    print("| | | neither | data sieving | collective buffering |\n|---|---|---|---|---|")
    rows: dict[str, Callable[[Counts], str]] = {
        "POSIX writes": lambda c: f"{c.writes:,}",
        "POSIX reads": lambda c: f"{c.reads:,}",
        "MPI-IO writes": lambda c: f"{c.mpiio_writes:,}",
        "unaligned in file": lambda c: f"{c.unaligned:,}",
        "MiB written": lambda c: mib(c.written),
        "MiB read": lambda c: mib(c.bytes_read),
        "locks taken or released": lambda c: f"{c.locks:,}",
        "seconds": lambda c: f"{c.job_seconds:.1f}",
    }
    for what, say in rows.items():
        if what in slide:
            print(f"| {what} | slides | {' | '.join(slide[what])} |")
        for name, counts in counts_of.items():
            print(f"| {what} | {name} | {' | '.join(say(count) for count in counts)} |")


def print_volume() -> None:
    slide = {
        "MPI-IO, raw data": "960 of 7,126 MB, 75.20 %",
        "PnetCDF, no hints": "1,863 of 24,200 MB, 22.15 %",
        "PnetCDF, hints": "2,178 of 7,848 MB, 68.29 %",
        "HDF5": "23,450 of 7,270 MB, 73.72 %",
        "PnetCDF, fixed variable": "923 of 7,262 MB, 73.79 %",
    }
    useful = VOLUME_GRID[0][2] * SLICE
    print(
        "| | accesses | MiB read | asked / moved | seconds | slides: accesses, read, efficiency |"
    )
    print("|---|---|---|---|---|---|")
    for access in VOLUME:
        counts = volume(access)
        efficiency = f"{100 * useful / counts.bytes_read:.1f} %"
        print(
            f"| {access.name} | {counts.reads:,} | {mib(counts.bytes_read)} | {efficiency} "
            f"| {counts.job_seconds:.1f} | {slide[access.name]} |"
        )


if __name__ == "__main__":
    print_s3d()
    print()
    print_volume()
