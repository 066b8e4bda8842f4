"""What `fathom show` answers of the kernels, against what is known of them (kernels/README.md): which library, who
calls and who moves the bytes, which operation, in what order, which source line; at level `job` all but the line."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import Remembered, accesses, next_selection
from fathom.analysis.answers import Answers, answers
from fathom.analysis.own import own
from harness import needs, paths
from harness.runner import LAUNCH, MPI, STACK_ENV

KERNELS = paths.BUILD / "kernels"
SOURCES = paths.ROOT / "kernels"
BUFFERED = "-m collective -H romio_cb_write=enable -H romio_cb_read=enable"
OFF = "-m independent -H romio_ds_write=disable -H romio_ds_read=disable"
MPIIO, HDF5, PNETCDF = ["mpiio", "posix"], ["hdf5", "mpiio", "posix"], ["pnetcdf", "mpiio", "posix"]


@dataclass(frozen=True)
class Kernel:
    """A run of a kernel on 4 ranks, and what is known of it."""

    name: str
    arguments: str
    stack: list[str]  # the library that the program calls, and what that stands on
    moving: str  # who moves the bytes: one (rank 0, the aggregator), all
    writes: str | None  # function of the program's own that writes; null: none does
    reads: str | None
    mpi: str = "mpich"
    before: str = ""
    besides: str = ""  # layer that the program calls directly too


# Two-phase only where the ranks' parts interleave: S3D, GCRM, ATHENA's restart, a matrix by column, tiles, records.
KNOWN = [
    Kernel("s3d_mpiio", f"-r {BUFFERED} -c 2 12 12 12 2 2 1", MPIIO, "one", "MPI_File_write_all", "MPI_File_read_all"),
    Kernel("s3d_mpiio", f"-r {OFF} -c 2 12 12 12 2 2 1", MPIIO, "all", "MPI_File_write", "MPI_File_read"),
    Kernel("s3d_hdf5", f"{BUFFERED} -c 2 12 12 12 2 2 1", HDF5, "one", "H5Dwrite", None),
    Kernel("s3d_pnetcdf", f"{BUFFERED} -c 2 32 32 32 2 2 1", PNETCDF, "one", "ncmpi_put_vara_all", None, "romio321"),
    Kernel("flash_hdf5", "-m independent -x 4 -b 16 -f c", HDF5, "all", "H5Dwrite", None),
    Kernel("flash_pnetcdf", "-m independent -x 8 -b 16 -f c", PNETCDF, "all", "ncmpi_put_vara", None, "romio321"),
    Kernel("vpic_hdf5", "-r -p 10000", HDF5, "all", "H5Dwrite", "H5Dread"),
    Kernel("vorpal_hdf5", "-m independent -t 2 8 8 8 1 2 1 1 2 2", HDF5, "all", "H5Dwrite", None),
    Kernel("gcrm_hdf5", f"{BUFFERED} -l 3 5 4", HDF5, "one", "H5Dwrite", None),
    Kernel("chombo_hdf5", "-b 20 -l 3 -c 5", HDF5, "all", "H5Dwrite", None),
    Kernel("athena_mpiio", f"{BUFFERED} -t 2 -s 2 -l 3 -x 16", MPIIO, "one", "MPI_File_write_all", None,
           besides="posix"),
    Kernel("ior_posix", "-r -F 16 1048576 4096", ["posix"], "all", "pwrite", "pread"),
    Kernel("ior_mpiio", "-r -m independent 2 65536 16384", MPIIO, "all", "MPI_File_write_at", "MPI_File_read_at"),
    Kernel("synthetic_mpiio", f"{BUFFERED} column 512 512", MPIIO, "one", "MPI_File_write_all", None),
    Kernel("tile_mpiio", f"-r {BUFFERED} -e 4 2 2 128 96 2 1", MPIIO, "one", "MPI_File_write_all", "MPI_File_read_all"),
    Kernel("volume_mpiio", f"-r {BUFFERED} 64 64 32 2 2 1", MPIIO, "one", None, "MPI_File_read_all",
           before="volume_serial_netcdf -n 4 64 64 32 2 2 1"),
]  # fmt: skip


def trace(kernel: Kernel, level: str, tmp: Path) -> Remembered:
    """Runs it at this level."""
    needs.require(needs.of_mpi(kernel.mpi))
    program = KERNELS / f"{kernel.name}_{MPI[kernel.mpi]}"
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    out = tmp / f"out.{level}"
    out.mkdir()
    if kernel.before:
        writer, *words = kernel.before.split()
        subprocess.run([KERNELS / writer, *words, out], check=True, timeout=300)
    command = [
        paths.FATHOM, "run", "--no-show", "--level", level, "-o", tmp / level, "--",
        *shlex.split(LAUNCH[kernel.mpi]), "-n", "4", program, *kernel.arguments.split(), out,
    ]  # fmt: skip
    subprocess.run(
        command, check=True, timeout=300, env={**os.environ, **STACK_ENV}, stdout=subprocess.DEVNULL
    )
    return Remembered(fathom.open(tmp / level))


def same_at_every_level(replies: Answers, kernel: Kernel) -> None:
    assert kernel.stack[0] in [layer for layer, _ in replies.library.layers]
    # Open MPI's own threads talk over sockets, which level job cannot tell from files.
    if replies.lines is not None or kernel.mpi == "mpich":
        assert replies.library.stack == kernel.stack
    if kernel.stack == MPIIO and not kernel.besides:
        assert replies.library.collective == float("-m collective" in kernel.arguments)
    assert (replies.ranks.of, replies.ranks.callers, replies.ranks.by) == (4, 4, "bytes")
    assert replies.ranks.kind == kernel.moving
    assert replies.ranks.who == ([0] if kernel.moving == "one" else [0, 1, 2, 3])
    assert 0 < replies.time.least <= replies.time.most <= 1
    direct = {layer for layer, _ in replies.library.layers}
    assert kernel.besides in direct or not kernel.besides


def data_functions(source: Remembered, layer: str) -> dict[str, set[str]]:
    rows = own(source).to_pylist()
    return {
        kind: {row["op"] for row in rows if row["layer"] == layer and row["kind"] == kind}
        for kind in ("read", "write")
    }


def calls_near(source: Path, line: int, call: str) -> bool:
    """Does the kernel's source make the call there? A statement may begin in the lines above."""
    text = source.read_text().splitlines()
    return any(call in near for near in text[max(0, line - 4) : line + 3])


def check_lines(replies: Answers, kernel: Kernel, ranks: int = 4) -> None:
    assert replies.lines is not None
    for call in filter(None, (kernel.writes, kernel.reads)):
        rows = [row for row in replies.lines.to_pylist() if row["op"] == call]
        assert max(row["processes"] for row in rows) == ranks
        for row in rows:
            (source,) = SOURCES.rglob(Path(row["source"]).name)
            assert calls_near(source, row["line"], call.removesuffix("_all")), (row, call)


def check_order(source: Remembered, replies: Answers, kernel: Kernel) -> None:
    """Files are read back after they were written; the bursts lie between the first call and the last."""
    when, slack = replies.when, replies.time.run_seconds / 100
    assert when.source == "calls"
    assert when.first is not None and when.last is not None
    assert when.bursts[0][0] >= when.first - slack
    assert when.bursts[-1][1] <= when.last + slack
    if kernel.writes and kernel.reads:
        rows = source.sql(
            "select kind, sum(start * bytes) / sum(bytes) as at from calls where depth = 0 and bytes > 0"
            " and layer not in ('fathom', 'mpi') group by kind"
        ).to_pylist()
        mean = {row["kind"]: row["at"] for row in rows}
        assert mean["write"] < mean["read"]


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "kernel",
    KNOWN,
    ids=lambda k: f"{k.name}-{'collective' if 'collective' in k.arguments else 'own'}",
)
def test_the_answers_are_what_is_known(kernel: Kernel, tmp_path: Path) -> None:
    full = trace(kernel, "call", tmp_path)
    replies = answers(full)
    same_at_every_level(replies, kernel)
    named = data_functions(full, kernel.stack[0])
    for kind, call in (("write", kernel.writes), ("read", kernel.reads)):
        assert call in named[kind] if call else not named[kind]
    assert replies.time.share is not None
    check_lines(replies, kernel)
    check_order(full, replies, kernel)
    counted = answers(trace(kernel, "job", tmp_path))
    same_at_every_level(counted, kernel)
    assert counted.lines is None
    assert counted.time.share is None
    assert set(counted.library.mpiio) == set(replies.library.mpiio)


# ATHENA-like: 2 steps of a collective restart file, 2 small files of 3 lines of 64 bytes by each rank, a private file
# of 3 such lines by each rank. Its restart: 2 arrays of (16 x 4 ranks) x 16 x 16 doubles.
RESTART = 2 * 2 * 64 * 16 * 16 * 8
TABLE_VI = {
    ("MPI_File_write_all", "restart.*.bin"): ([0], 2, RESTART),
    ("MPI_File_write_at", "history.*.bin"): ([0, 1, 2, 3], 4, 4 * 4 * 3 * 64),
    (None, "tab.*.bin"): ([0, 1, 2, 3], 8, 2 * 4 * 3 * 64),
}


@pytest.mark.parametrize("level", ["file", "call"])
def test_who_made_posix_write_by_group_of_files(level: str, tmp_path: Path) -> None:
    """Table VI of the paper that MPIProf's `<` is for, with events off and on."""
    (kernel,) = (one for one in KNOWN if one.name == "athena_mpiio")
    source = trace(kernel, level, tmp_path)
    callers = {
        (row["caller"], row["file_group"]): (row["ranks"], row["files"], row["bytes"])
        for row in accesses.origins(source).to_pylist()
        if row["operation"] == "write" and row["layer"] == "posix"
    }
    assert {key: callers[key] for key in TABLE_VI} == TABLE_VI
    counted = source.sql("select sum(recorded)::bigint as n from counters where layer <> 'fathom'")[
        "n"
    ][0].as_py()
    assert bool(counted) == (level == "call")


def test_who_made_posix_write_at_level_job(tmp_path: Path) -> None:
    """The same without files: MPIProf's own view."""
    (kernel,) = (one for one in KNOWN if one.name == "athena_mpiio")
    callers = {
        row["caller"]: (row["ranks"], row["bytes"])
        for row in accesses.origins(trace(kernel, "job", tmp_path)).to_pylist()
        if row["operation"] == "write" and row["layer"] == "posix" and row["caller"]
    }
    assert callers == {
        caller: (ranks, size) for (caller, _), (ranks, _, size) in TABLE_VI.items() if caller
    }


@pytest.mark.parametrize("level", ["file", "call"])
def test_processes_without_mpi(level: str, tmp_path: Path) -> None:
    """The data loader: one process writes the files, three others read them twice."""
    loader = SOURCES / "loader" / "loader.py"
    data = tmp_path / "data"
    data.mkdir()
    options = "--files 6 --samples 50 --size 20000 --workers 3 --epochs 2 --start fork".split()
    subprocess.run(
        [paths.FATHOM, "run", "--no-show", "--level", level, "-o", tmp_path / "run", "--",
         paths.PYTHON, loader, *options, data],
        check=True, timeout=300, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    source = Remembered(fathom.open(tmp_path / "run"))
    replies = answers(source)
    assert (replies.library.stack, replies.library.mpiio) == (["posix"], [])
    assert replies.ranks.unit == "process"
    assert replies.ranks.kind in ("some", "all")
    size = sum(path.stat().st_size for path in data.iterdir())
    rows = {
        row["operation"]: row
        for row in accesses.origins(source).to_pylist()
        if row["file_group"] == "shard.*.bin"
    }
    assert (rows["write"]["bytes"], rows["read"]["bytes"]) == (size, 2 * size)
    assert len(rows["write"]["ranks"]) == 1
    # Who of the readers gets how many samples is chance; one that gets none does no I/O.
    assert 2 <= 1 + len(rows["read"]["ranks"]) <= replies.ranks.of <= 4
    assert not {*rows["write"]["ranks"]} & {*rows["read"]["ranks"]}


def next_command(run: str, directory: Path) -> list[str]:
    """What `fathom show --next` says to run, as the shell would take it."""
    done = subprocess.run(
        [paths.FATHOM, "show", run, "--next"],
        check=True,
        timeout=300,
        cwd=directory,
        capture_output=True,
        text=True,
    )
    words = shlex.split(done.stdout)
    assert words[:2] == ["fathom", "run"]
    return [str(paths.FATHOM), "run", "--no-show", *words[2:]]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "kernel",
    [one for one in KNOWN if one.name in ("athena_mpiio", "ior_posix", "vpic_hdf5")],
    ids=lambda k: k.name,
)
def test_two_steps_lead_from_counters_to_the_guilty_lines(kernel: Kernel, tmp_path: Path) -> None:
    """The paper's procedure: totals of all ranks, files on those that dominate, calls on the files that do."""
    assert next_selection.level(trace(kernel, "job", tmp_path)) == "job"
    for step, level in (("job", "file"), ("job.2", "call")):
        command = next_command(step, tmp_path)
        subprocess.run(
            command,
            check=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, **STACK_ENV},
            stdout=subprocess.DEVNULL,
        )
        source = Remembered(fathom.open(tmp_path / command[command.index("-o") + 1]))
        assert next_selection.level(source) == level
    replies = answers(source)
    check_lines(replies, kernel, 1 if kernel.moving == "one" else 4)
    # Little was looked at, all was counted.
    assert source.sql("select counted from runs")["counted"][0].as_py() > 0
    files = source.sql(
        "select distinct path from calls join files using (file)"
        " where calls.kind in ('read', 'write') and layer in ('posix', 'mpiio')"
    )["path"].to_pylist()
    assert files
    assert all(str(tmp_path / "out.job") in path for path in files)
    done = subprocess.run(
        [paths.FATHOM, "show", "job.3", "--next"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert kernel.writes is not None
    assert kernel.writes in done.stdout


@pytest.mark.parametrize("options", ["-g", "-s"])
def test_a_program_that_is_stripped_is_said_to_be(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else nobody knows why no line is named."""
    needs.require(["gcc"])
    source = paths.TESTS / "programs" / "short_read.c"
    program, run = tmp_path / "short_read", tmp_path / "run.fathom"
    compiled = ["gcc", "-O1", "-w", options, source, "-o", program]
    for words in (compiled, [paths.FATHOM, "run", "--no-show", "-o", run, program, tmp_path / "f"]):
        subprocess.run([str(word) for word in words], check=True, timeout=300)
    assert main(["show", str(run), "--all"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    why = "(in short_read: no line or function is known, it is stripped; fathom doctor PROGRAM"
    assert (why in page) == (options == "-s")
    assert ("short_read.c:" in page) == (options == "-g")
