"""A centre that counts every job: Slurm's task prolog, jobs of two nodes, and all of their runs in one table."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, nodes, paths, tables
from harness.runner import STACK_ENV

PROLOG = paths.ROOT / "examples" / "slurm-task-prolog.sh"
KERNEL = paths.BUILD / "kernels" / "s3d_mpiio_mpich"
STEP = f"srun -n 2 --ntasks-per-node=1 --mpi=pmi2 {KERNEL} -c 1 8 8 8 2 1 1"


def batch(cluster: nodes.Slurm, place: Path, script: str, **more: str) -> str:
    """The number of a job, when it has ended."""
    done = subprocess.run(
        ["sbatch", "--wait", "--parsable", "-N", "2", "-o", place / "log", "--chdir", place],
        env=cluster.environment() | STACK_ENV | more, input=f"#!/bin/bash\nset -e\n{script}\n",
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + (place / "log").read_text()
    return done.stdout.strip()


def landscape(spool: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [paths.FATHOM, "landscape", spool, "--by", "bytes", "--json"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return list(json.loads(done.stdout)["runs"])


@pytest.mark.full
def test_every_job_is_counted(tmp_path: Path) -> None:
    """Two jobs, a run each, whatever steps they have; a step without a batch script; and one that opts out."""
    needs.require(needs.of_mpi("mpich"))
    out = tmp_path / "out"
    out.mkdir()
    step = f"{STEP} {out}"
    spool = tmp_path / "spool"
    prolog = tmp_path / "prolog.sh"
    settings = f"FATHOM_SPOOL={spool} FATHOM_COMMAND={paths.FATHOM}"
    prolog.write_text(f"#!/bin/sh\nexport {settings}\nexec {PROLOG}\n")
    prolog.chmod(0o755)
    with nodes.slurm(tmp_path / "c", ["n1", "n2"], f"TaskProlog={prolog}") as cluster:
        one = batch(cluster, tmp_path, step)
        two = batch(cluster, tmp_path, f"{step}\n{step}\nls > /dev/null")
        batch(cluster, tmp_path, step, FATHOM_DISABLE="1")
        done = cluster.run(step.removeprefix("srun "))
        assert done.returncode == 0, done.stderr
    rows = {row["run"]: row for row in landscape(spool)}
    assert next(iter(rows)) == two and set(rows) == {one, two, "4.0"}
    assert {row["program"] for row in rows.values()} == {KERNEL.name}
    for name, row in rows.items():
        steps = 2 if name == two else 1
        connection = tables.connect(Path(row["path"]))
        ask = """select sum(bytes)::bigint, (select count(*) from calls where layer = 'mpiio')
            from counters where layer = 'mpiio' and kind = 'write'"""
        assert tables.ask(connection, ask) == [[steps * 16 * 8**3 * 8, 0]]
        ask = """select rank, count(*), count(distinct node) from processes
            where exe like '%s3d%' group by 1 order by 1"""
        assert tables.ask(connection, ask) == [[0, steps, 1], [1, steps, 1]]
