"""At level job the streams of a node become one compressed file when its processes have ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from fathom.run import paths as installed
from harness import generated, needs, paths

RANKS = 4
KERNEL = paths.PROGRAMS.parent / "kernels" / "s3d_mpiio_mpich"
#: A child that lives on, until it is told to end.
LEAVES = """
import os, sys
if os.fork():
    os._exit(0)
sys.stdin.read()
"""


def streams(run: Path) -> tuple[int, int]:
    """Files of processes, and shared ones."""
    return len([*run.glob("streams/*/*.fts")]), len([*run.glob("sink/*.blocks")])


def wait_for(run: Path, files: tuple[int, int]) -> None:
    for _ in range(600):
        if streams(run) == files:
            return
        time.sleep(0.1)
    raise AssertionError(f"{streams(run)} files, not {files}")


def sums(run: Path) -> str:
    sql = (
        "select layer, op, sum(calls), sum(bytes), count(distinct process) from counters"
        " where layer = 'mpiio' group by all order by all"
    )
    words = [paths.FATHOM, "query", run, "--csv", "--sql", sql]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def recorded(folder: Path, level: str, behind: bool) -> Path:
    data, run = folder / f"data.{level}", folder / f"{level}.fathom"
    data.mkdir()
    launch = [*generated.LAUNCH["mpich"], "-n", str(RANKS)]
    fathom = [paths.FATHOM, "run", "--no-show", "--level", level, "-o", run, "--"]
    program = [KERNEL, "-c", "1", "16", "16", "16", "2", "2", "1", data]
    words = [*launch, *fathom, *program] if behind else [*fathom, *launch, *program]
    subprocess.run(list(map(str, words)), capture_output=True, timeout=300, check=True)
    return run


@pytest.mark.parametrize("behind", [False, True], ids=["outside", "behind"])
def test_ranks_of_a_node_have_one_file(behind: bool, tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    one, own = recorded(tmp_path, "job", behind), recorded(tmp_path, "file", behind)
    wait_for(one, (0, 1))
    (block,) = one.glob("sink/*.blocks")
    assert block.stat().st_size < 12_288 * RANKS
    assert streams(own)[0] >= RANKS
    assert sums(one) == sums(own) != ""


def test_a_process_that_lives_on_keeps_its_node_as_it_is(tmp_path: Path) -> None:
    words = [paths.FATHOM, "run", "--no-show", "--level", "job", "-o", tmp_path / "run", "--"]
    words += [sys.executable, "-S", "-E", "-c", LEAVES]
    started = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE)
    assert started.wait(60) == 0
    run = tmp_path / "run.fathom"
    assert streams(run) == (1, 0)
    assert started.stdin
    started.stdin.close()
    wait_for(run, (2, 0))
    subprocess.run([installed.engine(), "gather", run], check=True)
    assert streams(run) == (0, 1)
