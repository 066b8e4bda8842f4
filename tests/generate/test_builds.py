"""Old Fortran, C and C++ are built by exactly the line that is printed, without a warning, and write the right file."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy
import pytest
from harness import generated, needs

OLD = Path(__file__).parent / "old"
PROGRAM = """#include <mpi.h>
/*@iog begin_options
name: line;
library: LIBRARY;
end_options @*/
/*@iog begin_dimensions
x: 64;
end_dimensions @*/
/*@iog begin_variables
a: double, 1, x;
end_variables @*/
int main(int argc, char **argv)
{
	double a[16];
	int rank, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (i = 0; i < 16; i++)
		a[i] = 16 * rank + i;
	/*@iog begin_write
	array: *, a, rank * 16, 16, a;
	end_write @*/
	MPI_Finalize();
	return 0;
}
"""
LIBRARIES = ("pnetcdf", "hdf5", "mpiio", "posix")


def built(source: Path, text: str, library: str) -> Path:
    """The code of a program, built by the line of its page; what it wrote on 4 ranks."""
    needs.require(["mpicc.openmpi", "pkg-config", *needs.of_mpi("romio321")])
    source.write_text(text.replace("LIBRARY", library))
    out = source.parent / "out"
    done = generated.fathom(source, "-o", out)
    assert done.returncode == 0, done.stderr
    (page,) = out.glob("*_io.md")
    (line,) = re.findall(r"^mpi\w+ .*-o .*$", page.read_text(), re.M)
    for more in ("", "-Wall -Wextra"):
        done = generated.command("sh", "-c", f"{line} {more}", cwd=out)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert not re.search(r"_io\.\w+:\d", done.stderr), done.stderr
    done = generated.command(*generated.LAUNCH["romio321"], "-n", "4", f"./{source.stem}", cwd=out)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob(f"*.{generated.SUFFIX[library]}")
    return path


def values(path: Path, library: str, names: list[str]) -> list[float]:
    """Of all arrays, one behind the other."""
    if library == "hdf5":
        with h5py.File(path) as file:
            return [float(v) for name in names for v in file[name][:].ravel()]
    if library in ("mpiio", "posix"):
        return [float(v) for v in numpy.fromfile(path, "<f8")]
    done = generated.command("ncdump", "-v", ",".join(names), path)
    _, _, data = done.stdout.partition("data:")
    return [float(v) for v in re.findall(r"(?<![\w.])-?\d[\d.e+]*(?=[,\s;])", data)]


@pytest.mark.some(2)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "arrays"),
    [("s3d.f90", ["yspecies", "u", "pressure", "temp"]), ("flash.f", ["coord", "dens", "pres"])],
)
def test_old_fortran(name: str, arrays: list[str], library: str, tmp_path: Path) -> None:
    text = (OLD / name).read_text(encoding="utf-8")
    written = values(built(tmp_path / name, text, library), library, arrays)
    assert written == list(range(len(written))) and len(written) > 6000


@pytest.mark.some(4)
@pytest.mark.parametrize("library", [*LIBRARIES, "netcdf4"])
@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_c(suffix: str, library: str, tmp_path: Path) -> None:
    written = values(built(tmp_path / f"line.{suffix}", PROGRAM, library), library, ["a"])
    assert written == list(range(64))


def test_fixed_form_is_generated_once(tmp_path: Path) -> None:
    source = tmp_path / "flash.for"
    text = (OLD / "flash.f").read_text(encoding="utf-8").replace("LIBRARY", "mpiio")
    source.write_text(text)
    assert generated.fathom(source).returncode == 0
    before = source.read_text()
    assert "      use flash_io\n" in before
    assert all(len(line) <= 72 for line in before.splitlines() if not line.startswith("!"))
    again = generated.fathom(source)
    assert "nothing has changed" in again.stderr and source.read_text() == before


@pytest.mark.parametrize(
    ("before", "behind", "says"),
    [
        ("  implicit none\n", "", "cannot follow line 2: implicit none"),
        ("  use mpi\n  integer :: i, &\n    j\n", "", "cannot follow line 3: integer :: i, &"),
        ("", "", ""),
        ("  use mpi, only: MPI_Init, & ! one\n    MPI_Finalize\n", "  implicit none\n", ""),
    ],
)
def test_use_has_its_place(before: str, behind: str, says: str, tmp_path: Path) -> None:
    blocks = PROGRAM[PROGRAM.index("/*@iog begin_options") : PROGRAM.index("int main")]
    blocks = re.sub(r"/\*@iog (begin)|(end)(_\w+) @\*/", r"#\1\2\3", blocks)
    blocks = blocks.replace("LIBRARY", "mpiio")
    write = "#begin_write\narray: *, a, rank * 16, 16, a;\n#end_write\n"
    text = f"program p\n{before}{blocks}{behind}{write}end program\n"
    source = tmp_path / "p.f90"
    source.write_text(text)
    for how in (("--check",), ("-o", tmp_path / "out")):
        done = generated.fathom(source, *how)
        assert (done.returncode, says in done.stderr) == (2 if says else 0, True), done.stderr
    source.write_text(text.replace("program p\n", "", 1).replace(blocks, f"{blocks}program p\n", 1))
    if not before:
        outside = generated.fathom(source, "-o", tmp_path / "out")
        assert outside.returncode == 2 and "outside of what begins on line" in outside.stderr


@pytest.mark.parametrize(("name", "language"), [("p.c", "c++"), ("p.cpp", "c"), ("p.f", "c")])
def test_another_language_is_refused(name: str, language: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_text(PROGRAM.replace("LIBRARY", "mpiio"))
    done = generated.fathom(source, "--language", language, "-o", tmp_path / "out")
    assert done.returncode == 2 and "does not fit into it" in done.stderr
