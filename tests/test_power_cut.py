"""What pack, recover, join and collect leave outlives a power cut at each of their writes: the next one is right, and
nothing that it needs is gone. What Python leaves is in the same order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import faults, needs, power, readers
from harness.readers import FATHOM, shown_run


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["pack", "pack --force", "recover", "join", "collect"])
def test_the_next_one_is_right(name: str, tmp_path: Path) -> None:
    needs.require(["strace"])
    case = readers.case(name, tmp_path / "place")
    case.keep()
    wrong = [*power.misordered(case), *power.spoiled(case)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "check", [power.misordered, pytest.param(power.spoiled, marks=pytest.mark.full)]
)
def test_what_patterns_leaves_is_on_the_disk(
    check: Callable[[faults.Case], list[str]], tmp_path: Path
) -> None:
    """And what is read after a cut at any of its writes is the same."""
    needs.require(["strace"])
    case = readers.case("patterns", tmp_path / "place")
    case.keep()
    wrong = check(case)
    assert not wrong, "\n".join(wrong)


def test_a_run_in_one_file_is_on_the_disk(tmp_path: Path) -> None:
    needs.require(["strace"])
    shown_run(tmp_path / "place")
    words = (*FATHOM, "pack", "w.fathom", "--one-file", "x.zip")
    case = faults.Case(tmp_path / "place", words, faults.below("x.zip"))
    case.keep()
    wrong = power.misordered(case)
    assert not wrong, "\n".join(wrong)
