"""A centre that counts every job: Slurm's task prolog, jobs of two nodes, and all of their runs in one table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def asked(*words: object) -> Any:
    done = subprocess.run(
        [paths.FATHOM, *words, "--json"], capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(done.stdout)


def landscape(spool: Path, by: str = "bytes") -> list[dict[str, Any]]:
    return list(asked("landscape", spool, "--by", by)["runs"])


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


#: So many bursts of so many opens of a file, 0.6 s apart.
OPENS = """
import os, sys, time
for burst in range(int(sys.argv[1])):
    time.sleep(0.6 if burst else 0)
    for one in range(int(sys.argv[2])):
        os.close(os.open(sys.argv[3], os.O_CREAT | os.O_WRONLY))
"""
OPENING = """select start from calls as c join files as f using (file) where c.kind = 'open'
    and c.layer in ('posix', 'stdio') and not f.runtime
    and not regexp_matches(f.path, '^/(proc|sys|dev)/') order by start"""
SLOW = {"SLOW_STORE_LATENCY_US": "2000", "SLOW_STORE_ONLY": "open"}


def opening(place: Path, name: str, bursts: int, opens: int, level: str = "call") -> None:
    """A job of a process: what it opens is slow."""
    libraries = [paths.BUILD / "tests" / "tools" / "slow_store.so", paths.LIBRARY]
    words = [
        "env",
        f"LD_PRELOAD={':'.join(map(str, libraries))}",
        sys.executable,
        "-S",
        "-c",
        OPENS,
    ]
    subprocess.run(
        [paths.FATHOM, "run", "--no-show", "--level", level, "-o", place / "spool" / name, "--",
         *words, str(bursts), str(opens), place / "out" / name],
        env=os.environ | SLOW | {"SLOW_STORE_UNDER": str(place / "out")},
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip


def most_in_a_second(starts: list[int]) -> int:
    return max(sum(one - 10**9 < other <= one for other in starts) for one in starts)


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four jobs, one of them in counters only."""
    place = tmp_path_factory.mktemp("jobs")
    (place / "spool").mkdir()
    (place / "out").mkdir()
    opening(place, "few", 1, 20)
    opening(place, "apart", 3, 60)
    opening(place, "counted", 3, 60, "job")
    opening(place, "together", 1, 150)
    return place / "spool"


@pytest.mark.full
def test_jobs_are_ranked_by_what_they_open(spool: Path) -> None:
    """Counted one by one; of level job the number is the same, its moments are estimated."""
    rows = landscape(spool, "opens")
    assert [row["run"] for row in rows[0::3]] == ["together", "few"]
    by_run = {row["run"]: row for row in rows}
    for name in ("few", "apart", "together"):
        starts = [row[0] for row in tables.ask(tables.opened(Path(by_run[name]["path"])), OPENING)]
        counted = (len(starts), most_in_a_second(starts), "calls")
        keys = "opens", "peak_opens_per_second", "peak_opens_from"
        assert tuple(by_run[name][key] for key in keys) == counted
    assert by_run["apart"]["opens"] > by_run["together"]["opens"]
    assert by_run["counted"]["peak_opens_from"] == "counters"
    assert by_run["counted"]["opens"] >= by_run["apart"]["opens"]


@pytest.mark.full
def test_jobs_are_ranked_by_what_they_lose(spool: Path) -> None:
    """By the largest finding of each."""
    lost = {row["run"]: row["lost_seconds"] for row in landscape(spool, "lost")}
    assert list(lost.values()) == sorted(lost.values(), reverse=True)
    for name in ("few", "apart", "together"):
        findings = asked("show", spool / name, "--findings")
        assert lost[name] == max([one["lost_seconds"] for one in findings], default=0)
    assert lost["apart"] > lost["few"]
