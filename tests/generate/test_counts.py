"""Predicted raw writes and reads are those that strace sees, with rules on and off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fathom.codegen.generate import command
from fathom.codegen.generate.options import ruled
from fathom.codegen.generate.plan import plan
from fathom.codegen.generate.selfcheck import read_all
from fathom.codegen.generate.spec import Spec
from harness import generated, needs

CALL = re.compile(r"\b(pwrite64|pread64|write|read|pwritev|preadv)\(\d+<([^>]*)>")
#: specification, library, MPI-IO, options that switch rules, raw writes of data with 4 ranks
CASES = [
    ("s3d", "mpiio", "mpich", {}, 4),
    ("s3d", "mpiio", "mpich", {"calls": "off", "sieving": "off"}, 32768),
    ("s3d", "mpiio", "mpich", {"two_phase": "off", "sieving": "off"}, 32768),
    ("s3d", "pnetcdf", "romio321", {}, 1),
    ("s3d", "pnetcdf", "romio321", {"posting": "off"}, 4),
    ("s3d", "posix", "mpich", {}, 32768),
    ("flash", "pnetcdf", "romio321", {}, 2),
    ("flash", "pnetcdf", "romio321", {"posting": "blocking"}, 120),
    ("flash", "pnetcdf", "romio321", {"posting": "blocking", "two_phase": "force"}, 30),
    ("flash_plot", "pnetcdf", "romio321", {}, 1),
    ("flash_corners", "pnetcdf", "romio321", {}, 1),
    ("vpic", "mpiio", "mpich", {}, 32),
    ("vpic", "mpiio", "mpich", {"two_phase": "force"}, 8),
    ("vorpal", "mpiio", "mpich", {}, 1),
    ("gcrm", "mpiio", "romio321", {}, 1),
    ("gcrm", "posix", "mpich", {}, 104),
    ("s3d", "hdf5", "mpich", {}, 4),
    ("vpic", "hdf5", "mpich", {}, 32),
    ("gcrm", "hdf5", "mpich", {}, 1),
    ("s3d", "hdf5", "mpich", {"metadata": "off"}, 4),
    ("flash", "hdf5", "mpich", {}, 120),
    ("flash", "hdf5", "mpich", {"metadata": "off"}, 120),
    ("flash_plot", "hdf5", "mpich", {}, 40),
    ("s3d", "hdf5", "mpich", {"calls": "off"}, 32768),
    ("ghost", "mpiio", "mpich", {}, 2),
    ("ghost", "mpiio", "mpich", {"memory": "off", "calls": "off", "sieving": "off"}, 384),
    ("ghost", "hdf5", "mpich", {}, 2),
    ("ghost", "hdf5", "mpich", {"memory": "packed"}, 2),
    ("ghost", "hdf5", "mpich", {"memory": "off", "calls": "off"}, 384),
    ("ghost_planes", "mpiio", "mpich", {}, 8),
    ("ghost_planes", "mpiio", "mpich", {"memory": "off", "sieving": "off"}, 128),
    ("ghost_planes", "mpiio", "mpich", {"memory": "off", "two_phase": "force"}, 2),
    ("ghost_planes", "hdf5", "mpich", {"memory": "off", "calls": "off"}, 128),
    ("flash_lumped", "mpiio", "mpich", {}, 28),
    ("flash_lumped", "mpiio", "mpich", {"lump": "off"}, 120),
    ("flash_lumped", "hdf5", "mpich", {}, 28),
    ("flash_lumped", "pnetcdf", "romio321", {"posting": "off"}, 28),
]
QUICK = (3, 6, 11, 15)
RANKS = 4


def header(library: str, datasets: int, together: bool) -> tuple[int, int]:
    """Writes besides data, at least and at most. PnetCDF's header is written once at the end of define mode; HDF5's
    metadata lie in several places, which the ranks write side by side, or each its own."""
    if library != "hdf5":
        return (1, 1) if library == "pnetcdf" else (0, 0)
    return 1, 2 * RANKS + (datasets // 8 if together else 2 * datasets)


def metadata_reads(spec: Spec) -> int:
    """Of HDF5, by each rank that opens the file, at most: its superblock and root, headers of datasets, and the header,
    tree, heap and entries of each group on the way to one."""
    paths = [variable.path.split("/")[:-1] for variable in spec.variables.values()]
    groups = {tuple(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}
    return 8 + 2 * len(spec.variables) + 4 * len(groups)


def seen(log: str, path: Path) -> tuple[int, int]:
    """Writes and reads of the file."""
    names = [call[1] for call in CALL.finditer(log) if call[2] == str(path)]
    writes = sum("write" in name for name in names)
    return writes, len(names) - writes


def text_of(name: str) -> str:
    """A specification; `_lumped`: its variables of four dimensions are one of five; `_planes`: ranks have planes."""
    spec = name.removesuffix("_lumped").removesuffix("_planes")
    text = (generated.SPECS / f"{spec}.iog").read_text().replace("processes: 4, 8", "processes: 4")
    if name.endswith("_planes"):
        return generated.planes(text)
    members = re.findall(r"^(\w+): double, 4,", text, re.M)
    option = f"lump: cells, {', '.join(members)};\n#end_options"
    return text.replace("#end_options", option, 1) if name.endswith("_lumped") else text


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "library", "mpi", "options", "writes"),
    [
        pytest.param(*case, marks=[] if number in QUICK else pytest.mark.full)
        for number, case in enumerate(CASES)
    ],
)
def test_counts(
    name: str, library: str, mpi: str, options: dict[str, str], writes: int, tmp_path: Path
) -> None:
    needs.require(["strace"])
    source, out = tmp_path / f"{name}.iog", tmp_path / "out"
    source.write_text(text_of(name))
    assignments = [f"{key}={value}" for key, value in options.items()]
    spec, plans = command.checked(source, {"library": library, **ruled(assignments)})
    reading = [p.raw[4] for p in [*plans, plan(spec, read_all(spec))] if p.reading]
    assert next(p for p in plans if not p.reading).raw[4] == writes
    rules = [f"--rule={assignment}" for assignment in assignments]
    done = generated.fathom(source, "-o", out, "--self-check", "--library", library, *rules)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, spec.name, library, "c", needs.MPI[mpi])
    path, log = tmp_path / "data", tmp_path / "log"
    needs.require(needs.of_mpi(mpi))
    calls = "trace=pwrite64,pread64,write,read,pwritev,preadv"
    trace = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-o", log, "-e", calls]
    run = generated.command(*trace, *generated.LAUNCH[mpi], "-n", "4", program, path)
    assert run.returncode == 0, run.stdout + run.stderr
    written, read = seen(log.read_text(), path)
    least, most = header(library, len(spec.variables), options.get("metadata") != "off")
    assert writes + least <= written <= writes + most
    if library == "hdf5":
        assert 0 <= read - sum(reading) <= len(reading) * RANKS * metadata_reads(spec)
    elif library != "pnetcdf":
        assert read == sum(reading)


#: specification, library, a rule, raw writes with it and without
SWITCHED = [
    ("s3d", "mpiio", "two_phase", 4, 40),
    ("s3d", "mpiio", "calls", 4, 40),
    ("flash", "pnetcdf", "posting", 2, 120),
]


@pytest.mark.parametrize(("name", "library", "rule", "on", "off"), SWITCHED)
def test_a_rule_in_the_file_and_on_the_command_line(
    name: str, library: str, rule: str, on: int, off: int, tmp_path: Path
) -> None:
    """Both say the same, on is the rule's own choice, and the command line has more weight."""
    text = (generated.SPECS / f"{name}.iog").read_text()
    for here, there, wanted in (
        ("", "off", off),
        ("off", "", off),
        ("off", "on", on),
        ("", "", on),
    ):
        source = tmp_path / f"{name}.iog"
        option_line = f"{rule}: {here};\n" if here else ""
        source.write_text(text.replace("#end_options", option_line + "#end_options", 1))
        rules = ruled([f"{rule}={there}"] if there else [])
        _, plans = command.checked(source, {"library": library, **rules})
        assert plans[0].raw[4] == wanted


FILLED = """#begin_options
name: filled;
processes: 4;
gaps: fill;
#end_options
#begin_dimensions
y: 64;
x: 32;
#end_dimensions
#begin_variables
{variables}
#end_variables
#begin_write
{accesses}
#end_write
"""
MAIN = """#include "filled_io.h"
int main(int argc, char **argv)
{{
	static double {buffers};
	MPI_Init(&argc, &argv);
	int error = filled_write(MPI_COMM_WORLD, argv[1], {given});
	MPI_Finalize();
	return error;
}}
"""


@pytest.mark.full
@pytest.mark.parametrize(("names", "writes"), [(["a"], 4 + 4), (["a", "b"], 1 + 1)])
def test_fill_values_are_counted(names: list[str], writes: int, tmp_path: Path) -> None:
    """Of one variable the ranks' shares follow each other, of two they interleave; data behind them likewise."""
    needs.require(["strace", *needs.of_mpi("romio321")])
    variables = "\n".join(f"{name}: double, 2, y, x;" for name in names)
    accesses = "\n".join(f"array: *, {name}, rank * 16, 8, 0, x, {name};" for name in names)
    source = tmp_path / "filled.iog"
    source.write_text(FILLED.format(variables=variables, accesses=accesses))
    assert command.checked(source, {})[1][0].raw == {4: writes}
    assert generated.fathom(source).returncode == 0
    buffers, given = ", ".join(f"{name}[256]" for name in names), ", ".join(names)
    (tmp_path / "main.c").write_text(MAIN.format(buffers=buffers, given=given))
    words = ["mpicc.openmpi", "-o", "main", "main.c", "filled_io.c"]
    done = generated.command(*words, *generated.flags("pnetcdf", "openmpi", "c"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log, path = tmp_path / "log", tmp_path / "data.nc"
    trace = ["strace", "-f", "-y", "-s", "0", "-o", log, "-e", "trace=pwrite64,pread64,write,read"]
    run = generated.command(*trace, *generated.LAUNCH["romio321"], "-n", "4", tmp_path / "main", path)  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert seen(log.read_text(), path)[0] == writes + 1


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("postings=off", "no rule has the option 'postings'; is it 'posting'?"),
        ("posting=of", "'of' is not one of nonblocking, blocking, on, off"),
        ("gaps=off", "'off' is not one of refuse, fill"),
        ("posting", "'' is not one of"),
    ],
)
def test_no_such_rule(rule: str, why: str) -> None:
    done = generated.fathom(generated.SPECS / "s3d.iog", "--explain", "--rule", rule)
    assert done.returncode == 2 and why in done.stderr


#: specification, the hand-written kernel's arguments, its file, raw writes of data of both
KERNELS = [
    (
        "s3d",
        ["-c", "1", "32", "32", "32", "2", "2", "1"],
        "pressure_wave_test.0.000E+00.field.nc",
        1,
    ),
    ("flash", ["-f", "c"], "flash_chk_0000.nc", 2),
    ("flash_plot", ["-f", "p"], "flash_plt_cnt_0000.nc", 1),
    ("flash_corners", ["-f", "k"], "flash_plt_crn_0000.nc", 1),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "arguments", "file", "writes"), KERNELS)
def test_as_few_as_hand_written(
    name: str, arguments: list[str], file: str, writes: int, tmp_path: Path
) -> None:
    """The kernel's own nonblocking calls, and the same file."""
    needs.require(["strace", *needs.of_mpi("romio321")])
    kernel = generated.KERNELS / f"{name.partition('_')[0]}_pnetcdf_openmpi"
    if not kernel.exists():
        pytest.skip(f"{kernel.name} is not built: its library is not installed")
    by_hand, out, path = tmp_path / "by_hand", tmp_path / "out", tmp_path / "data.nc"
    by_hand.mkdir()
    theirs = [kernel, "-m", "nonblocking", *arguments, by_hand]
    done = generated.fathom(generated.SPECS / f"{name}.iog", "-o", out, "--self-check")
    assert done.returncode == 0, done.stderr
    ours = [generated.build(out, name, "pnetcdf", "c", "openmpi"), path]
    counts = []
    for words, data in ((theirs, by_hand / file), (ours, path)):
        log = tmp_path / "log"
        trace = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-o", log]
        calls = ["-e", "trace=pwrite64,pread64,write,read"]
        run = generated.command(*trace, *calls, *generated.LAUNCH["romio321"], "-n", "4", *words)
        assert run.returncode == 0, run.stdout + run.stderr
        counts.append(seen(log.read_text(), data)[0])
    assert counts == [writes + 1, writes + 1]
    assert path.read_bytes() == (by_hand / file).read_bytes()
