"""A parallel kernel that was started bare, attached while it writes, let go while it writes: what was recorded is
an exact part of what the same program did in a run that strace watched, and in one that was recorded from its start."""

from __future__ import annotations

import filecmp
import os
import re
import shlex
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, tables
from harness.runner import LAUNCH, MPI, STACK_ENV

SIZE = ["-c", "14", "48", "48", "48", "2", "2", "1"]
WRITE = re.compile(r"(\d+) +pwrite64\(\d+<([^>]*)>, .*, (\d+), (\d+)\) = (\d+)")
Calls = list[tuple[Any, ...]]


def words(mpi: str, place: Path) -> list[str]:
    place.mkdir()
    kernel = paths.BUILD / "kernels" / f"s3d_mpiio_{MPI[mpi]}"
    return [*shlex.split(LAUNCH[mpi]), "-n", "4", str(kernel), *SIZE, str(place)]


def run(*command: object) -> str:
    env = {**os.environ, **STACK_ENV}
    done = subprocess.run(
        [str(word) for word in command],
        env=env,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def checkpoints(place: Path) -> int:
    return len(list(place.glob("*.field.bin")))


def wait_for(place: Path, number: int, program: subprocess.Popen[str]) -> None:
    while checkpoints(place) < number and program.poll() is None:
        time.sleep(0.01)
    assert program.poll() is None, "it ended too early"


def by_rank(run_directory: Path) -> dict[int, Calls]:
    """What each rank asked of MPI-IO, and did to the checkpoints, in order, up to the call that detaching cut off."""
    rows = tables.ask(
        tables.connect(run_directory),
        """
        select p.rank, state = 'done', layer, op, size, bytes,
          case when layer = 'posix' then file_offset end,
          case when layer = 'posix' then regexp_extract(f.path, '[^/]*$') end
        from calls join processes p using (process) left join files f using (file)
        where (layer = 'mpiio' and op <> 'MPI_Finalize'
          or f.path like '%.field.bin' and op in ('open', 'pwrite', 'close'))
        order by p.rank, calls.start
        """,
    )
    calls = defaultdict(list)
    cut_off = set()
    for rank, done, *call in rows:
        if not done:
            cut_off.add(rank)
        if rank not in cut_off:
            calls[rank].append(tuple(call))
    return calls


def straced(trace: Path) -> list[Calls]:
    """Each process's writes to checkpoints: name, size, offset, bytes."""
    writes = defaultdict(list)
    for line in trace.read_text(errors="replace").splitlines():
        match = WRITE.match(line)
        if match and match[2].endswith(".field.bin"):
            writes[match[1]].append((Path(match[2]).name, *(int(match[i]) for i in (3, 4, 5))))
    return list(writes.values())


def is_part(part: Calls, whole: Calls) -> bool:
    """One behind the other, none missing."""
    return any(
        whole[at : at + len(part)] == part
        for at, call in enumerate(whole)
        if not part or call == part[0]
    )


@pytest.mark.full
@pytest.mark.parametrize("mpi", ["mpich", "ompio", "romio321"])
def test_attached_in_one_checkpoint_and_let_go_in_another(tmp_path: Path, mpi: str) -> None:
    needs.require(["strace", *needs.of_mpi(mpi)])
    output_of_whole = run(*recorded(mpi, tmp_path))
    flags = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-e", "trace=pwrite64"]
    run(*flags, "-o", tmp_path / "trace", *words(mpi, tmp_path / "straced"))

    program = subprocess.Popen(
        words(mpi, tmp_path / "bare"),
        env={**os.environ, **STACK_ENV},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path / "bare", 2, program)
    run(paths.FATHOM, "attach", "--job", program.pid, "-o", tmp_path / "part")
    wait_for(tmp_path / "bare", checkpoints(tmp_path / "bare") + 2, program)
    run(paths.FATHOM, "detach", tmp_path / "part")
    assert program.poll() is None
    output, errors = program.communicate(timeout=400)
    assert program.returncode == 0, errors
    assert output.split()[:2] == output_of_whole.split()[:2]
    names = sorted(path.name for path in (tmp_path / "straced").iterdir())
    assert len(names) == 14
    same, *other = filecmp.cmpfiles(tmp_path / "straced", tmp_path / "bare", names, shallow=False)
    assert sorted(same) == names, other

    whole, part = by_rank(tmp_path / "whole.fathom"), by_rank(tmp_path / "part.fathom")
    assert sorted(part) == sorted(whole) == [0, 1, 2, 3]
    for rank, calls in part.items():
        assert len(calls) > 20
        assert len(calls) < len(whole[rank])
        assert is_part(calls, whole[rank]), (rank, calls[:8])
    writes = straced(tmp_path / "trace")
    for calls in part.values():
        ours = [(name, size, at, got) for _, op, size, got, at, name in calls if op == "pwrite"]
        assert any(is_part(ours, theirs) for theirs in writes)
    assert any(op == "pwrite" for calls in part.values() for _, op, *_ in calls)


def recorded(mpi: str, place: Path) -> list[str]:
    command = words(mpi, place / "recorded")
    return [str(paths.FATHOM), "run", "--no-show", "-o", str(place / "whole"), *command]
