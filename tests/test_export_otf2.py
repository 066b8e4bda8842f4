"""`fathom export --to otf2`: what readers of OTF2 find in the archive is what the tables say."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths, runner, tables

NEEDS = ["python:otf2", "otf2-print"]


@dataclass
class Read:
    """An archive, as the reader of the `otf2` package gives it."""

    #: Of each call: location, region, times, the call around it.
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)


def read(anchor: Path) -> Read:
    import otf2

    found, open_calls = Read(), defaultdict(list)
    with otf2.reader.open(str(anchor)) as trace:
        for location, event in trace.events:
            number = int(location._ref)
            assert event.time >= found.last.get(number, 0), "times of a location rise"
            found.last[number] = event.time
            stack = open_calls[number]
            if isinstance(event, otf2.events.Enter):
                call = next(v for a, v in event.attributes.items() if a.name == "call")
                found.calls[call] = {
                    "group": location.group.name, "thread": number, "op": event.region.name,
                    "layer": event.region.description.split()[1].rstrip(","),
                    "start": event.time, "inside": stack[-1] if stack else None,
                }  # fmt: skip
                stack.append(call)
            elif isinstance(event, otf2.events.Leave):
                found.calls[stack.pop()]["stop"] = event.time
    assert not any(open_calls.values()), "each call ends"
    return found


def export(run: Path, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(paths.FATHOM), "export", str(run), *map(str, words)], cwd=run.parent,
        env=os.environ | {"FATHOM_PYTHON": paths.PYTHON, "PYTHONPATH": str(paths.ROOT / "python")},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done


def record(tmp: Path, mpi: str, kernel: str, *words: object) -> Path:
    needs.require([*needs.of_mpi(mpi), *NEEDS])
    program = paths.BUILD / "kernels" / f"{kernel}_{needs.MPI[mpi]}"
    if not program.exists():
        pytest.skip(f"{program.name} is not built: its library is not installed")
    launch = [*runner.LAUNCH[mpi].split(), "-n", "4", str(program), *map(str, words)]
    subprocess.run(
        [str(paths.FATHOM), "run", "--no-show", "-o", "run", "--", *launch], cwd=tmp,
        env=os.environ | runner.STACK_ENV, capture_output=True, timeout=200, check=True,
    )  # fmt: skip
    return tmp / "run.fathom"


@pytest.fixture(scope="module")
def s3d(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S3D's checkpoint by collective MPI-IO, on four ranks."""
    tmp = tmp_path_factory.mktemp("s3d")
    (tmp / "out").mkdir()
    words = ["-m", "collective", "-c", 1, "-r", 20, 20, 20, 2, 2, 1, tmp / "out"]
    return record(tmp, "mpich", "s3d_mpiio", *words)


def test_calls_nest_as_in_the_tables(s3d: Path) -> None:
    done = export(s3d, "--to", "otf2")
    assert done.stdout == "run-otf2/traces.otf2\n"
    found = read(s3d.parent / "run-otf2" / "traces.otf2")
    con = tables.connect(s3d)
    rows = con.sql("select id, stream, rank, layer, op, start, start + duration, parent from calls")
    wanted = {row[0]: row[1:] for row in rows.fetchall()}
    assert len(wanted) > 100
    assert {
        call: (
            one["thread"], int(one["group"].removeprefix("MPI Rank ")), one["layer"], one["op"],
            one["start"], one["stop"], one["inside"],
        )
        for call, one in found.calls.items()
    } == wanted  # fmt: skip
