"""Predicted raw writes and reads are those that strace sees, with rules on and off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fathom.generate import command
from fathom.generate.plan import plan
from fathom.generate.selfcheck import read_all
from harness import generated, needs

CALL = re.compile(r"\b(pwrite64|pread64|write|read|pwritev|preadv)\(\d+<([^>]*)>")
#: specification, library, MPI-IO, options that switch rules, raw writes of data with 4 ranks
CASES = [
    ("s3d", "mpiio", "mpich", {}, 4),
    ("s3d", "mpiio", "mpich", {"calls": "independent", "sieving": "off"}, 32768),
    ("s3d", "pnetcdf", "romio321", {}, 1),
    ("s3d", "pnetcdf", "romio321", {"posting": "blocking"}, 4),
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
]
QUICK = (2, 5, 10, 14)
#: PnetCDF's header, written once at the end of define mode.
HEADER = {"pnetcdf": 1, "mpiio": 0, "posix": 0}


def seen(log: str, path: Path) -> tuple[int, int]:
    """Writes and reads of the file."""
    names = [found[1] for found in CALL.finditer(log) if found[2] == str(path)]
    writes = sum("write" in name for name in names)
    return writes, len(names) - writes


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
    text = (generated.SPECS / source.name).read_text().replace("processes: 4, 8", "processes: 4")
    said = "".join(f"{key}: {value};\n" for key, value in options.items())
    source.write_text(text.replace("#end_options", said + "#end_options", 1))
    spec, plans = command.checked(source, {"library": library})
    reading = [p.raw[4] for p in [*plans, plan(spec, read_all(spec))] if p.reading]
    assert next(p for p in plans if not p.reading).raw[4] == writes
    done = generated.fathom(source, "-o", out, "--self-check", "--library", library)
    assert done.returncode == 0, done.stderr
    program = generated.build(out, name, library, "c", needs.MPI[mpi])
    path, log = tmp_path / "data", tmp_path / "log"
    needs.require(needs.of_mpi(mpi))
    calls = "trace=pwrite64,pread64,write,read,pwritev,preadv"
    trace = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-o", log, "-e", calls]
    run = generated.command(*trace, *generated.LAUNCH[mpi], "-n", "4", program, path)
    assert run.returncode == 0, run.stdout + run.stderr
    made, read = seen(log.read_text(), path)
    assert made == writes + HEADER[library]
    if library != "pnetcdf":
        assert read == sum(reading)
