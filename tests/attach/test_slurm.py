"""fathom attach --slurm, detach: the ranks of a job on all of its nodes, under one key. Two emulated nodes of Slurm."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import invariants, needs, nodes, tables
from harness.attached import fathom

RANK = """
import os, sys, time
place = sys.argv[1]
out = os.open(f"{place}/{os.environ['SLURM_PROCID']}", os.O_WRONLY | os.O_CREAT)
at = 0
while not os.path.exists(f"{place}/stop"):
    at += os.pwrite(out, b"x", at)
    time.sleep(0.001)
"""


class Job:
    """Two ranks that write byte behind byte, one on each node."""

    def __init__(self, place: Path, cluster: nodes.Slurm) -> None:
        self.place, self.cluster = place, cluster
        (place / "out").mkdir()
        words = "srun -N 2 -n 2 --ntasks-per-node=1".split()
        self.process = subprocess.Popen(
            [*words, sys.executable, "-c", RANK, str(place / "out")], env=cluster.environment()
        )
        self.goes_on()
        asked = self.output("squeue", "--noheader", "--format=%A")
        self.number = asked.strip()

    def output(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self.cluster.environment(), capture_output=True, text=True, check=True
        )
        return done.stdout

    def written(self) -> list[int]:
        files = [self.place / "out" / str(rank) for rank in range(2)]
        return [path.stat().st_size if path.exists() else 0 for path in files]

    def goes_on(self) -> list[int]:
        """Each rank has made some more calls; how many in all."""
        before, end = self.written(), time.monotonic() + 120
        while any(now < then + 20 for now, then in zip(self.written(), before, strict=True)):
            assert time.monotonic() < end and self.process.poll() is None
            time.sleep(0.01)
        return self.written()

    def fathom(self, *words: object) -> subprocess.CompletedProcess[str]:
        return fathom(self.place, *words, env=self.cluster.environment())


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    needs.require(["squeue"])
    with nodes.slurm(tmp_path / "c", ["one", "two"]) as cluster, of(tmp_path, cluster) as running:
        yield running


@contextmanager
def of(place: Path, cluster: nodes.Slurm) -> Iterator[Job]:
    running = Job(place, cluster)
    try:
        yield running
        (place / "out" / "stop").touch()
        assert running.process.wait(timeout=300) == 0  # as it ends bare
    finally:
        (place / "out" / "stop").touch()
        running.process.kill()
        running.process.wait()


def assert_both(run: Path, at_least: list[int]) -> Any:
    """Each rank's calls on its own node, none missing between the first and the last."""
    connection = tables.connect(run)
    assert not invariants.broken(connection, finished=False, whole=False)
    rows = tables.ask(
        connection,
        "select p.rank, count(*), max(file_offset) - min(file_offset) + 1 from calls join processes p"
        " using (process) where op = 'pwrite' group by all order by all",
    )
    assert [rank for rank, _, _ in rows] == [0, 1]
    for (_, calls, span), least in zip(rows, at_least, strict=True):
        assert calls == span >= least
    assert tables.ask(connection, "select count(distinct node) from processes") == [[2]]
    return connection


def test_all_nodes_of_a_job(job: Job) -> None:
    done = job.fathom("attach", "--slurm", job.number, "-o", "run")
    assert done.returncode == 0, done.stderr
    run = job.place / "run.fathom"
    assert all(f"fathom: 1 of 1 attached on {host}" in done.stderr for host in ("one", "two"))
    assert done.stderr.endswith(f"fathom: run directory {run}\n")
    attached, began = json.loads((run / "run.json").read_text()), job.written()
    assert sorted(one["rank"] for one in attached["attached"]) == [0, 1]
    assert "end_ns" not in attached
    again = job.fathom("attach", "--slurm", job.number, "-o", "again")
    assert again.returncode == 3 and again.stderr.count("is recorded already, in ") == 2
    assert not (job.place / "again.fathom").exists()
    ended = job.goes_on()
    done = job.fathom("detach", "run")
    assert done.returncode == 0, done.stderr
    assert all(f"fathom: 1 detached on {host}" in done.stderr for host in ("one", "two"))
    assert done.stderr.endswith(f"fathom: run directory {run}\n")
    closed = json.loads((run / "run.json").read_text())
    assert all("detached_ns" in one for one in closed["attached"]) and closed["end_ns"]
    job.goes_on()
    writes = [after - before for after, before in zip(ended, began, strict=True)]
    assert_both(run, writes)


def test_nodes_that_share_no_file_system(job: Job) -> None:
    """Each node's disk has its part; one key lets them be joined."""
    place = job.cluster.nodes[0].local / "part"
    done = job.fathom("attach", "--slurm", job.number, "-o", place)
    assert done.returncode == 0, done.stderr
    assert "on each node; `fathom pack` joins them" in done.stderr
    began, ended = job.written(), job.goes_on()
    done = job.fathom("detach", "--slurm", job.number, place)
    assert done.returncode == 0, done.stderr
    job.goes_on()
    parts = [node.disk / "part.fathom" for node in job.cluster.nodes]
    done = job.fathom("pack", *parts, "-o", "whole")
    assert done.returncode == 0, done.stderr
    assert_both(
        job.place / "whole.fathom",
        [after - before for after, before in zip(ended, began, strict=True)],
    )


def test_no_such_job(tmp_path: Path) -> None:
    with nodes.slurm(tmp_path / "c", ["one"]) as cluster:
        for words, reason in (
            (["--slurm", "77"], "--slurm 77: no such job of Slurm runs"),
            (["--slurm", "x"], "--slurm x: give the number of a job"),
            (["--slurm", "1", "--name", "x"], "by --name GLOB or by --slurm JOB"),
        ):
            done = fathom(tmp_path, "attach", *words, "-o", "run", env=cluster.environment())
            assert done.returncode in (2, 3) and reason in done.stderr
            assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run.fathom").exists()
