"""Generates from a specification, builds by each stack's own compiler, runs, compares with a serial writer's file."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import needs, paths

SPECS = paths.ROOT / "examples" / "generate"
KERNELS = paths.BUILD / "kernels"
COMPILERS = {
    "c": ("mpicc", "-std=c11", ".c"),
    "c++": ("mpicxx", "-std=c++17", ".cpp"),
    "fortran": ("mpifort", "-std=f2008", ".f90"),
}
SUFFIX = {"pnetcdf": "nc", "netcdf4": "nc", "hdf5": "h5", "mpiio": "bin", "posix": "bin"}
LAUNCH = {
    "mpich": ["mpiexec.mpich"],
    "ompio": [*"mpiexec.openmpi --allow-run-as-root --oversubscribe --mca io ompio".split()],
    "romio321": [*"mpiexec.openmpi --allow-run-as-root --oversubscribe --mca io romio321".split()],
}


@dataclass(frozen=True)
class Kernel:
    """A specification, the serial writer of the same file and its arguments, the file it writes. `smaller`: what
    to replace in the specification so that it is the same in little, and the arguments that go with it."""

    spec: str
    serial: str
    arguments: tuple[str, ...]
    written: str
    smaller: tuple[tuple[str, str], ...] = ()


def command(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def fathom(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return command(sys.executable, "-m", "fathom", "generate", *words)


def flags(library: str, stack: str, language: str) -> list[str]:
    """Of the compiler; skips where the stack has no such library."""
    if library in ("mpiio", "posix"):
        return []
    package = {"pnetcdf": "pnetcdf", "netcdf4": "netcdf-mpi", "hdf5": f"hdf5-{stack}"}[library]
    if library != "hdf5" and stack == "mpich":
        pytest.skip(f"Debian builds {library} for Open MPI only")
    said = command("pkg-config", "--cflags", "--libs", package)
    if said.returncode:
        needs.require([f"library:{library}"])
        pytest.fail(said.stderr)
    found = shlex.split(said.stdout)
    if language == "fortran" and library == "hdf5":
        found += ["-lhdf5_fortran"]
    if (
        language == "fortran"
    ):  # modules lie beside the headers, or where the compiler's version has its own
        found += [f"-I{path.parent}" for path in Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod")]
    if library == "netcdf4":
        directory = command("pkg-config", "--variable=libdir", package).stdout.strip()
        found.append(f"-I{directory}/netcdf/mpi/include")
    return found


def build(out: Path, name: str, library: str, language: str, stack: str) -> Path:
    """The self-check program, warning-free."""
    needs.require([f"mpicc.{stack}", "pkg-config"])
    compiler, standard, suffix = COMPILERS[language]
    warnings = ["-Wall", "-Wextra", "-Werror", standard]
    if language != "fortran":
        warnings.append("-pedantic")
    sources = [f"{name}_io{suffix}", f"{name}_check{suffix}"]
    program = out / f"check_{stack}"
    more = flags(library, stack, language)
    done = command(f"{compiler}.{stack}", *warnings, "-o", program, *sources, *more, cwd=out)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return program


def run(program: Path, mpi: str, ranks: int, path: Path) -> None:
    """The program says that all it wrote was read back."""
    needs.require(needs.of_mpi(mpi))
    done = command(*LAUNCH[mpi], "-n", str(ranks), program, path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "written, read back and equal" in done.stdout


def check_equal(kernel: Kernel, library: str, ranks: int, mine: Path, tmp_path: Path) -> None:
    """Our file is the serial writer's: byte for byte, HDF5's by h5diff."""
    kind = {"pnetcdf": "_netcdf", "hdf5": "_hdf5"}.get(library, "")
    serial = KERNELS / f"{kernel.serial}_serial{kind}"
    if library == "netcdf4" or not serial.exists():
        return
    directory = tmp_path / "serial"
    directory.mkdir()
    done = command(serial, "-n", str(ranks), *kernel.arguments, directory)
    assert done.returncode == 0, done.stderr
    theirs = directory / f"{kernel.written}.{SUFFIX[library]}"
    if library == "hdf5":
        assert shutil.which("h5diff")
        done = command("h5diff", "-r", mine, theirs)
        assert done.returncode == 0, done.stdout
    else:
        assert mine.read_bytes() == theirs.read_bytes()


def whole(
    kernel: Kernel, library: str, language: str, mpi: str, ranks: int, tmp_path: Path
) -> None:
    """Generate, build, run, compare."""
    out, source = tmp_path / "out", tmp_path / f"{kernel.spec}.iog"
    text = (SPECS / source.name).read_text()
    for old, new in kernel.smaller:
        assert old in text
        text = text.replace(old, new)
    source.write_text(text)
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = build(out, kernel.spec, library, language, needs.MPI[mpi])
    mine = tmp_path / f"mine.{SUFFIX[library]}"
    run(program, mpi, ranks, mine)
    check_equal(kernel, library, ranks, mine, tmp_path)
