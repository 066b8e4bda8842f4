"""Python under Fathom: what its start costs more, and that computing costs nothing more. Counted in instructions.

A start is a few milliseconds; the same figure in time, of interleaved pairs, is what bench/start.py's users feel, and
varies with the machine. Of all that Fathom does at a start, system calls are counted in test_start.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness import needs, paths

#: Instructions that `python -c pass` may take more: some 2 ms of a slow core. 0.6 million of them find the lines of
#: its own imports.
START = 6_000_000
#: Numbers that Python keeps ready: no memory whose place could make a difference.
LOOP = """
def compute(x):
    for _ in itertools.repeat(None, {}):
        x = (x * 5 + 3) & 31
import itertools
compute(1)"""


def environment(tmp_path: Path) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("FATHOM_", "LD_PRELOAD"))}
    return {**plain, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}


def traced(tmp_path: Path) -> dict[str, str]:
    run = tmp_path / "run.fathom"
    run.mkdir(exist_ok=True)
    return {
        **environment(tmp_path),
        "LD_PRELOAD": str(paths.LIBRARY),
        "FATHOM_RUN": str(run),
        "FATHOM_RING": str(tmp_path / "ring"),
    }


def instructions(code: str, env: dict[str, str], tmp_path: Path) -> int:
    command = ["valgrind", "--tool=callgrind", "--trace-children=no"]
    command += [f"--callgrind-out-file={tmp_path}/callgrind.out", sys.executable, "-s", "-c", code]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=300, check=True, cwd=tmp_path
    )
    match = re.search(r"Collected : (\d+)", done.stderr)
    assert match, done.stderr
    return int(match[1])


def test_start_and_computing(tmp_path: Path) -> None:
    needs.require(["valgrind"])
    (tmp_path / "ring").mkdir()
    bare, under = environment(tmp_path), traced(tmp_path)
    start = [instructions("pass", env, tmp_path) for env in (bare, under)]
    assert list((tmp_path / "run.fathom").glob("streams/*/*.fts")), "nothing was recorded"
    assert start[1] - start[0] < START, f"{start[1] - start[0]} instructions more than {start[0]}"
    few, many = LOOP.format(1000), LOOP.format(501_000)
    cost = [
        instructions(many, env, tmp_path) - instructions(few, env, tmp_path)
        for env in (bare, under)
    ]
    assert abs(cost[1] - cost[0]) < cost[0] / 1000, f"{cost[1]} instructions, bare {cost[0]}"
