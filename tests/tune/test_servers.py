"""Forwarding servers as settings: a run starts as many as they say, and what each has on its disk is counted."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fathom.run.store import open_run
from harness import needs, paths, runner

MIB = 1 << 20
#: Bytes of data that each server wrote, without the line that one keeps of where a file lies.
WRITTEN = """
	select (sum(bytes) // 4096 * 4096)::bigint as bytes from counters where layer = 'disk' and kind = 'write'
	group by process having sum(bytes) >= 4096 order by bytes
"""
KERNELS = paths.BUILD / "kernels"
POSIX = ["-n", "4", KERNELS / "ior_posix_mpich", "4", "65536", "65536"]
MPIIO = ["-n", "4", KERNELS / "synthetic_mpiio_mpich", "row", "128", "1024"]
#: A hint of MPI's, which holds too where the MPI library does the I/O.
FACTOR = "[[file]]\n[file.forwarder]\nstriping_factor = 1"


def words(*given: object) -> list[str]:
    return [str(word) for word in given]


def fathom(folder: Path, *given: object) -> subprocess.CompletedProcess[str]:
    needs.require(needs.of_mpi("mpich"))
    return subprocess.run(
        words(paths.FATHOM, *given), cwd=folder, env={**os.environ, **runner.STACK_ENV},
        text=True, capture_output=True, timeout=500, check=False,
    )  # fmt: skip


def launch() -> list[str]:
    return runner.LAUNCH["mpich"].split()


@pytest.mark.parametrize(
    ("program", "setting", "bytes_of_servers"),
    [
        (POSIX, 'servers = 4\nstripe = "64KiB"\npool = "4MiB"', [MIB // 4] * 4),
        (MPIIO, "servers = 4\nstripe = 65536\nstripe_count = 2", [MIB // 2] * 2),
        (MPIIO, 'servers = 4\nstripe = 65536\nFATHOM_FORWARD_MPIIO = "library"\n' + FACTOR, [MIB]),
    ],
)
def test_settings_start_servers_and_say_how_they_stripe(
    tmp_path: Path, program: list[object], setting: str, bytes_of_servers: list[int]
) -> None:
    (tmp_path / "s.toml").write_text(f"[launch.forwarder]\n{setting}\n")
    for name in ("out", "store"):
        (tmp_path / name).mkdir()
    at = ["--forward-path", "out", "--forward-storage", "store", "--tuned", "s.toml"]
    done = fathom(tmp_path, "run", "--no-show", "-o", "r", *at, "--", *launch(), *program, "out")
    assert done.returncode == 0, done.stderr
    rows = open_run(tmp_path / "r.fathom").sql(WRITTEN).to_pylist()
    assert [row["bytes"] for row in rows] == bytes_of_servers
    (file,) = (tmp_path / "out").iterdir()
    assert file.stat().st_size == MIB


@pytest.mark.parametrize(
    ("setting", "words_of", "line"),
    [
        ('stripe = "64KiB"', ["run"], "stripe is of forwarding servers, and none is started"),
        ("servers = 2", ["env"], "servers is of forwarding servers, which start once"),
        ("servers = 0", ["run"], "servers: 0 is out of its range"),
    ],
)
def test_servers_that_cannot_be_started_are_one_line(
    tmp_path: Path, setting: str, words_of: list[str], line: str
) -> None:
    (tmp_path / "s.toml").write_text(f"[launch.forwarder]\n{setting}\n")
    program = ["--", "true"] if words_of == ["run"] else []
    done = fathom(tmp_path, *words_of, "--tuned", "s.toml", "-o", "r", *program)
    assert done.returncode != 0 and line in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "r.fathom").exists()


SPACE = """
[[knob]]
knob   = "forwarder.servers"
values = [1, 2]
[[knob]]
knob   = "forwarder.stripe_count"
values = [1, 2]
with   = { servers = 2, stripe = "64KiB" }
"""


@pytest.mark.full
def test_trials_start_their_own_servers(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "count.py").write_text(
        "import os\nfrom fathom.run.store import open_run\n"
        f"print(1 + open_run(os.environ['TUNE_RUN']).sql('''{WRITTEN}''').num_rows)\n"
    )
    objective = f"{paths.PYTHON} count.py"
    options = [
        "--space",
        "space.toml",
        "--sampler",
        "grid",
        "--trials",
        9,
        "--repeats",
        5,
        "--finalists",
        1,
    ]
    options += [
        "--forward-storage",
        "stores",
        "--objective",
        objective,
        "--maximize",
        "--json",
        "-o",
        "s",
    ]
    done = fathom(tmp_path, "tune", *options, "--", *launch(), *POSIX, "{out}")
    assert done.returncode == 0, done.stderr
    shown = fathom(tmp_path, "tune", "show", "s", "--json")
    scores = {
        (trial["settings"]["servers"], trial["settings"]["stripe_count"]): trial["score"]
        for trial in json.loads(shown.stdout)
        if trial["stage"] == "search"
    }
    assert scores == {
        (None, None): 1, (None, 1): 2, (None, 2): 3, (1, None): 2, (1, 1): 2, (1, 2): 2,
        (2, None): 2, (2, 1): 2, (2, 2): 3,
    }  # fmt: skip
    assert not list((tmp_path / "stores").iterdir())
