"""Hints from a run's accesses and from a file's header; the code made of them gives the same data in fewer calls."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
from fathom.codegen.hints import classic, file
from fathom.errors import RunError
from harness import generated, needs, paths
from hypothesis import given, settings
from hypothesis import strategies as st

RANKS, ROWS, COLUMNS = 4, 64, 24
#: What strided_posix.c writes, by the generated function.
PROGRAM = """#include "NAME_io.h"

int main(int argc, char **argv)
{
	static double field[64 * 24];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < 64 * 24; i++)
		field[i] = (i / 24 * ranks + rank) * 24 + i % 24;
	int error = NAME_write(MPI_COMM_WORLD, argv[argc - 1], field);
	MPI_Finalize();
	return error;
}
"""


def traced(tmp_path: Path, *arguments: str) -> Path:
    """A run of the strided program on MPICH; its data lie beside it."""
    program = paths.PROGRAMS / "programs" / "mpi" / "strided_posix_mpich"
    needs.require(needs.of_mpi("mpich"))
    run = tmp_path / "seen.fathom"
    launch = [*generated.LAUNCH["mpich"], "-n", str(RANKS)]
    done = generated.command(
        paths.FATHOM, "run", "-o", run, *launch, program, *arguments, tmp_path / "data"
    )
    assert done.returncode == 0, done.stderr
    return run


def field(tmp_path: Path) -> np.ndarray:
    """The whole field as the traced program wrote it, whichever way."""
    parts = sorted(tmp_path.glob("data.0*"))
    if not parts:
        return np.fromfile(tmp_path / "data").reshape(ROWS, RANKS * COLUMNS)
    return np.stack([np.fromfile(part) for part in parts])


def values(path: Path, library: str) -> np.ndarray:
    if library == "hdf5":
        with h5py.File(path) as file:
            return np.asarray(file["data"])
    with netCDF4.Dataset(path) as file:
        return np.asarray(file["data"])


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("arguments", "library", "mpi", "raw"),
    [
        ([], "pnetcdf", "romio321", 1),
        pytest.param([], "hdf5", "mpich", 1, marks=pytest.mark.full),
        (["-p"], "hdf5", "mpich", 4),
    ],
)
def test_a_run_of_posix_calls_becomes_a_better_one(
    arguments: list[str], library: str, mpi: str, raw: int, tmp_path: Path
) -> None:
    """The same data: by the self-check, and by a program that writes what the traced one wrote."""
    run, out = traced(tmp_path, *arguments), tmp_path / "out"
    words = ["--from", run, "--files", "data*", "--type", "float64", "--library", library]
    done = generated.fathom(*words, "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    files = "4 files" if arguments else "1 file"
    assert f"write: 256 raw writes of {files} were seen" in done.stderr
    assert f"the code for {library} makes {raw} of data" in done.stderr
    stack = needs.MPI[mpi]
    generated.run(generated.build(out, "data", library, "c", stack), mpi, RANKS, tmp_path / "check")
    (out / "data_check.c").write_text(PROGRAM.replace("NAME", "data"))
    program, mine = generated.build(out, "data", library, "c", stack), tmp_path / "mine"
    done = generated.command(*generated.LAUNCH[mpi], "-n", str(RANKS), program, mine)
    assert done.returncode == 0, done.stderr
    assert (values(mine, library) == field(tmp_path)).all()


@pytest.mark.full
def test_a_library_s_run_keeps_names_types_and_attributes(tmp_path: Path) -> None:
    """S3D by blocking PnetCDF calls: its header and its grid come back."""
    needs.require(needs.of_mpi("romio321"))
    kernel = generated.KERNELS / "s3d_pnetcdf_openmpi"
    if not kernel.exists():
        pytest.skip(f"{kernel.name} is not built: its library is not installed")
    run = tmp_path / "s3d.fathom"
    arguments = ["-c", "1", "16", "16", "16", "2", "2", "1", tmp_path]
    launch = [*generated.LAUNCH["romio321"], "-n", "4"]
    done = generated.command(paths.FATHOM, "run", "-o", run, *launch, kernel, *arguments)
    assert done.returncode == 0, done.stderr
    done = generated.fathom("--from", run, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert re.search(r"write: 5 raw writes of 1 file were seen; .* makes 1 of data", done.stderr)
    (hints,) = (tmp_path / "out").glob("*.iog")
    text = hints.read_text()
    assert "yspecies: float64, 4, nsc, z, y, x;" in text
    assert "tstep: global, float64, 0.25;" in text
    assert "array: *, temp, 0, z, div(rank, 2) * (y / (nprocs / 2)), y / (nprocs / 2)" in text


def test_a_run_of_hdf5_becomes_code_of_hdf5(tmp_path: Path) -> None:
    """Without --library: of the run, and of its file."""
    needs.require(needs.of_mpi("mpich"))
    kernel = generated.KERNELS / "vpic_hdf5_mpich"
    if not kernel.exists():
        pytest.skip(f"{kernel.name} is not built: its library is not installed")
    run, out = tmp_path / "vpic.fathom", tmp_path / "data"
    out.mkdir()
    launch = [*generated.LAUNCH["mpich"], "-n", "2"]
    done = generated.command(paths.FATHOM, "run", "-o", run, *launch, kernel, "-p", "100", out)
    assert done.returncode == 0, done.stderr
    (file,) = out.iterdir()
    for name, origin in (("of_run", run), ("of_file", file)):
        done = generated.fathom("--from", origin, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        (hints,) = (tmp_path / name).glob("*.iog")
        assert "library: hdf5;" in hints.read_text()


def test_arrays_without_names_are_numbered(tmp_path: Path) -> None:
    """Where one begins is no part of its name: it may be before the file's first byte."""
    needs.require(needs.of_mpi("mpich"))
    program, run = paths.PROGRAMS / "programs" / "mpi_views_mpich", tmp_path / "views.fathom"
    launch = [*generated.LAUNCH["mpich"], "-n", "4"]
    done = generated.command(paths.FATHOM, "run", "-o", run, *launch, program, tmp_path / "f")
    assert done.returncode == 0, done.stderr
    done = generated.fathom("--from", run, "--type", "int8", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "f.iog").read_text()
    assert set(re.findall(r"\bdata_?\w+", text)) == {"data1", "data2", "data3"}


def test_wrong_use_is_said(tmp_path: Path) -> None:
    run = traced(tmp_path)
    for words, says in (
        ([], "give it a FILE with hints, or --from"),
        (["x.iog", "--type", "int8"], "--files and --type go with --from RUN"),
        (["--from", tmp_path / "none"], "none"),
        (["--from", run, "--files", "*.nc"], "generate: no read or write of a file like '*.nc'"),
    ):
        done = generated.fathom(*words)
        assert done.returncode in (2, 3)
        assert says in done.stderr and "Traceback" not in done.stderr
    one = ["--from", run, "--files", "data", "--explain", "--type"]
    assert generated.fathom(*one, "float64").returncode == 0
    source = tmp_path / "data.iog"
    source.write_text("mine")
    done = generated.fathom("--from", run, "--files", "data", "-o", tmp_path)
    assert done.returncode == 2 and "is not what would be written" in done.stderr
    assert source.read_text() == "mine"


# ---- headers

KINDS = {
    "NETCDF3_CLASSIC": "pnetcdf",
    "NETCDF3_64BIT_OFFSET": "pnetcdf",
    "NETCDF3_64BIT_DATA": "pnetcdf",
    "NETCDF4": "hdf5",
}


def climate(path: Path, kind: str) -> Path:
    """Fixed and record variables, scales, attributes, and what hints cannot say."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, length in (("time", None), ("lat", 12), ("lon", 20), ("letters", 8)):
            file.createDimension(name, length)
        file.title, file.version = "a 'model'", np.int32(3)
        file.createVariable("lat", "f8", ("lat",)).units = "degrees"
        temp = file.createVariable("temp", "f4", ("time", "lat", "lon"))
        temp.valid_range = np.array([180, 340], np.float32)
        temp[0:3] = 1
        file.createVariable("name", "S1", ("letters",))
    return path


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.full if "64BIT" in k else []) for k in KINDS],
)
def test_a_netcdf_header_becomes_code(kind: str, tmp_path: Path) -> None:
    path, out = climate(tmp_path / "climate.nc", kind), tmp_path / "out"
    library = KINDS[kind]
    done = generated.fathom("--from", path, "--library", library, "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    assert "left out: name:" in done.stderr
    text = (out / "climate.iog").read_text()
    for line in (
        "time: unlimited;",
        "lat: 12;",
        "temp: float32, 3, time, lat, lon;",
        "lat: float64, 1, lat;",
        'units: lat, text, "degrees";',
        "valid_range: temp, float32, 180.0, 340.0;",
        "version: global, int32, 3;",
    ):
        assert line in text
    if kind in ("NETCDF3_CLASSIC", "NETCDF4"):
        mpi = "mpich" if library == "hdf5" else "ompio"
        program = generated.build(out, "climate", library, "c", needs.MPI[mpi])
        generated.run(program, mpi, 3, tmp_path / "mine")


def test_an_hdf5_header_becomes_code(tmp_path: Path) -> None:
    path, out = tmp_path / "plasma.h5", tmp_path / "out"
    with h5py.File(path, "w") as file:
        group = file.create_group("Step#0/fields")
        group["E x"] = np.zeros((6, 5), "f4")
        file["scalar"] = 1
        group["E x"].attrs["units"] = "V/m"
    done = generated.fathom("--from", path, "--library", "hdf5", "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    text = (out / "plasma.iog").read_text()
    assert 'E_x as "Step#0/fields/E x": float32, 2, n6, n5;' in text
    assert "left out: scalar:" in done.stderr
    program = generated.build(out, "plasma", "hdf5", "c", "mpich")
    generated.run(program, "mpich", 4, tmp_path / "mine")
    with h5py.File(tmp_path / "mine") as file:
        assert file["Step#0/fields/E x"].attrs["units"] in ("V/m", b"V/m")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_header_is_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = climate(tmp_path_factory.mktemp("whole") / "a.nc", "NETCDF3_64BIT_DATA").read_bytes()
    path = tmp_path_factory.mktemp("damaged") / "a.nc"
    torn = bytearray(whole[: data.draw(st.integers(8, len(whole)))])
    for _ in range(data.draw(st.integers(0, 3))):
        torn[data.draw(st.integers(4, len(torn) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(torn)
    try:
        file.sketch(path, "pnetcdf").text()
    except RunError as error:
        assert str(path) in str(error)


def test_huge_counts_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(b"CDF\5" + struct.pack(">qiq", 0, 10, 1 << 60))
    with pytest.raises(RunError, match="a list of kind"):
        classic.read(path)
