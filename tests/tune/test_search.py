"""`fathom tune` on a real program: four ranks, a store that each process writes to at its own limited rate."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, runner

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
    tool = paths.PROGRAMS / "tools" / "slow_store.so"
    preload = f"LD_PRELOAD={tool}:{paths.LIBRARY}"
    kernel = str(paths.BUILD / "kernels" / "synthetic_mpiio_mpich")
    command = [*runner.LAUNCH["mpich"].split(), "-n", "4", "env", preload, kernel]
    words = [str(paths.FATHOM), "tune", "--json", *options, "-o", "s", "--", *command]
    done = subprocess.run(
        [*words, "column", "2048", "2048", "{out}"], cwd=folder, env={**os.environ, **runner.STACK_ENV, **env},
        text=True, capture_output=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [paths.FATHOM, "tune", "show", "s", "--json"], cwd=folder, text=True, capture_output=True, check=True
    )  # fmt: skip
    return json.loads(done.stdout), json.loads(shown.stdout), done.stderr


def test_more_aggregators_are_found_where_each_process_has_a_limited_rate(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    slow = {"SLOW_STORE_UNDER": str(tmp_path), "SLOW_STORE_RATE_MB": "20"}
    words = ["--space", "space.toml", "--objective", "rate", "--trials", "8"]
    result, trials, _ = tune(tmp_path, *words, "--finalists", "2", env=slow)
    assert result["settings"]["cb_nodes"] == 4
    assert result["verdict"] == "gain" and result["best"] > 2 * result["default"]
    kept = {one["knob"]: one["kept"] for one in result["knobs"]}
    assert kept["cb_nodes"] and not kept.get("romio_ds_write")  # its calls are collective
    assert {one["state"] for one in trials} <= {"done", "known"}
    assert all(
        one["measures"]["bytes_written"] >= 2048 * 2048 * 8 for one in trials if one["tries"]
    )


def test_without_a_space_it_is_what_is_proved_alive(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run(
        [paths.FATHOM, "knobs", "--prove", "romio.cb_nodes", "romio.striping_factor", "ompio.cb_nodes"],
        env={**os.environ, **runner.STACK_ENV, **cache}, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    _, trials, said = tune(tmp_path, "--trials", "2", "--finalists", "1", env=cache)
    assert {name for one in trials for name in one["settings"]} == {"romio.cb_nodes"}
    assert "not proved here, so left out: fathom knobs --prove" in said
    assert (tmp_path / "s.tune" / "trials").is_dir()
    seeds = [one["settings"]["romio.cb_nodes"] for one in trials if one["stage"] == "search"]
    assert seeds[:2] == [None, 4]
