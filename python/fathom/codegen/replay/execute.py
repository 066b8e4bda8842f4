"""A replay's program written, compiled by the MPI it is for, and started."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fathom.codegen.replay.program import Program
from fathom.errors import FathomError, UsageError, why
from fathom.files import replace_bytes, replace_text
from fathom.run import mpi, paths
from fathom.tune.settings.stacks import OPEN_MPI, installed_stacks, named

FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")


def family(program: Program) -> str:
    """Of the run's MPI; of a run without one any."""
    if program.mpi:
        return mpi.kind(program.mpi)
    return "mpich" if named("mpicc", "mpich") else "openmpi"


def write(program: Program, source: Path) -> None:
    """The source, and beside it its table, if it has one: NAME.c, NAME.table."""
    if source.suffix != ".c":
        raise UsageError(f"replay: {source}: a program in C is named NAME.c")
    try:
        replace_text(source, program.text)
        if program.table:
            replace_bytes(source.with_suffix(".table"), program.table)
    except OSError as error:
        raise FathomError(f"replay: {source}: {why(error)}") from error


def build(program: Program, built: Path, compiler: Sequence[str] | None) -> None:
    """The program, and beside it its table: NAME, NAME.table."""
    words = list(compiler or _ours("mpicc", program))
    with tempfile.TemporaryDirectory(prefix="fathom-replay-") as place:
        source = Path(place) / "replay.c"
        source.write_text(program.text, encoding="utf-8")
        words += [*FLAGS, "-o", str(built), str(source), *_hdf5(program)]
        _done(subprocess.run(words, capture_output=True, text=True, check=False), words)
    if program.table:
        table = built.with_name(f"{built.name}.table")
        try:
            replace_bytes(table, program.table)
        except OSError as error:
            raise FathomError(f"{table}: {why(error)}") from error


def _hdf5(program: Program) -> tuple[str, ...]:
    """What the compiler needs for parallel HDF5."""
    if not program.hdf5:
        return ()
    stack = installed_stacks().get(f"hdf5-{family(program)}")
    if stack is None:
        raise FathomError(
            f"replay: no parallel HDF5 of {program.mpi or 'an MPI'} here; --layer mpiio needs none"
        )
    return stack.flags


def _done(done: subprocess.CompletedProcess[str], words: Sequence[str]) -> None:
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        first = next((line for line in lines if "error" in line), lines[0])
        raise FathomError(f"replay: {words[0]} could not build the program: {first}")


def _ours(tool: str, program: Program) -> list[str]:
    path = named(tool, family(program))
    if not path:
        option = "--compiler" if tool == "mpicc" else "--launcher"
        raise FathomError(
            f"replay: no {tool} of {program.mpi or 'an MPI'} here; say one by {option}"
        )
    return [path]


def launch(
    program: Program, built: Path, directory: str, launcher: Sequence[str] | None, record: Path
) -> int:
    """Runs it, recorded as `record`; 0 where every call ended as in the run."""
    job = [
        *(launcher or _ours("mpiexec", program)),
        "-n",
        str(program.ranks),
        str(built),
        directory,
    ]
    words = [
        str(paths.native_command()),
        "run",
        "--no-show",
        "--level",
        "call",
        "-o",
        str(record),
        "--",
        *job,
    ]
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("FATHOM_RUN")
    }
    if family(program) == "openmpi":
        environment = OPEN_MPI | program.environment | environment
    try:
        done = subprocess.run(
            words, env=environment, check=False, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise FathomError(f"replay: {job[0]}: {error.strerror}") from error
    print(done.stdout, end="", flush=True)
    for line in done.stderr.splitlines():
        if not line.startswith("fathom: run directory"):  # it is removed
            print(line, file=sys.stderr)
    return done.returncode if "ended otherwise" in done.stdout else done.returncode or 1
