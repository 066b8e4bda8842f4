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
deep: byte kind, pair ends[2], double place[3], pair mean;
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
knots: deep, 1, n;
#end_variables
#begin_write
array: *, ions, rank * 4, 4, 0, x, here;
array: 1, grid, 0, x, part;
array: *, electrons, (nprocs - 1 - rank) * 4, 4, more;
array: *, edges, 0, 2, rank * 4, 4, both;
array: *, knots, rank * 4, 4, deeper;
#end_write
#begin_read
array: *, ions, (nprocs - 1 - rank) * 4, 4, 0, x, here;
array: *, edges, 0, 2, rank * 4, 4, both;
array: *, knots, rank * 4, 4, deeper;
#end_read
"""
PARTICLE = [("energy", "f8"), ("charge", "i1"), ("id", "i8"), ("weight", "f4"), ("cell", "i2")]
PAIR = [("a", "i2"), ("b", "f4")]
DEEP = [
    ("kind", "i1"),
    ("ends", np.dtype(PAIR, align=True), 2),
    ("place", "f8", 3),
    ("mean", np.dtype(PAIR, align=True)),
]
#: number of the variable, shape with 4 ranks, members; records are as many as are written
WANTED = {
    "ions": (0, (16, 5), PARTICLE),
    "electrons": (2, (16,), PARTICLE),
    "edges": (3, (2, 16), PAIR),
    "knots": (4, (16,), DEEP),
}


def fitted(value: np.ndarray, size: int) -> np.ndarray:
    return value % (113 if size < 4 else 16777213)


def leaves(array: np.ndarray) -> list[np.ndarray]:
    """Views of each number of all elements, in their order."""
    if array.dtype.names is None:
        return [array]
    views = []
    for name in array.dtype.names:
        member = array[name]
        depth = member.ndim - array.ndim
        parts = np.moveaxis(member, -1, 0) if depth else [member]
        views += [leaf for part in parts for leaf in leaves(part)]
    return views


def values(number: int, shape: tuple[int, ...], members: list[tuple[str, str]]) -> np.ndarray:
    """As the self-check makes them: of the element's place, then of the number's in it."""
    array = np.zeros(shape, np.dtype(members, align=True))
    index = np.arange(array.size, dtype=np.int64).reshape(shape)
    whole = fitted(index + 1000003 * number, array.itemsize)
    for place, leaf in enumerate(leaves(array)):
        leaf[...] = fitted(whole + place, leaf.itemsize)
    return array


@pytest.mark.some(1)
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
            for n, (one, other) in enumerate(zip(leaves(mine), leaves(theirs), strict=True)):
                assert (one == other).all(), (name, n)


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
    "member-of-later": ("double energy", "pair energy", 6, "no type is called 'pair'"),
    "member-of-itself": ("short a", "pair a", 7, "no type is called 'pair'"),
    "array-empty": ("place[3]", "place[0]", 8, "an array of 0 elements"),
    "array-long": ("place[3]", "place[300]", 8, "an array of 300 elements"),
    "array-many": ("place[3]", "place[255]", 8, "deep has 262 numbers, more than 256"),
    "array-by-name": ("place[3]", "place[x]", 8, "'x' does not belong here"),
    "member-twice": ("short a", "short b", 7, "the member 'b' is said twice"),
    "member-keyword": ("short a", "short while", 7, "a member cannot be called 'while'"),
    "member-nameless": ("short a,", "short,", 7, "',' does not belong here"),
    "no-members": ("short a, float b", "", 7, "';' does not belong here"),
    "type-twice": ("pair: short", "particle: short", 7, "the type 'particle' is said twice"),
    "type-of-c": ("pair: short", "double: short", 7, "cannot be called 'double'"),
    "type-of-ours": ("pair: short", "int32: short", 7, "'int32' is a type of its own"),
    "type-of-the-code": ("pair: short", "box_type: short", 7, "cannot be called 'box_type'"),
    "type-unknown": ("edges: pair", "edges: pairs", 19, "no type is called 'pairs'"),
    "name-of-a-variable": ("x: 5;", "x: 5; particle: 2;", 6, "something else is called 'particle'"),
    "name-of-a-buffer": (", more;", ", pair;", 7, "something else is called 'pair'"),
    "cases-in-fortran": ("library: hdf5;", "language: fortran;", 7, "one name in Fortran"),
    "buffer-two-types": ("both;", "here;", 26, "here holds particle for ions, and pair for edges"),
    "attribute": (
        "#begin_write\n",
        "#begin_attributes\nk: ions, pair, 1;\n#end_attributes\n#begin_write\n",
        23,
        "'pair' is a compound type, an attribute",
    ),
    "pnetcdf": ("library: hdf5;", "library: pnetcdf;", 16, "particle, which pnetcdf has not"),
    "mpiio": ("library: hdf5;", "library: mpiio;", 16, "particle, which mpiio has not"),
    "posix": ("library: hdf5;", "library: posix;", 16, "particle, which posix has not"),
    "packed-in-fortran": (
        "library: hdf5;",
        "library: hdf5; language: fortran;",
        23,
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
