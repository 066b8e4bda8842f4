"""Versions of libraries that a run tells are those that the libraries' own packages tell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import needs, paths, runner, tables

PYTHON = """
import h5py, netCDF4
netCDF4.Dataset("x.nc", "w").close()
h5py.File("x.h5", "w").close()
netcdf = netCDF4.__netcdf4libversion__, netCDF4.__hdf5libversion__
print(*sorted({f"HDF5 {h5py.version.hdf5_version}", f"HDF5 {netcdf[1]}", f"netCDF {netcdf[0]}"}), sep=", ")
"""


def told(tmp: Path, *command: object) -> tuple[str, set[str | None]]:
    """What the program says, and what its processes used."""
    words = [paths.FATHOM, "run", "--no-show", "-o", "run", "--", *command]
    done = subprocess.run(
        [str(word) for word in words], cwd=tmp, capture_output=True, text=True, timeout=300, check=True
    )  # fmt: skip
    rows = tables.ask(tables.connect(tmp / "run.fathom"), "select libraries from processes")
    return done.stdout.strip(), {row[0] for row in rows}


def test_each_copy_of_a_library_tells_its_own(tmp_path: Path) -> None:
    said, libraries = told(tmp_path, paths.PYTHON, "-c", PYTHON)
    assert any({*said.split(", ")} <= {*(text or "").split(", ")} for text in libraries)


PACKAGES = """
import importlib.metadata, os
import fsspec, h5py
h5py.File("x.h5", "w").close()
print(*sorted(
    [f"{name} {importlib.metadata.version(name)}" for name in ("fsspec", "h5py", "numpy")]
    + [f"HDF5 {h5py.version.hdf5_version}"]
), sep=", ", flush=True)
if os.fork() == 0:
    h5py.File("y.h5", "w").close()
    os._exit(0)
os.wait()
"""


def test_python_s_packages_are_told_and_a_fork_s_child_has_its_parent_s(tmp_path: Path) -> None:
    said, libraries = told(tmp_path, paths.PYTHON, "-c", PACKAGES)
    without_scripts = ", ".join(part for part in said.split(", ") if not part.startswith("fsspec"))
    assert {said, without_scripts} <= libraries


def packaged(name: str) -> str:
    words = ["pkg-config", "--modversion", name]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("mpi", "name", "package"), [("mpich", "MPICH", "mpich"), ("ompio", "Open MPI", "ompi")]
)
def test_of_mpi_and_what_lies_on_it(tmp_path: Path, mpi: str, name: str, package: str) -> None:
    needs.require([*needs.of_mpi(mpi), "pkg-config"])
    kernel = paths.BUILD / "kernels" / f"flash_hdf5_{needs.MPI[mpi]}"
    _, libraries = told(tmp_path, *runner.LAUNCH[mpi].split(), "-n", 2, kernel, tmp_path)
    hdf5 = packaged(f"hdf5-{needs.MPI[mpi]}")
    assert libraries == {f"HDF5 {hdf5}, {name} {packaged(package)}"}
