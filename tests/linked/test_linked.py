"""fathom cc: a static program is recorded as its dynamic form is by preload, and runs as ever without a run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, runner, tables

HERE = Path(__file__).parent
SOURCES = paths.TESTS / "programs"
HEADERS = [f"-I{paths.ROOT / 'runtime' / 'user'}", f"-I{SOURCES}"]
HDF5 = Path("/usr/lib/x86_64-linux-gnu/hdf5/serial")
HDF5_WORDS = shlex.split(
    f"-I/usr/include/hdf5/serial -L{HDF5} -lhdf5 -lsz -laec -lz -ldl -lm -lcrypto -lcurl"
)
#: MPICH of Debian alone is not enough for a static link: UCX below it comes up by constructors that nobody asks for.
MPICH_WORDS = shlex.split(
    f"{HERE / 'udev.c'} -Wl,--whole-archive -lucs -lucp -Wl,--no-whole-archive -luct -lucm -lnuma -lm"
    " -Wl,--allow-multiple-definition"
)
#: All that two forms of a program must have in common; calls of a dynamic one's libraries left out by `among`.
SAME = """
    select layer, op, state, count(*), count(*) filter (error <> 0), sum(bytes) from calls
    where layer <> 'fathom' and ({among}) group by all order by all"""


def link(place: Path, name: str, *words: object, inside: bool = True) -> Path:
    """The program, made by the compiler that the words begin with."""
    program = place / name
    first = [paths.FATHOM, "cc", "--"] if inside else []
    command = [str(word) for word in (*first, *words, "-g", "-O1", "-o", program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return program


def record(place: Path, name: str, *words: object, launcher: str = "") -> tuple[Any, str]:
    """The tables of a run of it in a folder of its own, and what it said."""
    (place / name).mkdir()
    run = place / f"{name}.fathom"
    command = [paths.FATHOM, "run", "--no-show", "-o", run, "--", *shlex.split(launcher), *words]
    done = subprocess.run(
        [str(word) for word in command],
        cwd=place / name,
        env={**os.environ, **runner.STACK_ENV},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tables.connect(run), done.stderr


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("program", "where", "how"),
    [
        ("positions", ".", "-static"),
        pytest.param("positions", ".", "-static-pie", marks=pytest.mark.full),
        ("stdio_ways", ".", "-static"),
        pytest.param("errors", ".", "-static", marks=pytest.mark.full),
        pytest.param("metadata", ".", "-static", marks=pytest.mark.full),
        pytest.param("data_calls", ".", "-static", marks=pytest.mark.full),
        ("forks", "file", "-static"),
        pytest.param("longjmp", "file", "-static", marks=pytest.mark.full),
        pytest.param("regions", "file", "-static", marks=pytest.mark.full),
        ("regions", "file", "-static-pie"),
        pytest.param("threads", "file", "-static", marks=pytest.mark.full),
    ],
)
def test_same_calls_as_by_preload(tmp_path: Path, program: str, where: str, how: str) -> None:
    source = [SOURCES / f"{program}.c", *HEADERS, "-lpthread"]
    tables_of = []
    for form in ("dynamic", "linked"):
        built = link(tmp_path, f"{program}.{form}", "gcc", *source, *([how] * (form == "linked")))
        connection, messages = record(tmp_path, form, built, where)
        assert "statically" not in messages
        tables_of.append(tables.ask(connection, SAME.format(among="true")))
    assert len(tables_of[0]) >= 2
    assert tables_of[0] == tables_of[1]


def test_statements_of_fortran(tmp_path: Path) -> None:
    """libgfortran takes our keys for all of threads, and calls what was not linked in."""
    needs.require(["gfortran"])
    source, tables_of = SOURCES / "fortran_statements.f90", []
    for form, how in (("dynamic", []), ("linked", ["-static"])):
        built = link(tmp_path, f"statements.{form}", "gfortran", source, *how)
        connection, _ = record(tmp_path, form, built, ".")
        tables_of.append(tables.ask(connection, SAME.format(among="layer = 'fortran'")))
    assert len(tables_of[0]) == 9
    assert tables_of[0] == tables_of[1]


def test_strace_sees_the_same(tmp_path: Path) -> None:
    """The program alone: what a system call returned, of each that moves data at an offset."""
    needs.require(["strace"])
    built = link(tmp_path, "sizes", "gcc", "-static", SOURCES / "sizes.c", *HEADERS)
    log = tmp_path / "log"
    traced = ["strace", "-f", "-o", log, "-e", "trace=pwrite64,pread64,write,read", built]
    subprocess.run([*map(str, traced), str(tmp_path / "file")], check=True)
    seen: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for op, result in re.findall(r" (\w+)\(.*= (-?\d+)", log.read_text()):
        seen[op.removesuffix("64")] += 1
        sums[op.removesuffix("64")] += int(result)
    connection, _ = record(tmp_path, "run", built, "file")
    moved = "('pwrite', 'pread', 'write', 'read')"
    ask = f"select op, count(*), sum(bytes)::bigint from calls where op in {moved} group by op"
    rows = tables.ask(connection, ask)
    assert rows
    assert {op: (calls, total) for op, calls, total in rows} == {
        op: (seen[op], sums[op]) for op in seen
    }


def test_hdf5(tmp_path: Path) -> None:
    """What HDF5 calls of itself as well: which of its calls below moves raw data. Libraries' own starts left out."""
    if not (HDF5 / "libhdf5.a").is_file():
        pytest.skip("no static HDF5 here")
    rows_of = []
    for form, words in (("dynamic", []), ("linked", ["-static"])):
        program = link(tmp_path, f"hdf5.{form}", "gcc", HERE / "datasets.c", *words, *HDF5_WORDS)
        connection, _ = record(tmp_path, form, program, "file.h5")
        among = "layer = 'hdf5' or op in ('pwrite', 'pread', 'flock')"
        rows_of.append(tables.ask(connection, SAME.format(among=among)))
        details = "select count(*) from objects where class = 'hdf5_dataset' and name = '/set'"
        assert tables.ask(connection, details) == [[1]]
    assert "H5FD_write" in [row[1] for row in rows_of[0]]
    assert rows_of[0] == rows_of[1]


@pytest.mark.parametrize("inside", [True, False])
def test_a_library_inside_a_dynamic_program_is_said(tmp_path: Path, inside: bool) -> None:
    """As Debian's h5cc links it: no slot leads to it."""
    if not (HDF5 / "libhdf5.a").is_file():
        pytest.skip("no static HDF5 here")
    words = [*([HDF5 / "libhdf5.a"] if inside else []), *HDF5_WORDS]
    program = link(tmp_path, "sets", "gcc", HERE / "datasets.c", *words, inside=False)
    connection, _ = record(tmp_path, "run", program, "file.h5")
    said = tables.ask(connection, "select detail from marks where kind = 'linked in'")
    says = f"{program} has the library of layer hdf5 inside: none of its calls is seen, those below are; "
    assert said == ([[says + "link the shared one"]] if inside else [])
    seen = tables.ask(connection, "select count(*) > 0 from calls where layer = 'hdf5'")
    assert seen == [[not inside]]


def test_mpi(tmp_path: Path) -> None:
    """Two ranks: MPI-IO, what ROMIO asks of MPI below it, and its own I/O."""
    needs.require(["mpicc.mpich", "mpiexec.mpich"])
    rows_of = []
    for form, words in (("dynamic", []), ("linked", ["-static", *MPICH_WORDS])):
        program = link(tmp_path, f"mpi.{form}", "mpicc.mpich", HERE / "collective.c", *words)
        connection, _ = record(tmp_path, form, program, "file", launcher="mpiexec.mpich -n 2")
        # ROMIO broadcasts a file's name with a number in it, which has more or fewer digits.
        counted = """
            select layer, op, sum(calls), sum(bytes) filter (op <> 'MPI_Bcast') from counters
            where layer in ('mpi', 'mpiio') or op in ('pwrite', 'pread') group by all order by all"""
        rows_of.append(tables.ask(connection, counted))
        carried = "select count(*) from links where kind = 'carries'"
        rows_of[-1] += tables.ask(connection, carried)
        where = """
            select count(*) from calls join sites using (site)
            where op = 'MPI_Wait' and source like '%collective.c'"""
        assert tables.ask(connection, where) == [[2]]
    assert {"MPI_Wait", "MPI_Barrier", "MPI_Alltoall", "pwrite"} <= {
        row[1] for row in rows_of[0][:-1]
    }
    assert rows_of[0] == rows_of[1]


def test_alone_it_runs_as_ever(tmp_path: Path) -> None:
    """The same system calls on files and descriptors as without Fathom inside, one by one."""
    needs.require(["strace"])
    logs = []
    for name, inside in (("bare", False), ("linked", True)):
        words = ["gcc", "-static", SOURCES / "sizes.c", *HEADERS]
        program = link(tmp_path, name, *words, inside=inside)
        log = tmp_path / f"{name}.log"
        traced = ["strace", "-o", str(log), "-e", "trace=%file,%desc", str(program), "file"]
        subprocess.run(traced, cwd=tmp_path, check=True)
        lines = log.read_text().splitlines()
        logs.append([line for line in lines if not line.startswith(("execve", "readlink"))])
    assert len(logs[0]) > 10
    assert logs[0] == logs[1]


def test_flags_change_static_links_alone(tmp_path: Path) -> None:
    flags = subprocess.run(
        [paths.FATHOM, "cc", "--flags"], capture_output=True, text=True, check=True
    )
    words = ["gcc", SOURCES / "sizes.c", *HEADERS, *flags.stdout.split()]
    symbols = [
        subprocess.run(
            ["nm", link(tmp_path, name, *words, *more, inside=False)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name, more in (("dynamic", []), ("linked", ["-static"]))
    ]
    assert "fathom" not in symbols[0]
    assert "fathom_linked" in symbols[1]
    assert "__wrap_H5Dwrite" not in symbols[1]  # nothing that it does not call


def test_a_linker_called_by_itself(tmp_path: Path) -> None:
    """gcc's own words for it, with ours."""
    linking = subprocess.run(
        ["gcc", "-###", "-static", "object.o", "-o", "made"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    link(tmp_path, "object.o", "gcc", "-c", SOURCES / "sizes.c", *HEADERS, inside=False)
    (line,) = [line for line in linking.splitlines() if "collect2" in line]
    words = [word for word in shlex.split(line)[1:] if "plugin" not in word]
    linker = shutil.which("ld")
    assert linker
    subprocess.run([paths.FATHOM, "cc", "--", linker, *words], cwd=tmp_path, check=True)
    connection, _ = record(tmp_path, "run", tmp_path / "made", "file")
    assert tables.ask(connection, "select count(*) > 0 from calls where op = 'pwrite'") == [[True]]


def test_a_static_program_without_it_is_said(tmp_path: Path) -> None:
    program = link(tmp_path, "bare", "gcc", "-static", SOURCES / "sizes.c", *HEADERS, inside=False)
    connection, messages = record(tmp_path, "run", program, "file")
    assert (
        "bare is linked statically: its own calls are not recorded; "
        "link it with `fathom cc`, or record it with --strace, slower" in messages
    )
    assert tables.ask(connection, "select count(*) from calls") == [[0]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give a compiler's words"),
        (["--flags", "--", "gcc"], "give a compiler's words"),
        (["--", "no-such-compiler", "a.c"], "no-such-compiler: No such file or directory"),
    ],
)
def test_mistakes(words: list[str], says: str) -> None:
    done = subprocess.run([paths.FATHOM, "cc", *words], capture_output=True, text=True, check=False)
    assert done.returncode in (2, 3)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
