"""What pack, recover and join leave outlives a power cut at each of their writes: the next one is right, and nothing
that it needs is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import faults, needs, power
from test_engine_faults import COMMANDS

NAMES = ("pack", "pack --force", "recover", "join")


@pytest.mark.parametrize("name", NAMES)
def test_the_next_one_is_right(name: str, tmp_path: Path) -> None:
    needs.require(["strace"])
    prepare, words, folders = COMMANDS[name]
    prepare(tmp_path / "place")
    files = faults.below(*folders, but=(".pack.lock", "packed"))
    wrong = power.outlives(faults.Case(tmp_path / "place", words, files))
    assert not wrong, "\n".join(wrong)
