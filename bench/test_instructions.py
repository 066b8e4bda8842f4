"""What a traced empty call and a small forwarded request may take in instructions: the same count on any load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from forwarding import FORWARD, server
from per_call import EMPTY
from tools import PROGRAMS, fathom_run, run

FEW, MANY = 10, 60  # batches; what start and end cost drops out of the difference
CALLS_IN_BATCH = 2 * 1000  # pwrites and preads
LIMIT = 128.0  # a little over what was measured: a rise is a finding
REQUESTS = 500
REQUEST_LIMITS = {"write": 3300.0, "read": 3600.0, "getattr": 2800.0}


def instructions(directory: Path, batches: int, traced: bool) -> int:
    """Instructions of a whole run of `calls` on empty calls."""
    before = fathom_run(directory / f"{batches}.fathom") if traced else []
    program: list[str | Path] = [PROGRAMS / "calls", "/dev/null", "1", str(batches)]
    profile = directory / f"profile.{batches}.{traced}"
    return counted(profile, program, before, {"LD_PRELOAD": str(EMPTY)})


def counted(
    profile: Path,
    program: list[str | Path],
    before: Sequence[str | Path] = (),
    env: dict[str, str] | None = None,
) -> int:
    """Instructions of a program, by callgrind."""
    command: list[str | Path] = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    run([*before, *command, *program], env)
    for line in profile.read_text().splitlines():
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise AssertionError(f"{profile} has no summary line")


def per_call(directory: Path, traced: bool) -> float:
    few, many = (instructions(directory, batches, traced) for batches in (FEW, MANY))
    return (many - few) / (MANY - FEW) / CALLS_IN_BATCH


def test_instructions_added_to_an_empty_call(tmp_path: Path) -> None:
    added = per_call(tmp_path, True) - per_call(tmp_path, False)
    assert 20 < added <= LIMIT, f"{added:.1f} instructions added per call"


@pytest.mark.parametrize("op", REQUEST_LIMITS)
def test_instructions_of_a_small_request_in_its_client(tmp_path: Path, op: str) -> None:
    with server(tmp_path) as one:
        none, some = (
            counted(tmp_path / str(count), [FORWARD, "round", one.address, op, "64", str(count)])
            for count in (0, REQUESTS)
        )
    each = (some - none) / REQUESTS
    assert 500 < each <= REQUEST_LIMITS[op], f"{each:.0f} instructions a request"
