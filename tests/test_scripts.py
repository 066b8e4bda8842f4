"""A run of a shell's script lasts as long as the script, whatever of it is recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import fathom
import pytest
from harness import paths

#: The shell at work: half a second, of which nothing is recorded.
WORK = "for ((i = 0; i < 200000; i++)); do :; done"
READ = "cat made > /dev/null"


def run_of(script: str, place: Path) -> Path:
    (place / "made").write_bytes(bytes(100_000))
    command = [paths.FATHOM, "run", "--no-show", "-o", "s", "--", "bash", "-c", script]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return place / "s.fathom"


@pytest.mark.parametrize("script", [f"{WORK}; {READ}", f"{READ}; {WORK}"])
def test_what_a_shell_does_itself_is_time_of_the_run(script: str, tmp_path: Path) -> None:
    run = run_of(script, tmp_path)
    manifest = json.loads((run / "run.json").read_text())
    (facts,) = fathom.open(run).sql(
        "select started, duration, unseen_time() as unseen, (select min(start) from processes) as first,"
        " (select max(stop) from processes) as last from runs"
    ).to_pylist()  # fmt: skip
    assert facts["started"] == manifest["start_ns"]
    assert facts["duration"] == manifest["end_ns"] - manifest["start_ns"]
    assert facts["unseen"] == facts["duration"] - (facts["last"] - facts["first"])
    before, behind = facts["first"], facts["duration"] - facts["last"]
    assert (before > behind) is script.startswith(WORK)
    shown = subprocess.run([paths.FATHOM, "show", run], check=True, capture_output=True, text=True)
    assert "no program ran that is recorded" in shown.stdout
