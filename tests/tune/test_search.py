"""`fathom tune` on a real program of four ranks: by what a store would take for its requests, and by the clock."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, runner, tuned

KERNEL = str(paths.BUILD / "kernels" / "synthetic_mpiio_mpich")
COLUMNS, BYTES = ("column", "512", "1024", "{out}"), 512 * 1024 * 8
SPACE = """
[[knob]]
knob   = "romio.cb_nodes"
values = [1, 2, 4]
with   = { cb_config_list = "*:*" }
[[knob]]
knob   = "romio.romio_ds_write"
values = ["enable", "disable"]
"""


pytestmark = pytest.mark.full


def tune(folder: Path, *options: str, env: dict[str, str]) -> Any:
    """Its result and its trials."""
    needs.require(needs.of_mpi("mpich"))
    command = [*runner.LAUNCH["mpich"].split(), "-n", "4", KERNEL, *COLUMNS]
    done = subprocess.run(
        [paths.FATHOM, "tune", "--json", *options, "-o", "s", "--", *command], cwd=folder,
        env={**os.environ, **runner.STACK_ENV, **env}, text=True, capture_output=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [paths.FATHOM, "tune", "show", "s", "--json"], cwd=folder, text=True, capture_output=True, check=True
    )  # fmt: skip
    return json.loads(done.stdout), json.loads(shown.stdout), done.stderr


def test_more_aggregators_are_found_where_each_process_has_a_limited_rate(tmp_path: Path) -> None:
    words = ["--trials", 8, "--finalists", 2, "--", KERNEL, *COLUMNS]
    result, trials = tuned.tune(tmp_path, "s", SPACE, *words, cost=tuned.BUSIEST)
    assert result["verdict"] == "gain" and result["compared"]["ratio"] == pytest.approx(4, rel=0.05)
    assert result["settings"] == {"cb_nodes": 4}  # calls are collective, so there is no sieving
    assert {trial["state"] for trial in trials} <= {"done", "known"}


def test_without_a_space_it_is_what_is_proved_alive(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run(
        [paths.FATHOM, "list", "knobs", "--prove", "romio.cb_nodes", "romio.striping_factor", "ompio.cb_nodes"],
        env={**os.environ, **runner.STACK_ENV, **cache}, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    _, trials, messages = tune(
        tmp_path, "--objective", "rate", "--trials", "2", "--finalists", "1", env=cache
    )
    assert {name for one in trials for name in one["settings"]} == {"romio.cb_nodes"}
    assert "not proved here, so left out: fathom list knobs --prove" in messages
    assert (tmp_path / "s.tune" / "trials").is_dir()
    seeds = [one["settings"]["romio.cb_nodes"] for one in trials if one["stage"] == "search"]
    assert seeds[:2] == [None, 4]
    for one in filter(lambda trial: trial["tries"], trials):
        measures = one["measures"]
        assert measures["bytes_written"] >= BYTES
        rate = measures["bytes_written"] / measures["write_seconds"] / 1e6
        assert one["score"] == pytest.approx(rate)


def test_a_program_with_nothing_to_set_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    command = [str(paths.FATHOM), "tune", "auto", "--", "ls"]
    for _ in range(2):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )
        assert (
            done.returncode == 2 and "nothing is known to be alive for this program" in done.stderr
        )
        assert not list(tmp_path.iterdir())
