"""What the guards of C++ close: the calls of a program are counted, and are those of the C code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from harness import generated, needs

SPEC = """#begin_options
name: forms;
two_phase: force;
#end_options
#begin_types
pair: int id, double value;
#end_types
#begin_dimensions
x: 8 * nprocs;
#end_dimensions
#begin_variables
a: double, 1, x;
b: TYPE, 1, x;
#end_variables
#begin_attributes
units: a, text, "K";
sizes: global, int, 1, 2;
#end_attributes
#begin_write
array: *, a, rank * 8, 8, a in <12> from <2>;
array: *, b, rank * 8, 8, b;
#end_write
#begin_read
array: *, b, rank * 8, 8, b;
#end_read
"""
#: Of each kind of identifier what makes it, and what ends it.
HDF5 = {
    "H5Pclose": ("H5Pcreate",),
    "H5Sclose": ("H5Screate_simple", "H5Screate", "H5Dget_space"),
    "H5Tclose": ("H5Tcreate", "H5Tcopy"),
    "H5Aclose": ("H5Acreate2",),
    "H5Dclose": ("H5Dcreate2", "H5Dopen2"),
    "H5Fclose": ("H5Fcreate", "H5Fopen"),
}
MPI = {
    "MPI_Info_free": ("MPI_Info_create",),
    "MPI_Type_free": ("MPI_Type_contiguous", "MPI_Type_create_subarray"),
    "MPI_File_close": ("MPI_File_open",),
}
MOVES = ("H5Dwrite", "H5Dread", "MPI_File_write_all", "MPI_File_read_all", "MPI_Allreduce")
NAMES = [name for ends in (HDF5, MPI) for end, makers in ends.items() for name in (end, *makers)]
#: Goes before the libraries; all that it counts takes whole numbers and addresses, seven at most.
COUNTER = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNTED(name) \\
	static long of_##name; \\
	long name(long a, long b, long c, long d, long e, long f, long g) \\
	{ \\
		long (*next)(long, long, long, long, long, long, long) = \\
			(long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, #name); \\
		of_##name++; \\
		return next(a, b, c, d, e, f, g); \\
	}
COUNTED_NAMES

__attribute__((destructor)) static void say(void)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.%d", getenv("COUNTS"), (int)getpid());
	FILE *file = fopen(path, "w");
	PRINTED_NAMES
	fclose(file);
}
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """The library that counts."""
    names = [*NAMES, *MOVES]
    text = COUNTER.replace("COUNTED_NAMES", "\n".join(f"COUNTED({name})" for name in names))
    prints = "\n".join(f'fprintf(file, "{name} %ld\\n", of_{name});' for name in names)
    source = tmp_path / "counter.c"
    source.write_text(text.replace("PRINTED_NAMES", prints))
    library = tmp_path / "counter.so"
    done = generated.command("gcc", "-shared", "-fPIC", "-o", library, source)
    assert done.returncode == 0, done.stderr
    return library


def counted(counter: Path, library: str, language: str, directory: Path) -> Counter[str]:
    """Calls of all ranks that write and read by the generated code."""
    source, out = directory / "forms.iog", directory / language
    source.write_text(SPEC.replace("TYPE", "pair" if library == "hdf5" else "int"))
    words = ["-o", out, "--self-check", "--library", library, "--language", language]
    done = generated.fathom(source, *words)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, "forms", library, language, "mpich")
    settings = [f"LD_PRELOAD={counter}", f"COUNTS={out / 'calls'}"]
    run = ["env", *settings, *generated.LAUNCH["mpich"], "-n", "4", program, out / "data"]
    done = generated.command(*run)
    assert done.returncode == 0, done.stdout + done.stderr
    calls_of: Counter[str] = Counter()
    for path in out.glob("calls.*"):
        for line in path.read_text().splitlines():
            name, calls = line.split()
            calls_of[name] += int(calls)
    return calls_of


@pytest.mark.parametrize("library", ["hdf5", pytest.param("mpiio", marks=pytest.mark.full)])
def test_the_calls_are_those_of_c(library: str, counter: Path, tmp_path: Path) -> None:
    needs.require(["gcc", "mpicxx.mpich", "mpiexec.mpich"])
    c, cxx = (counted(counter, library, language, tmp_path) for language in ("c", "c++"))
    assert cxx == c
    for end, makers in (HDF5 if library == "hdf5" else MPI).items():
        assert cxx[end] == sum(cxx[name] for name in makers) > 0
