"""Tuning on a replay: settings cost it what they cost the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import needs, paths, runner, tuned

SEARCH = ["--verify", "h5diff", "--finalists", 1]

pytestmark = pytest.mark.full


def test_settings_cost_a_replay_what_they_cost_the_program(tmp_path: Path) -> None:
    needs.require(needs.of_mpi("mpich"))
    (tmp_path / "out").mkdir()
    launch = [*runner.LAUNCH["mpich"].split(), "-n", 4]
    for words in (
        ["run", "--no-show", "-o", "r", "--", *launch, *tuned.COLUMNS, 256, "out"],
        ["replay", "r", "--build", "again"],
    ):
        done = [str(word) for word in (paths.FATHOM, *words)]
        subprocess.run(done, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    scores, space = [], tuned.COLLECTIVE.format(buffers='"64KiB"')
    for name, program in (("program", [*tuned.COLUMNS, 256]), ("replay", [tmp_path / "again"])):
        words = ["--sampler", "grid", *SEARCH, "--", *program, "{out}"]
        _, trials = tuned.tune(tmp_path, name, space, *words)
        tried = [trial for trial in trials if trial["stage"] == "search"]
        scores.append({tuple(one["settings"].values()): one["score"] for one in tried})
    assert len(scores[0]) == 4 and max(scores[0].values()) > 5 * min(scores[0].values())
    assert scores[1] == pytest.approx(scores[0], rel=0.05)
