"""Two real runs at once on OSTs, one of them shared; and each of them alone."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from harness import layouts, needs, paths
from harness.runner import LAUNCH, STACK_ENV

UNEVEN = paths.PROGRAMS / "programs" / "mpi" / "uneven_mpich"


def start(tmp: Path, name: str, *words: object) -> Any:
    """Each directory is a store with one queue, in which all runs wait; a call takes it 4 ms."""
    servers = ";".join(f"{tmp}/s{n}=4000:0" for n in range(4))
    env = {"SLOW_STORE_SERVERS": servers, "SLOW_STORE_QUEUE": str(tmp / "queue")}
    tool = paths.PROGRAMS / "tools" / "slow_store.so"
    command = [
        paths.FATHOM, "run", "--no-show", "-o", tmp / name, "--", *shlex.split(LAUNCH["mpich"]), "-n", "4",
        "env", f"LD_PRELOAD={tool}:{paths.LIBRARY}", UNEVEN, *words,
    ]  # fmt: skip
    return subprocess.Popen(
        [str(word) for word in command],
        env={**os.environ, **STACK_ENV, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(*processes: Any) -> None:
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err


def test_two_runs_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs.require(needs.of_mpi("mpich"))
    all_four = [tmp_path / f"s{n}" for n in range(4)]
    finish(start(tmp_path, "wide.alone", "stripes", *all_four))
    finish(start(tmp_path, "narrow.alone", "even", all_four[0]))
    finish(
        start(tmp_path, "wide", "stripes", *all_four),
        start(tmp_path, "narrow", "even", all_four[0]),
    )
    names = ("wide", "narrow", "wide.alone", "narrow.alone")
    runs = [str(tmp_path / name) for name in names]
    for name in names:
        layouts.lay_out(
            tmp_path / f"{name}.fathom", {str(place): n for n, place in enumerate(all_four)}
        )
    assert main(["landscape", *runs, "--interference", "--json"]) == 0
    content = json.loads(capfd.readouterr().out)
    assert content["together"] == [["narrow", "wide"]]
    # MPI's own memory and the system's files are more stores of both: how slow they are depends on the processors.
    files = [one for one in content["interference"] if one["server"].startswith("OST ")]
    effects = {(one["run"], one["server"]): one for one in files}
    assert effects.keys() == {("wide", "OST 0"), ("narrow", "OST 0")}
    alone = {row["run"]: row["alone"] for row in content["runs"]}
    assert alone == dict(zip(names, ("wide.alone", "narrow.alone", None, None), strict=True))
    written = {(row["run"], row["server"]): row["bytes_written"] for row in content["servers"]}
    whole = 4 * 512 * 65536
    assert [written["wide", f"OST {n}"] for n in range(4)] == [whole // 4] * 4
    assert written["narrow", "OST 0"] == 4 * 64 * 65536 and ("narrow", "OST 1") not in written
    # Two queue for what one had alone: both lose, whoever was there first.
    assert all(one["lost_seconds"] > 0 for one in effects.values())
    assert any("leave " in line and "3 servers" in line for line in content["advice"])
