"""The I/O stacks of this machine that knobs are proved on, and what tells one from another."""

import hashlib
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fathom.run import mpi, paths, programs

#: Open MPI's ROMIO, whose name is another in each version.
ROMIO = {"OMPI_MCA_io": "^ompio"}
#: Stack -> API of its program, MPI, pkg-config's name, launch variables. `romio321` is Open MPI's ROMIO of any version.
STACKS = {
    "mpich": ("mpiio", "mpich", "", {}),
    "romio321": ("mpiio", "openmpi", "", ROMIO),
    "ompio": ("mpiio", "openmpi", "", {"OMPI_MCA_io": "ompio"}),
    "hdf5-mpich": ("hdf5", "mpich", "hdf5-mpich", {}),
    "hdf5-openmpi": ("hdf5", "openmpi", "hdf5-openmpi", ROMIO),
    "pnetcdf": ("pnetcdf", "openmpi", "pnetcdf", ROMIO),
    "forward": ("mpiio", "mpich", "", {}),
}
#: Ranks of one node by more processes than it has processors, as root where that is who we are.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@dataclass(frozen=True)
class Stack:
    """One of them."""

    name: str
    api: str  # of the program that it is proved with
    compiler: str
    launcher: str
    flags: tuple[str, ...]
    environment: dict[str, str]
    fingerprint: str

    @property
    def servers(self) -> int:
        """Forwarding servers between the program and the disk."""
        return 2 if self.name == "forward" else 0


def _printed(*words: str) -> str:
    done = programs.ask(*words)
    return done.stdout if done and done.returncode == 0 else ""


def named(tool: str, family: str) -> str | None:
    """`mpicc.mpich`, or a plain `mpicc` that is of this family."""
    of_family = shutil.which(f"{tool}.{family}")
    plain = shutil.which(tool)
    if of_family or not plain:
        return of_family
    return (
        plain
        if mpi.kind(_printed(plain, "-show") + _printed(plain, "--version")) == family
        else None
    )


@cache
def installed_stacks() -> dict[str, Stack]:
    """Those of this machine, by name."""
    return {stack.name: stack for stack in _find()}


def _find() -> Iterator[Stack]:
    for name, (api, family, package, variables) in STACKS.items():
        compiler, launcher = named("mpicc", family), named("mpiexec", family)
        if not compiler or not launcher:
            continue
        flags = (
            shlex.split(_printed("pkg-config", "--cflags", "--libs", package)) if package else []
        )
        if package and not flags:
            continue
        environment = variables | (OPEN_MPI if family == "openmpi" else {})
        versions = (_printed(launcher, "--version"), _printed(compiler, "-show"))
        packaged = _printed("pkg-config", "--modversion", package) if package else ""
        sign = "\n".join((name, *versions, packaged, " ".join(flags), *_files(compiler), _ours()))
        yield Stack(
            name, api, compiler, launcher, tuple(flags), environment,
            hashlib.sha256(sign.encode()).hexdigest()[:16],
        )  # fmt: skip


def _files(compiler: str) -> Iterator[str]:
    """The MPI's libraries, as files: an update changes them."""
    for word in shlex.split(_printed(compiler, "-show")):
        if word.startswith("-L"):
            for path in sorted(Path(word[2:]).glob("libmpi*.so")):
                real = path.resolve()
                yield f"{real} {real.stat().st_mtime_ns}"


def _ours() -> str:
    library = paths.library()
    return str(library.stat().st_mtime_ns) if library else ""
