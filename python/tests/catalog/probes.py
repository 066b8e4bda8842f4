"""What the tests of catalog/probes share: its files, and how C is compiled against a library's headers."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from fathom.catalog.load import load
from fathom.catalog.model import Api, Catalog

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "catalog" / "probes").glob("*.toml"))


@dataclass(frozen=True)
class Library:
    """One installed library that answers a layer's calls."""

    layer: str  # name of its file in catalog/probes
    name: str
    compiler: tuple[str, ...]
    shared: tuple[str, ...]  # sonames, all of which answer calls; of a wheel: globs of its files
    version: str = ""
    include: tuple[str, ...] = ()  # folders of its headers


LIBRARIES = (
    Library("posix", "glibc", ("gcc",), ("libc.so.6",)),
    Library("stdio", "glibc", ("gcc",), ("libc.so.6",)),
    Library("aio", "glibc", ("gcc",), ("libc.so.6",)),
    Library("threads", "glibc", ("gcc",), ("libc.so.6",)),
    Library("libaio", "libaio", ("gcc",), ("libaio.so.1",)),
    Library("uring", "liburing", ("gcc",), ("liburing.so.2",)),
    Library("mpiio", "mpich", ("mpicc.mpich",), ("libmpich.so.12",)),
    Library("mpiio", "openmpi", ("mpicc.openmpi",), ("libmpi.so.40",)),
    Library("mpi", "mpich", ("mpicc.mpich",), ("libmpich.so.12",)),
    Library("mpi", "openmpi", ("mpicc.openmpi",), ("libmpi.so.40",)),
    Library(
        "hdf5",
        "mpich",
        ("h5pcc.mpich", "mpicc.mpich"),
        ("libhdf5_mpich.so.103", "libhdf5_mpich_hl.so.100"),
    ),
    Library(
        "hdf5",
        "openmpi",
        ("h5pcc.openmpi", "mpicc.openmpi"),
        ("libhdf5_openmpi.so.103", "libhdf5_openmpi_hl.so.100"),
    ),
    # its own copy, of a version that Debian does not have
    Library("hdf5", "h5py", (), ("libhdf5-*.so*", "libhdf5_hl-*.so*")),
    # the compiler knows its functions without a header
    Library("fortran", "gfortran", ("gfortran",), ("libgfortran.so.5",)),
    Library("pnetcdf", "openmpi", ("mpicc.openmpi",), ("libpnetcdf.so.0d",)),
    Library("netcdf", "serial", ("mpicc.openmpi",), ("libnetcdf.so.19",)),
    Library(
        "netcdf",
        "openmpi",
        ("mpicc.openmpi",),
        ("libnetcdf_mpi.so.19",),
        include=("/usr/lib/x86_64-linux-gnu/netcdf/mpi/include",),
    ),
)


def compiled_for() -> tuple[Library, ...]:
    """Those whose headers are here."""
    return tuple(one for one in LIBRARIES if one.compiler and api_of(one.layer).headers)


def catalog() -> Catalog:
    return load(FILES)


def api_of(layer: str) -> Api:
    for api in catalog().apis:
        if api.path.stem == layer:
            return api
    pytest.skip(f"catalog/probes has no {layer}.toml")


def compiler(library: Library) -> str:
    path = shutil.which(library.compiler[0])
    if path is None:
        pytest.skip(f"{library.compiler[0]} is not installed")
    return path


def shared_objects(library: Library) -> list[Path]:
    """Where the dynamic loader finds the library's parts, or the wheel has them."""
    if not library.compiler:
        return _of_wheel(library)
    known = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
    ).stdout
    paths: dict[str, Path] = {}
    for line in known.splitlines():
        name, _, path = line.strip().partition(" => ")
        if path and name.split(" ")[0] in library.shared:
            paths.setdefault(name.split(" ")[0], Path(path))
    if len(paths) < len(library.shared):
        pytest.skip(f"{' or '.join(set(library.shared) - paths.keys())} is not installed")
    return list(paths.values())


def _of_wheel(library: Library) -> list[Path]:
    spec = importlib.util.find_spec(library.name)
    if spec is None or spec.origin is None:
        pytest.skip(f"the Python package {library.name} is not installed")
    folder = Path(spec.origin).parents[1] / f"{library.name}.libs"
    paths = [path for glob in library.shared for path in folder.glob(glob)]
    if len(paths) < len(library.shared):
        pytest.skip(f"{library.name} is not installed as a wheel")
    return paths
