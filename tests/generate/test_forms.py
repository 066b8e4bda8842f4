"""Forms that the kernels do not use: single processes, lists of boxes, records, filled gaps, several I/O points."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.codegen.hints import file
from harness import generated, needs

HEAD = "#begin_options\nname: forms;\nprocesses: 4;\n{options}#end_options\n"
#: Rank 2 moves nothing of `odd`; ranks 0 and 1 move two boxes each, one behind the other in the buffer.
SINGLE = """#begin_dimensions
y: 6;
x: 10;
#end_dimensions
#begin_variables
odd: short, 2, y, x;
#end_variables
#begin_KIND
array: 0, odd, 0, 2, 0, 4, part;
array: 3, odd, 0, 2, 4, 6, part;
list: 1, odd, <2, 0> <1, 10>, <4, 0> <2, 3>, part;
list: 0, odd, <3, 0> <1, 10>, <4, 3> <2, 7>, more;
#end_KIND
"""
RECORDS = """#begin_parameters
n: 12;
#end_parameters
#begin_dimensions
time: unlimited;
y: n;
x: 5;
#end_dimensions
#begin_variables
a: float, 3, time, y, x;
b: int, 2, time, y;
grid: double, 1, y;
#end_variables
#begin_attributes
units: a, text, "K";
range: b, int, -3, 7;
#end_attributes
#begin_KIND
global: a, <1, nprocs, 1>, <0, 0, 0>, <3, y / nprocs, x>, <0, y / nprocs, 0>, a;
global: b, <1, nprocs>, <0, 0>, <3, y / nprocs>, <0, y / nprocs>, b;
global: grid, <nprocs>, <0>, <y / nprocs>, <y / nprocs>, grid;
#end_KIND
"""
POINTS = """#begin_dimensions
x: 16;
#end_dimensions
#begin_variables
first: int64, 1, x;
second: double, 1, x;
#end_variables
#begin_write early
array: *, first, rank * (x / nprocs), x / nprocs, one;
#end_write
#begin_write late
array: *, second, rank * (x / nprocs), x / nprocs, two[x];
#end_write
#begin_read
array: *, second, (nprocs - 1 - rank) * (x / nprocs), x / nprocs, two;
#end_read
"""


def both(text: str) -> str:
    """The access block as a write and as a read."""
    at, end = text.index("#begin_KIND"), text.index("#end_KIND") + len("#end_KIND\n")
    block = text[at:end]
    return text[:at] + block.replace("KIND", "write") + block.replace("KIND", "read")


FORMS = {"single": both(SINGLE), "records": both(RECORDS), "points": POINTS}
CASES = [
    ("single", "pnetcdf", "c", "romio321"),
    ("single", "hdf5", "fortran", "mpich"),
    ("single", "mpiio", "c++", "mpich"),
    ("single", "mpiio", "fortran", "ompio"),
    ("single", "posix", "c", "mpich"),
    ("single", "netcdf4", "c", "ompio"),
    ("records", "pnetcdf", "c++", "ompio"),
    ("records", "pnetcdf", "fortran", "romio321"),
    ("records", "hdf5", "c", "mpich"),
    ("records", "hdf5", "fortran", "ompio"),
    ("records", "netcdf4", "c", "ompio"),
    ("points", "pnetcdf", "c", "romio321"),
    ("points", "pnetcdf", "fortran", "ompio"),
    ("points", "hdf5", "c++", "ompio"),
    ("points", "mpiio", "fortran", "mpich"),
    ("points", "posix", "c++", "mpich"),
    ("points", "netcdf4", "c++", "romio321"),
]
QUICK = (0, 3, 8, 12)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("form", "library", "language", "mpi"),
    [
        pytest.param(*case, marks=[] if number in QUICK else pytest.mark.full)
        for number, case in enumerate(CASES)
    ],
)
def test_form(form: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    checked(FORMS[form], "", library, language, mpi, tmp_path)


def checked(text: str, options: str, library: str, language: str, mpi: str, tmp_path: Path) -> Path:
    """Generates and runs the self-check; the file."""
    source, out = tmp_path / "forms.iog", tmp_path / "out"
    source.write_text(HEAD.format(options=options) + text)
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = generated.fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "forms", library, language, needs.MPI[mpi])
    path = tmp_path / "data"
    generated.run(program, mpi, 4, path)
    return path


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "library", "language", "mpi"),
    [
        ("calls: independent;\n", "pnetcdf", "c", "romio321"),
        ("calls: independent;\nposting: blocking;\n", "pnetcdf", "fortran", "ompio"),
        ("posting: blocking;\nformat: cdf2;\n", "pnetcdf", "c++", "ompio"),
        ("calls: independent;\nmetadata: independent;\n", "hdf5", "c", "mpich"),
        ("calls: independent;\nmetadata: independent;\n", "hdf5", "fortran", "ompio"),
        ("calls: independent;\nsieving: off;\ntwo_phase: off;\n", "mpiio", "fortran", "mpich"),
        ("two_phase: force;\n", "netcdf4", "c", "romio321"),
        (
            "#end_options\n#begin_layout\ncb_buffer_size: 4096;\nalignment: 512;\n#end_layout\n#begin_options\n",
            "hdf5",
            "c++",
            "mpich",
        ),
    ],
)
def test_overridden(options: str, library: str, language: str, mpi: str, tmp_path: Path) -> None:
    checked(FORMS["single"], options, library, language, mpi, tmp_path)


VALUES = """#begin_parameters
n: 4 + rank;
now: 0.75;
#end_parameters
#begin_dimensions
x: total(n);
#end_dimensions
#begin_variables
a: short, 1, x;
#end_variables
#begin_attributes
cells: global, int, x, -x, 7;
ranks: a, int64, nprocs * 2;
part: a, short, min(x, 3);
time: global, double, now;
half: a, float, now;
#end_attributes
#begin_write
array: *, a, before(n), n, a;
#end_write
"""
WANTED = {"cells": [22, -22, 7], "ranks": [8], "part": [3], "time": [0.75], "half": [0.75]}


@pytest.mark.parametrize(
    ("library", "language", "mpi"),
    [
        ("pnetcdf", "c", "ompio"),
        pytest.param("pnetcdf", "fortran", "ompio", marks=pytest.mark.full),
        pytest.param("hdf5", "c++", "mpich", marks=pytest.mark.full),
        ("hdf5", "fortran", "mpich"),
        pytest.param("netcdf4", "c", "ompio", marks=pytest.mark.full),
    ],
)
def test_attributes_are_worked_out(library: str, language: str, mpi: str, tmp_path: Path) -> None:
    """Sums over ranks, and what the program gives as an argument."""
    path = checked(VALUES, "", library, language, mpi, tmp_path)
    file_header = file.read(path)
    assert {a.name: list(a.values) for a in file_header.attributes} == WANTED
    types = {a.name: a.type for a in file_header.attributes}
    assert (types["cells"], types["ranks"], types["half"]) == ("int32", "int64", "float32")


def test_a_gap_is_filled(tmp_path: Path) -> None:
    text = FORMS["points"].replace("rank * (x / nprocs), x / nprocs, one", "rank * 4, 3, one")
    source = tmp_path / "forms.iog"
    source.write_text(HEAD.format(options="") + text)
    refused = generated.fathom(source, "--check")
    assert refused.returncode == 2
    assert "no rank writes first[3..3]" in refused.stderr
    source.write_text(HEAD.format(options="gaps: fill;\n") + text)
    assert generated.fathom(source, "--check").returncode == 0


def test_what_is_written_between_gaps_is_compared(tmp_path: Path) -> None:
    text = FORMS["points"].replace("rank * (x / nprocs), x / nprocs, one", "rank * 4, 3, one")
    checked(text, "gaps: fill;\n", "pnetcdf", "c", "romio321", tmp_path)


def test_attributes_that_have_no_place_are_said(tmp_path: Path) -> None:
    source = generated.SPECS / "s3d.iog"
    for library, says in (("mpiio", True), ("posix", True), ("pnetcdf", False)):
        done = generated.fathom(source, "-o", tmp_path / library, "--library", library)
        assert done.returncode == 0
        assert ("attributes are left out" in done.stderr) == says


FORTRAN = """program heat
  use mpi_f08
  #begin_options
  name: heat;
  library: mpiio;
  #end_options
  #begin_dimensions
  x: 64;
  #end_dimensions
  #begin_variables
  temp: double, 1, x;
  #end_variables
  implicit none
  double precision :: field(16)

  call MPI_Init()
  field = 1
  #begin_write
  array: *, temp, rank * 16, 16, field;
  #end_write
  call MPI_Finalize()
end program heat
"""


def test_a_fortran_program(tmp_path: Path) -> None:
    needs.require(["mpifort.mpich"])
    source, out = tmp_path / "heat.f90", tmp_path / "out"
    source.write_text(FORTRAN)
    assert generated.fathom(source, "-o", out).returncode == 0
    text = (out / "heat.f90").read_text()
    assert "  !$iog begin_write\n" in text
    again = generated.fathom(out / "heat.f90")
    assert again.returncode == 0, again.stderr
    assert "nothing has changed" in again.stderr
    compiled = [
        "mpifort.mpich",
        "-std=f2008",
        "-Wall",
        "-Wextra",
        "-Werror",
        "heat_io.f90",
        "heat.f90",
    ]
    done = generated.command(*compiled, cwd=out)
    assert done.returncode == 0, done.stderr
    done = generated.command("mpiexec.mpich", "-n", "4", "./a.out", cwd=out)
    assert done.returncode == 0, done.stderr
    assert (out / "heat.bin").stat().st_size == 64 * 8
