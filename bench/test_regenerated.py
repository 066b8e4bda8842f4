"""What generated code may take in instructions, against the same kernel's hand-written I/O: the same on any load."""

from __future__ import annotations

from pathlib import Path

import pytest
from regenerated import CASES, GENERATED, HAND, LIMIT, Case, build, instructions

QUICK = "FLASH in C"


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[] if case.name == QUICK else pytest.mark.full)
        for case in CASES
    ],
)
def test_instructions_of_a_checkpoint(case: Case, tmp_path: Path) -> None:
    programs = build(case, tmp_path)
    ours, by_hand = (instructions(programs[way], case, tmp_path) for way in (GENERATED, HAND))
    assert 1_000_000 < ours <= LIMIT * by_hand
