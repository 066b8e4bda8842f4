"""`--select critical` on several nodes: one process of the whole job is in full, wherever it is. Two emulated nodes of
Slurm; which rank is slow the test says in shared memory, as in test_critical."""

from __future__ import annotations

import shlex
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, nodes, paths, tables
from test_critical import PATIENCE, PROGRAM, STOP, Job, agents_of, check_named, wait_for

RANKS = 24  # bytes of the board: tests/programs/critical.c
#: Rank 1 is on the first node, rank 2 on the second.
LINE = "srun -N 2 -n 4 --ntasks-per-node=2 sh -c"
AS_RANK = "PMI_RANK=$SLURM_PROCID PMI_SIZE=$SLURM_NTASKS exec"


class NodesJob(Job):
    """Two ranks in step on each node."""

    def __init__(self, place: Path, cluster: nodes.Slurm, recorder: str) -> None:
        self.cluster, self.recorder = cluster, recorder
        super().__init__(place, 4, recorded=False)

    #: Whose files are complete when it has ended.
    collector: subprocess.Popen[str] | None = None

    def stop(self) -> Any:
        struct.pack_into("<q", self.board, STOP, 1)
        assert self.process.wait(timeout=PATIENCE) == 0
        assert not self.collector or self.collector.wait(timeout=PATIENCE) == 0
        return tables.connect(self.run)

    def begin(self, words: list[str], more: dict[str, str]) -> None:
        struct.pack_into("<q", self.board, RANKS, 4)
        work = shlex.join([str(PROGRAM), "work", words[-1]])
        slow = shlex.join([f"{key}={value}" for key, value in more.items()])
        line = f"{AS_RANK} env {slow} {self.recorder} {work}"
        super().begin([*shlex.split(LINE), line], self.cluster.environment())

    def pids(self) -> list[int]:
        words = ["pgrep", "-f", f"^{PROGRAM} work {self.place}$"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return [int(word) for word in done.stdout.split()]

    def rings(self) -> list[Path]:
        """A node's memory is its own, and seen through its processes."""
        by_device = {}
        for pid in self.pids():
            for path in Path(f"/proc/{pid}/root/dev/shm").glob("fathom.*/control"):
                by_device[path.stat().st_dev] = path.parent
        return list(by_device.values())


def both_named_in_turn(job: NodesJob) -> None:
    slowed = {rank: job.slow_down(rank) for rank in (2, 1)}
    connection = job.stop()
    # One node hears of the other's choice at its next word.
    check_named(job, connection, slowed, at_once=2)
    nodes_of = "select count(distinct node) from processes where rank in (1, 2)"
    assert tables.ask(connection, nodes_of) == [[2]]
    losses = "select detail from marks where kind in ('agent', 'lost')"
    assert tables.ask(connection, losses) == []
    assert not (job.run / "judge.2").exists()


def test_one_rank_of_all_nodes_is_followed(tmp_path: Path) -> None:
    with nodes.slurm(tmp_path / "c", ["one", "two"]) as cluster:
        run = f"{paths.FATHOM} run --no-show --select critical -o {tmp_path / 'run'} --"
        job = NodesJob(tmp_path, cluster, run)
        try:
            both_named_in_turn(job)
        finally:
            job.end()


def test_one_rank_of_an_attached_job_is_followed(tmp_path: Path) -> None:
    needs.require(["squeue"])
    with nodes.slurm(tmp_path / "c", ["one", "two"]) as cluster:
        job = NodesJob(tmp_path, cluster, "")
        try:
            wait_for(lambda: job.step() > 2)
            asked = ["squeue", "--noheader", "--format=%A"]
            number = subprocess.check_output(asked, env=cluster.environment(), text=True).strip()
            words = [paths.FATHOM, "attach", "--slurm", number, "--select", "critical"]
            subprocess.run(
                [*words, "-o", str(tmp_path / "run")], env=cluster.environment(), check=True
            )
            both_named_in_turn(job)
            wait_for(lambda: not agents_of(job.run))
        finally:
            job.end()


@pytest.mark.full
def test_nodes_that_share_no_directory_agree_at_the_collector(tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    words = [
        paths.FATHOM,
        "pack",
        "--collect",
        "-o",
        run,
        "--nodes",
        "2",
        "--listen",
        "127.0.0.1:0",
    ]
    collector = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        assert collector.stdout is not None
        where = collector.stdout.readline().strip()
        with nodes.slurm(tmp_path / "c", ["one", "two"]) as cluster:
            part = cluster.nodes[0].local / "part"
            options = f"--select critical --collect {where} -o {part}"
            job = NodesJob(tmp_path, cluster, f"{paths.FATHOM} run --no-show {options} --")
            job.collector = collector
            try:
                both_named_in_turn(job)
            finally:
                job.end()
    finally:
        collector.kill()
        collector.wait()
