"""A traced empty call may add only so many instructions: callgrind counts the same on any load."""

from __future__ import annotations

from pathlib import Path

from per_call import EMPTY
from tools import PROGRAMS, fathom_run, run

FEW, MANY = 10, 60  # batches; what start and end cost drops out of the difference
CALLS_IN_BATCH = 2 * 1000  # pwrites and preads
LIMIT = 128.0  # a little over what was measured: a rise is a finding


def instructions(directory: Path, batches: int, traced: bool) -> int:
    """Instructions of a whole run of `calls` on empty calls."""
    profile = directory / f"profile.{batches}.{traced}"
    before = fathom_run(directory / f"{batches}.fathom") if traced else []
    command: list[str | Path] = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    program: list[str | Path] = [PROGRAMS / "calls", "/dev/null", "1", str(batches)]
    run([*before, *command, *program], {"LD_PRELOAD": str(EMPTY)})
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
