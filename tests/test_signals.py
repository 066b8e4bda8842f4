"""Which signal ended a process, and whether the page says it: of a run of which nothing is the matter it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fathom
import pytest
from harness import needs, paths

POOL = """
import multiprocessing, os, time
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(len(set(pool.map(str, range(100)))))
"""
KILL = "import os, signal, time; time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)"
# Who ends before the watcher knows of him has a signal that nobody knows: on a busy machine that takes a moment.
WRITES = (
    "import signal, time; signal.signal(13, signal.SIG_DFL); time.sleep(1); print(*range(1000000))"
)
SHORT_OF_MEMORY = "ended by SIGKILL: out of memory, or by somebody"


def killed(run: Path, *words: object) -> list[int | None]:
    """The signals that ended processes of this command."""
    needs.require(["exit_of_pidfd"])
    command = [paths.FATHOM, "run", "--no-show", "-o", run, "--", *words]
    subprocess.run(list(map(str, command)), capture_output=True, timeout=300, check=False)
    rows = fathom.open(run).sql(
        "select signal from processes where ended = 'killed' order by signal"
    )
    return list(rows["signal"].to_pylist())


def first_screen(run: Path, *options: str) -> str:
    """Wide: a second line that is missing cuts the first one in a narrow window."""
    done = subprocess.run(
        [paths.FATHOM, "show", run, *options],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    return done.stdout


def test_whose_reader_has_ended(tmp_path: Path) -> None:
    run = tmp_path / "pipe.fathom"
    assert killed(run, "bash", "-c", f"{sys.executable} -c '{WRITES}' | head -c 1") == [13]
    assert "Missing" not in first_screen(run)
    assert "1 process ended by SIGPIPE" in first_screen(run, "--all")


def test_workers_that_a_pool_ends(tmp_path: Path) -> None:
    """What they had forked before became other programs, and was not killed."""
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    run = tmp_path / "pool.fathom"
    assert killed(run, sys.executable, script) == [15, 15]
    assert "Missing" not in first_screen(run)


@pytest.mark.parametrize("behind", ["", "; true"])
def test_whom_somebody_killed(tmp_path: Path, behind: str) -> None:
    """The program itself, and one of a script's."""
    run = tmp_path / "killed.fathom"
    assert killed(run, "bash", "-c", f"{sys.executable} -c '{KILL}'{behind}") == [9]
    assert f"Missing: 1 process {SHORT_OF_MEMORY}" in first_screen(run)
