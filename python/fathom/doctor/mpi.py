"""MPI, HDF5 and batch system of this machine."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fathom.doctor.facts import file_system
from fathom.doctor.finding import Finding
from fathom.run import programs
from fathom.run.mpi import family

LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.mpich", "mpiexec.openmpi", "srun", "jsrun", "aprun")
HDF5_COMPILERS = ("h5pcc", "h5pcc.mpich", "h5pcc.openmpi", "h5cc")
BATCH = (
    ("Slurm", "SLURM_JOB_ID", "sbatch"),
    ("PBS", "PBS_JOBID", "qsub"),
    ("LSF", "LSB_JOBID", "bsub"),
)


@cache
def _printed(*command: str) -> str:
    """What a command prints; nothing when it cannot be run."""
    done = programs.ask(*command)
    return done.stdout + done.stderr if done else ""


def _launcher(path: str) -> str | None:
    return family(_printed(path, "--version"))


def launchers() -> Iterator[Finding]:
    """Which launchers are there, and of which MPI?"""
    launchers_in_path = {name: path for name in LAUNCHERS if (path := shutil.which(name))}
    if not launchers_in_path:
        detail = "no mpiexec, mpirun or srun in PATH: serial programs only"
        yield Finding("MPI", "limit", detail, "load the MPI module of your programs")
        return
    whose = {name: _launcher(path) for name, path in launchers_in_path.items()}
    described = ", ".join(
        f"{name} ({whose[name]})" if whose[name] else name for name in launchers_in_path
    )
    yield Finding("MPI", "ok", described)


def compilers() -> Iterator[Finding]:
    """Ranks started by the launcher of another MPI are so many jobs of one rank each."""
    compiler, launcher = shutil.which("mpicc"), shutil.which("mpiexec")
    if not compiler or not launcher:
        return
    shown = _printed(compiler, "-show")
    builds, starts = family(shown), _launcher(launcher)
    behind = next(iter(shown.split()), "")
    if builds and not shutil.which(behind):
        detail = f"mpicc calls {behind}, which is not there: nothing can be built"
        yield Finding("compiler", "limit", detail, f"install {behind}")
    elif builds and starts and builds != starts:
        detail = f"mpicc builds for {builds}, mpiexec starts {starts}: each rank would be alone"
        yield Finding("compiler", "problem", detail, f"call {builds}'s mpiexec by its full name")
    elif builds:
        yield Finding("compiler", "ok", f"mpicc builds for {builds}")


def open_mpi_io() -> Iterator[Finding]:
    """OMPIO, Open MPI's default for files, reads no ROMIO hints and hides its exchange."""
    ompi_info = shutil.which("ompi_info")
    if not ompi_info:
        return
    parameters = _printed(ompi_info, "--all", "--parsable").splitlines()
    chosen = next(
        (line.rpartition(":")[2] for line in parameters if ":param:io:value:" in line), ""
    )
    romio = next((line.split(":")[2] for line in parameters if line.startswith("mca:io:romio")), "")
    if chosen.startswith("romio"):
        yield Finding(
            "Open MPI's files", "ok", f"{chosen}: ROMIO's hints hold, the exchange is seen"
        )
        return
    detail = "OMPIO: ROMIO's hints (romio_*) do nothing, and its exchange is not seen"
    if os.environ.get("ROMIO_HINTS"):
        detail += "; ROMIO_HINTS is set, and nobody reads it"
    advice = "use MPICH, or an Open MPI built with ROMIO, where that matters"
    if romio:
        advice = f"mpiexec --mca io {romio}, or export OMPI_MCA_io={romio}"
    yield Finding("Open MPI's files", "limit", detail, advice)


def hdf5() -> Iterator[Finding]:
    """A compiler that links HDF5 in hides its calls."""
    static = [
        name
        for name in HDF5_COMPILERS
        if (path := shutil.which(name)) and "libhdf5.a" in _printed(path, "-show")
    ]
    if static:
        detail = f"linked statically by {', '.join(static)}: no call of it is seen, those below are"
        yield Finding("HDF5", "limit", detail, f"{static[0]} -shlib")


def batch() -> Iterator[Finding]:
    """Are we in a job of a batch system, or on a machine that has one?"""
    for name, variable, command in BATCH:
        job = os.environ.get(variable)
        if job:
            yield Finding(
                "batch",
                "ok",
                f'in job {job} of {name}; in its script: eval "$(fathom env -o NAME)"',
            )
            yield from _shared(name)
            return
        if shutil.which(command):
            yield Finding(
                "batch", "ok", f"{name}; run fathom doctor on a compute node too, in a job"
            )
            return


def _shared(system: str) -> Iterator[Finding]:
    """Several nodes need a run directory that all of them see."""
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "1")
    if (
        system == "Slurm"
        and nodes != "1"
        and file_system(Path.cwd()) in ("tmpfs", "ramfs", "overlay")
    ):
        detail = f"{Path.cwd()} is this node's own, and the job has {nodes} nodes"
        yield Finding(
            "run directory", "problem", detail, "name one on a shared file system with -o"
        )


CHECKS = (launchers, compilers, open_mpi_io, hdf5, batch)
