"""Types made of named members: what the generated code writes is what h5py reads; what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from harness import generated, needs

SPEC = """#begin_options
name: forms;
library: hdf5;
#end_options
#begin_types
particle: double energy, byte charge, int64 id, float weight, short cell;
pair: short a, float b;
#end_types
#begin_dimensions
time: unlimited;
n: 4 * nprocs;
x: 5;
#end_dimensions
#begin_variables
ions: particle, 2, n, x;
grid: float, 1, x;
electrons: particle, 1, n;
edges: pair, 2, time, n;
#end_variables
#begin_write
array: *, ions, rank * 4, 4, 0, x, here;
array: 1, grid, 0, x, part;
array: *, electrons, (nprocs - 1 - rank) * 4, 4, more;
array: *, edges, 0, 2, rank * 4, 4, both;
#end_write
#begin_read
array: *, ions, (nprocs - 1 - rank) * 4, 4, 0, x, here;
array: *, edges, 0, 2, rank * 4, 4, both;
#end_read
"""
PARTICLE = [("energy", "f8"), ("charge", "i1"), ("id", "i8"), ("weight", "f4"), ("cell", "i2")]
PAIR = [("a", "i2"), ("b", "f4")]
#: number of the variable, shape with 4 ranks, members; records are as many as are written
WANTED = {
    "ions": (0, (16, 5), PARTICLE),
    "electrons": (2, (16,), PARTICLE),
    "edges": (3, (2, 16), PAIR),
}


def fitted(value: np.ndarray, size: int) -> np.ndarray:
    return value % (113 if size < 4 else 16777213)


def values(number: int, shape: tuple[int, ...], members: list[tuple[str, str]]) -> np.ndarray:
    """As the self-check makes them: of the element's place, then of the member's."""
    found = np.zeros(shape, np.dtype(members, align=True))
    index = np.arange(found.size, dtype=np.int64).reshape(shape)
    whole = fitted(index + 1000003 * number, found.itemsize)
    for place, (name, kind) in enumerate(members):
        found[name] = fitted(whole + place, np.dtype(kind).itemsize)
    return found


@pytest.mark.parametrize(
    ("library", "language", "mpi"),
    [
        ("hdf5", "c", "mpich"),
        ("hdf5", "fortran", "ompio"),
        ("netcdf4", "c++", "romio321"),
        pytest.param("hdf5", "c++", "mpich", marks=pytest.mark.full),
        pytest.param("hdf5", "fortran", "mpich", marks=pytest.mark.full),
        pytest.param("hdf5", "c", "romio321", marks=pytest.mark.full),
        pytest.param("netcdf4", "c", "ompio", marks=pytest.mark.full),
    ],
)
def test_h5py_reads_what_is_written(library: str, language: str, mpi: str, tmp_path: Path) -> None:
    source, out, data = tmp_path / "forms.iog", tmp_path / "out", tmp_path / "data"
    source.write_text(SPEC)
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = generated.fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "forms", library, language, needs.MPI[mpi])
    generated.run(program, mpi, 4, data)
    with h5py.File(data) as file:
        for name, wanted in WANTED.items():
            mine, theirs = file[name][()], values(*wanted)
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            for member in theirs.dtype.names or ():
                assert (mine[member] == theirs[member]).all(), (name, member)


def test_a_part_of_a_larger_array(tmp_path: Path) -> None:
    """Guard cells of structs, packed in C."""
    source, out = tmp_path / "forms.iog", tmp_path / "out"
    source.write_text(SPEC.replace("x, here;", "x, here in <6, 9> from <1, 2>;"))
    done = generated.fathom(source, "-o", out, "--self-check", "--language", "c")
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "forms", "hdf5", "c", "mpich")
    generated.run(program, "mpich", 4, tmp_path / "data")


#: what is replaced by what, where and what is said
WRONG = {
    "member-type": ("double energy", "complex energy", 6, "no type is called 'complex'"),
    "member-compound": ("short a", "particle a", 7, "'particle' is a compound type, a member"),
    "member-twice": ("short a", "short b", 7, "the member 'b' is said twice"),
    "member-keyword": ("short a", "short while", 7, "a member cannot be called 'while'"),
    "member-nameless": ("short a,", "short,", 7, "',' does not belong here"),
    "no-members": ("short a, float b", "", 7, "';' does not belong here"),
    "type-twice": ("pair: short", "particle: short", 7, "the type 'particle' is said twice"),
    "type-of-c": ("pair: short", "double: short", 7, "cannot be called 'double'"),
    "type-of-ours": ("pair: short", "int32: short", 7, "'int32' is a type of its own"),
    "type-of-the-code": ("pair: short", "box_type: short", 7, "cannot be called 'box_type'"),
    "type-unknown": ("edges: pair", "edges: pairs", 18, "no type is called 'pairs'"),
    "name-of-a-variable": ("x: 5;", "x: 5; particle: 2;", 6, "something else is called 'particle'"),
    "name-of-a-buffer": (", more;", ", pair;", 7, "something else is called 'pair'"),
    "cases-in-fortran": ("library: hdf5;", "language: fortran;", 7, "one name in Fortran"),
    "buffer-two-types": ("both;", "here;", 24, "here holds particle for ions, and pair for edges"),
    "attribute": (
        "#begin_write\n",
        "#begin_attributes\nk: ions, pair, 1;\n#end_attributes\n#begin_write\n",
        21,
        "'pair' is a compound type, an attribute",
    ),
    "pnetcdf": ("library: hdf5;", "library: pnetcdf;", 15, "particle, which pnetcdf has not"),
    "mpiio": ("library: hdf5;", "library: mpiio;", 15, "particle, which mpiio has not"),
    "posix": ("library: hdf5;", "library: posix;", 15, "particle, which posix has not"),
    "packed-in-fortran": (
        "library: hdf5;",
        "library: hdf5; language: fortran;",
        21,
        "packs numbers",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_is_refused(name: str, tmp_path: Path) -> None:
    old, new, line, says = WRONG[name]
    text = SPEC
    if name == "cases-in-fortran":
        text = text.replace("short a,", "short B,")
    if name == "packed-in-fortran":
        text = text.replace("x, here;", "x, here in <6, 9> from <1, 2>;")
    assert old in text
    generated.check_refused(tmp_path / "t.iog", text.replace(old, new), line, says)
