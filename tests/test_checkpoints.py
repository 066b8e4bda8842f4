"""State that is saved again and again is told from calls, in the forms of libraries: by what lies on the disk."""

from __future__ import annotations

from pathlib import Path

import fathom
import pytest
from harness import exports, needs, paths

PROGRAM = paths.TESTS / "programs/checkpoints.py"
#: Habit -> of all files: renamed, synced, synced before that; written over but for the first time.
HABITS = {
    "over": (False, False, False, True),
    "new": (False, False, False, False),
    "aside": (True, False, False, False),
    "synced": (True, True, True, False),
}


@pytest.mark.some(6)
@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("form", ["zip", "pickle", "safetensors", "hdf5", "chunks"])
def test_a_form_and_its_habit(tmp_path: Path, form: str, habit: str) -> None:
    needs.require(["python:numpy", *(["python:h5py"] if form == "hdf5" else [])])
    data = tmp_path / "data"
    data.mkdir()
    # Rounds are told apart by pauses, which on a busy machine stand within a round too, or last ten times as long.
    words = (PROGRAM, form, habit, data, "--rounds", 3, "--mb", 4, "--compute", 500)
    run = fathom.open(exports.record(tmp_path, "--", paths.PYTHON, *words))
    (row,) = run.by("checkpoint").to_pylist()
    files = [file for file in data.rglob("*") if file.is_file()]
    each = 3 if habit == "over" else 1
    size = sum(file.stat().st_size for file in files) * each
    assert row["saves"] == len(files) * each
    # What is written twice (heads of members, metadata) lies on the disk once; HDF5 leaves holes.
    assert row["bytes"] * row["rounds"] == pytest.approx(size, rel=0.01)
    if form != "chunks":
        assert (row["rounds"], row["files"]) == (3, 1)
    renamed, synced, first, over = HABITS[habit]
    assert row["renamed"] == row["saves"] * renamed
    assert (row["synced"], row["synced_first"]) == (row["saves"] * synced, row["saves"] * first)
    assert row["emptied"] == len(files) * 2 * over
    assert row["layer"] == ("hdf5" if form == "hdf5" else "posix")


def test_one_result_is_no_checkpoint(tmp_path: Path) -> None:
    run = fathom.open(
        exports.record(
            tmp_path, "--", paths.PYTHON, PROGRAM, "pickle", "new", tmp_path, "--rounds", 1
        )
    )
    assert run.by("checkpoint").num_rows == 0
