"""Generates from a specification, builds by each stack's own compiler, runs, compares with a serial writer's file."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import pytest
from fathom.codegen.generate.build import read
from fathom.codegen.generate.command import checked
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.spec import Variable

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
    """A specification, the serial writer of the same file and its arguments, the file it writes. `ranks`: the numbers
    of processes that may cut that file's arrays. `fixed`: what to replace in the specification so that its arrays
    are those of the serial writer, small and the same for all of these."""

    spec: str
    serial: str
    arguments: tuple[str, ...]
    written: str
    ranks: tuple[int, ...] = (4,)
    fixed: tuple[tuple[str, str], ...] = ()


def planes(text: str) -> str:
    """The example `ghost` with planes instead of columns for each rank: ranks follow each other in the file."""
    columns = "0, z, 0, y, rank * (x / nprocs), x / nprocs"
    around = text.partition(" in ")[2].partition(" from")[0]
    text = text.replace(columns, "rank * (z / nprocs), z / nprocs, 0, y, 0, x")
    return text.replace(around, "<z / nprocs + 4, y + 4, x + 4>").replace("z: 6;", "z: 8;")


def command(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, cwd=cwd)


def fathom(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return command(sys.executable, "-m", "fathom", "generate", *words)


def check_refused(path: Path, text: str, line: int, says: str) -> None:
    """The specification is wrong at that line: what is wrong, a caret below the place, a remedy."""
    path.write_text(text)
    with pytest.raises(Mistake) as caught:
        checked(path, {})
    first, *rest = str(caught.value).splitlines()
    assert f"{path.name}:{line}:" in first
    assert says in first
    caret = rest[1].index("^")
    assert caret - 1 == caught.value.place.column
    assert rest[-1].startswith("  → ")


def flags(library: str, stack: str, language: str) -> list[str]:
    """Of the compiler; skips where the stack has no such library."""
    if library in ("mpiio", "posix"):
        return []
    package = {"pnetcdf": "pnetcdf", "netcdf4": "netcdf-mpi", "hdf5": f"hdf5-{stack}"}[library]
    if library != "hdf5" and stack == "mpich":
        pytest.skip(f"Debian builds {library} for Open MPI only")
    answered = command("pkg-config", "--cflags", "--libs", package)
    if answered.returncode:
        needs.require([f"library:{library}"])
        pytest.fail(answered.stderr)
    words = shlex.split(answered.stdout)
    if language == "fortran" and library == "hdf5":
        words += ["-lhdf5_fortran"]
    if (
        language == "fortran"
    ):  # modules lie beside the headers, or where the compiler's version has its own
        words += [f"-I{path.parent}" for path in Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod")]
    if library == "netcdf4":
        directory = command("pkg-config", "--variable=libdir", package).stdout.strip()
        words.append(f"-I{directory}/netcdf/mpi/include")
    return words


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


def serial_file(kernel: Kernel, library: str, tmp_path: Path) -> Path:
    """What the serial writer writes: of this library's kind of file if there is one, else with HDF5."""
    kind = {"pnetcdf": "_netcdf", "mpiio": "", "posix": ""}.get(library, "_hdf5")
    if not (KERNELS / f"{kernel.serial}_serial{kind}").exists():
        kind = "_hdf5"
    serial = KERNELS / f"{kernel.serial}_serial{kind}"
    if not serial.exists():
        pytest.skip(f"{serial.name} is not built: its library is not installed")
    directory = tmp_path / "serial"
    directory.mkdir()
    done = command(serial, "-n", "4", *kernel.arguments, directory)
    assert done.returncode == 0, done.stderr
    suffix = {"_netcdf": "nc", "_hdf5": "h5", "": "bin"}[kind]
    return directory / f"{kernel.written}.{suffix}"


def check_equal(library: str, variables: list[Variable], mine: Path, theirs: Path) -> None:
    """Byte for byte, HDF5's by h5diff, others by their values."""
    if library == "hdf5":
        assert shutil.which("h5diff")
        done = command("h5diff", "-r", mine, theirs)
        assert done.returncode == 0, done.stdout
    elif mine.suffix == theirs.suffix:
        assert mine.read_bytes() == theirs.read_bytes()
    elif theirs.suffix == ".h5":
        _check_values(library, variables, mine, theirs)


def _check_values(library: str, variables: list[Variable], mine: Path, theirs: Path) -> None:
    """Of a netCDF-4 file, which is HDF5's as well, and of a plain one, in which arrays lie one behind another."""
    with h5py.File(theirs) as file:
        wanted = [(v.name, file[v.path][()]) for v in variables]
    if library == "netcdf4":
        with h5py.File(mine) as file:
            for name, values in wanted:
                assert (file[name][()] == values).all(), name
    elif library in ("mpiio", "posix"):
        assert mine.read_bytes() == b"".join(values.tobytes() for _, values in wanted)


def specification(kernel: Kernel, ranks: tuple[int, ...], path: Path) -> None:
    """The kernel's, to be checked with these numbers of processes."""
    text = (SPECS / path.name).read_text()
    for old, new in kernel.fixed:
        assert old in text
        text = text.replace(old, new)
    counts = ", ".join(map(str, ranks))
    path.write_text(re.sub("processes: [0-9, ]+;", f"processes: {counts};", text, count=1))


def whole(
    kernel: Kernel,
    library: str,
    language: str,
    mpi: str,
    ranks: tuple[int, ...],
    tmp_path: Path,
) -> None:
    """Generate, build, run by each number of processes, compare. What was written is also read back in other pieces,
    and by other numbers of processes than wrote it: the program does the former, the equal files mean the latter."""
    out, source = tmp_path / "out", tmp_path / f"{kernel.spec}.iog"
    specification(kernel, ranks, source)
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = build(out, kernel.spec, library, language, needs.MPI[mpi])
    variables = list(read(str(source), source.read_text()).variables.values())
    theirs = serial_file(kernel, library, tmp_path)
    for number in ranks:
        mine = tmp_path / f"mine.{number}.{SUFFIX[library]}"
        run(program, mpi, number, mine)
        check_equal(library, variables, mine, theirs)
