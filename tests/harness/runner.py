"""Runs one case: the program under Fathom, then everything the test file says of it."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb

from harness import account, agreement, invariants, oracle, paths, strace, tables
from harness.case import Case
from harness.needs import MPI

LAUNCH = {
    "mpich": "mpiexec.mpich",
    "ompio": "mpiexec.openmpi --allow-run-as-root --oversubscribe --mca io ompio",
    "romio321": "mpiexec.openmpi --allow-run-as-root --oversubscribe --mca io romio321",
}
#: More ranks than cores: let them yield; no network is asked for on one machine.
STACK_ENV = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    # No scan of /sys for the machine's shape: thousands of calls before the program's first.
    "HWLOC_SYNTHETIC": "pack:1 core:2 pu:1",
    "HWLOC_THISSYSTEM": "1",
    "FATHOM_SKIP": "strace",
}


class Failed(Exception):
    """What did not hold, as text for the reader."""


def program(case: Case) -> str:
    """The command of the test's program: built from C or Fortran, or a Python script."""
    if not case.program:
        return ""
    source = (paths.ROOT if case.program.startswith("kernels/") else paths.TESTS) / case.program
    if source.suffix == ".py":
        return f"{shlex.quote(paths.PYTHON)} {shlex.quote(str(source))}"
    suffix = f"_{MPI[case.mpi]}" if case.mpi else ""
    if case.program.startswith("kernels/"):
        return str(paths.BUILD / f"{case.program}{suffix}")
    return str(paths.PROGRAMS / Path(case.program).with_suffix("")) + suffix


def words(case: Case, tmp: Path) -> dict[str, str]:
    launcher = f"{LAUNCH[case.mpi]} -n {case.ranks}" if case.mpi else ""
    out = {
        "program": program(case),
        "tmp": str(tmp),
        "run": str(tmp / "run.fathom"),
        "account": str(tmp / "account"),
        "mpiexec": launcher,
        "mpi": MPI.get(case.mpi, ""),
        "python": paths.PYTHON,
        "build": str(paths.BUILD),
        "programs": str(paths.PROGRAMS / "programs"),
        "tools": str(paths.PROGRAMS / "tools"),
        "kernels": str(paths.BUILD / "kernels"),
        "tests": str(paths.TESTS),
        "fathom": str(paths.FATHOM),
        "library": str(paths.LIBRARY),
        "shm": f"/dev/shm/fathom-test.{os.getpid()}",
    }
    for name, value in case.words.items():
        out[name] = value.format(**out)
    return out


def fill(text: str, known: dict[str, str]) -> str:
    return text.format(**known)


def under_fathom(command: str, known: dict[str, str]) -> list[str]:
    """`fathom run …` becomes the built command with the test's run directory."""
    words_ = shlex.split(fill(command, known))
    at = words_.index("fathom")
    return [
        *words_[:at],
        known["fathom"],
        "run",
        "--no-show",
        "-o",
        known["run"],
        *words_[at + 2 :],
    ]


def bare(command: str, known: dict[str, str]) -> list[str]:
    """The same command without Fathom."""
    words_ = shlex.split(fill(command, known))
    at = words_.index("fathom")
    return [*words_[:at], *words_[words_.index("--") + 1 :]]


def shown_command(command: list[str]) -> str:
    """For the reader: without the hundred names of system calls."""
    return shlex.join(word for word in command if not word.startswith("trace="))


def execute(
    command: list[str], env: dict[str, str], timeout: int, cwd: Path
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env={**os.environ, **STACK_ENV, **env},
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{shown_command(command)}: no end after {timeout} s") from late


def shell(commands: list[str], known: dict[str, str], cwd: Path) -> None:
    for command in commands:
        done = execute(["bash", "-c", fill(command, known)], {}, 120, cwd)
        if done.returncode:
            raise Failed(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def run(case: Case, tmp: Path) -> None:
    """All of it; {shm} (memory, where sparse files cost nothing) is there while it runs."""
    known = words(case, tmp)
    Path(known["shm"]).mkdir(exist_ok=True)
    try:
        _run(case, tmp, known)
    finally:
        shutil.rmtree(known["shm"], ignore_errors=True)


def _run(case: Case, tmp: Path, known: dict[str, str]) -> None:
    env = {key: fill(value, known) for key, value in case.env.items()}
    if case.account:
        Path(known["account"]).mkdir()
    shell(case.before, known, tmp)
    command = under_fathom(case.run, known)
    trace = tmp / "strace"
    if case.oracle == "strace":
        command = watched(command, known, trace)
    done = execute(command, env, case.timeout, tmp)
    problems = outcome(case, done)
    if problems:
        raise Failed("\n".join([*problems, done.stdout[-1500:], done.stderr[-3000:]]))
    shell(case.after, known, tmp)
    problems = [
        line for pair in case.equal for line in unequal(*(Path(fill(p, known)) for p in pair))
    ]
    if case.same:
        problems += other_than_bare(case, known, env, tmp, done)
    problems += look(case, Path(known["run"]), trace, known)
    if problems:
        shown = problems[:12] + ([f"… {len(problems)} in all"] if len(problems) > 12 else [])
        raise Failed("\n".join([shown_command(command), *shown]))


def watched(command: list[str], known: dict[str, str], trace: Path) -> list[str]:
    """The command under strace: around all of it, or, of an MPI job, around each rank."""
    names = {name for op in expectations("posix").values() for name in op["syscalls"]}
    options = ["strace", *strace.flags(names)]
    launcher = shlex.split(known["mpiexec"])
    if not launcher:
        return [*options, "-o", str(trace), *command]
    trace.mkdir()
    at = command.index(launcher[0]) + len(launcher)
    return [*command[:at], *options, "-ff", "-o", str(trace / "rank"), *command[at:]]


def outcome(case: Case, done: subprocess.CompletedProcess[str]) -> list[str]:
    out = []
    if done.returncode not in (case.exit if isinstance(case.exit, list) else [case.exit]):
        out.append(f"exit status {done.returncode}, expected {case.exit}")
    for pattern, text, name in (
        (case.prints, done.stdout, "stdout"),
        (case.complains, done.stderr, "stderr"),
    ):
        if pattern and not re.search(pattern, text):
            out.append(f"{name} has no {pattern!r}")
    return out


def unequal(a: Path, b: Path) -> list[str]:
    """Files compared byte for byte, HDF5 files by h5diff; of directories, all files of the first."""
    if a.is_dir():
        names = sorted(p.name for p in a.iterdir())
        if not names:
            return [f"{a}: empty"]
        return [line for name in names for line in unequal(a / name, b / name)]
    if a.suffix == ".h5":
        done = subprocess.run(
            ["h5diff", "-v", a, b], capture_output=True, text=True, timeout=300, check=False
        )
        return [f"h5diff {a} {b}: {done.stdout[-500:]}{done.stderr}"] if done.returncode else []
    if not b.exists() or not filecmp.cmp(a, b, shallow=False):
        return [f"{a} and {b} differ"]
    return []


def other_than_bare(
    case: Case,
    known: dict[str, str],
    env: dict[str, str],
    tmp: Path,
    seen: subprocess.CompletedProcess[str],
) -> list[str]:
    alone = execute(bare(case.run, known), env, case.timeout, tmp)
    out = []
    if alone.returncode != seen.returncode:
        out.append(f"exit {seen.returncode} under Fathom, {alone.returncode} without")
    if alone.stdout != seen.stdout:
        out.append(f"stdout under Fathom {seen.stdout[:300]!r}, without {alone.stdout[:300]!r}")
    return out


def expectations(layer: str) -> dict[str, Any]:
    """What the catalog says each op of a layer may become."""
    ops: dict[str, Any] = json.loads(paths.ORACLE.read_text())[layer]
    return ops


def look(case: Case, run_: Path, trace: Path, known: dict[str, str]) -> list[str]:
    """Everything that the tables must say."""
    if not case.recorded:
        return [f"{run_} has streams"] if any(run_.glob("streams/*/*.fts")) else []
    if not run_.is_dir():
        return [f"no run directory {run_}"]
    connection = tables.connect(run_)
    out = invariants.broken(
        connection,
        finished=not case.unfinished,
        whole=case.level == "call" and not case.partial,
    )
    out += agreement.broken(run_)
    if case.oracle == "strace":
        lines, compared = oracle.compare(trace, connection, expectations("posix"))
        out += lines + oracle.unexplained(trace, connection, expectations("stdio"))
        if not compared:
            out.append("strace saw no call that counts")
    if case.account:
        out += account.differences(connection, Path(known["account"]), case.account)
    for check in case.checks:
        sql = fill(check.sql, known) if "{" in check.sql else check.sql
        try:
            got = tables.ask(connection, sql)
        except duckdb.Error as error:
            raise Failed(f"{sql.strip()}\n{error}") from error
        want = [[fill(v, known) if isinstance(v, str) else v for v in row] for row in check.rows]
        if got != want:
            out.append(
                f"{check.sees or check.sql.strip()}\n  expected {want}\n  got      {got[:20]}"
            )
    return out
