"""Variables that are alike as one of one more dimension: written, read back, and said where they cannot be."""

from __future__ import annotations

from pathlib import Path

import h5py
import pytest
from fathom.codegen.generate import command
from harness import generated, needs

SPEC = """#begin_options
name: forms;
library: hdf5;
lump: cells, a, b, c;
#end_options
#begin_dimensions
y: 4 * nprocs;
x: 5;
#end_dimensions
#begin_variables
before: int, 1, x;
a as "field/a": float, 2, y, x;
b as "field/b": float, 2, y, x;
c as "field/c": float, 2, y, x;
#end_variables
#begin_attributes
units: b, text, "K";
#end_attributes
#begin_write
array: 1, before, 0, x, part;
{accesses}
#end_write
#begin_read
array: 1, before, 0, x, part;
{accesses}
#end_read
"""
PLACE = "rank * 4, 4, 0, x"
#: Three components of four of one array, guard cells around; arrays of their own; both at once.
TOGETHER = [
    f"array: *, {name}, {PLACE}, all in <6, 9, 4> from <1, 2, {n + 1}>;"
    for n, name in enumerate("abc")
]
APART = [f"array: *, {name}, {PLACE}, mine_{name};" for name in "abc"]
MIXED = [*TOGETHER[:2], APART[2]]


def text_of(accesses: list[str]) -> str:
    return SPEC.format(accesses="\n".join(accesses))


@pytest.mark.parametrize(
    ("accesses", "library", "language", "mpi"),
    [
        (TOGETHER, "hdf5", "c", "mpich"),
        (MIXED, "hdf5", "fortran", "ompio"),
        pytest.param(APART, "hdf5", "c++", "mpich", marks=pytest.mark.full),
        pytest.param(TOGETHER, "pnetcdf", "fortran", "romio321", marks=pytest.mark.full),
        pytest.param(MIXED, "netcdf4", "c", "ompio", marks=pytest.mark.full),
        pytest.param(TOGETHER, "mpiio", "fortran", "mpich", marks=pytest.mark.full),
        pytest.param(APART, "posix", "c++", "mpich", marks=pytest.mark.full),
    ],
)
def test_is_written_and_read(
    accesses: list[str], library: str, language: str, mpi: str, tmp_path: Path
) -> None:
    source, out, data = tmp_path / "forms.iog", tmp_path / "out", tmp_path / "data"
    source.write_text(text_of(accesses))
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = generated.fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "forms", library, language, needs.MPI[mpi])
    generated.run(program, mpi, 4, data)
    if library == "hdf5":
        with h5py.File(data) as file:
            cells = file["field/cells"]
            assert cells.shape == ((16, 5, 3) if accesses is TOGETHER else (3, 16, 5))
            assert cells.attrs["variables"] == b"a b c"
            assert cells.attrs["b.units"] == b"K"
            assert sorted(file) == ["before", "field"]


@pytest.mark.parametrize(("accesses", "moved"), [(TOGETHER, 2), (APART, 4), (MIXED, 4)])
def test_one_access_where_they_lie_side_by_side(
    accesses: list[str], moved: int, tmp_path: Path
) -> None:
    source = tmp_path / "forms.iog"
    source.write_text(text_of(accesses))
    _, plans = command.checked(source, {})
    assert [len(plan.transfers) for plan in plans] == [moved, moved]
    spec, plans = command.checked(source, {"lump": "off"})
    assert [len(plan.transfers) for plan in plans] == [4, 4]
    assert list(spec.variables) == ["before", "a", "b", "c"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cells, a, b, c", "cells, a", "'cells' is made of two variables at least"),
        ("cells, a, b, c", "cells, a, a", "'cells' is made of two variables at least, each once"),
        ("cells, a, b, c", "cells, a, d", "no variable is called 'd'"),
        ("cells, a, b, c", "cells, a, before", "a and before have not the same type"),
        ("cells, a, b, c", "before, a, b", "something else is called 'before'"),
        ("x: 5;", "x: 5; cells_parts: 2;", "something else is called 'cells'"),
        ("y: 4 * nprocs;", "y: unlimited;", "a grows, and what grows has its records first"),
    ],
)
def test_is_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    generated.check_refused(tmp_path / "t.iog", text_of(APART).replace(old, new), 4, says)
