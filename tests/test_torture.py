"""A round of each part of `make torture`, and those rounds again that once found a fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import needs
from torture.__main__ import PARTS
from torture.part import Part
from torture.programs import commands

#: Seeds that found a fault, of Fathom or of its oracle, by part.
FOUND = {
    "programs": (31, 36, 57, 65),
    "damaged": (10, 20, 61),
    "names": (15,),
    "kill-collect": (3,),
}
#: What `make test-rust` has.
ELSEWHERE = {"fuzz", "forward-model"}
ROUNDS = [
    pytest.param(part, seed, id=f"{part.name}-{seed}", marks=[pytest.mark.full] if number else [])
    for part in PARTS
    if part.name not in ELSEWHERE
    for number, seed in enumerate(FOUND.get(part.name, (1,)))
]
PROGRAMS = next(part for part in PARTS if part.name == "programs")


@pytest.mark.parametrize(("part", "seed"), ROUNDS)
def test_a_round(part: Part, seed: int, tmp_path: Path) -> None:
    needs.require(["strace", *part.needs])
    assert part.round(tmp_path, seed) > 0


@pytest.mark.full
@pytest.mark.parametrize("seed", range(len(commands())))
def test_each_program(seed: int, tmp_path: Path) -> None:
    needs.require(["strace"])
    assert PROGRAMS.round(tmp_path, seed) == 1
