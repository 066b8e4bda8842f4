"""The threshold of the pattern store is what the recorded runs say: bench/transfer.json, made by transfer.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import transfer
from fathom.tune.store.distance import THRESHOLD

CASES = transfer.read(Path(__file__).with_name("transfer.json"))


def test_what_is_nearer_than_the_threshold_serves() -> None:
    every = transfer.pairs(CASES)
    near = [one for one in every if one.distance <= THRESHOLD]
    assert len(near) > 100
    assert [one for one in near if not one.serves] == []
    assert next(one for one in every if not one.serves).distance < THRESHOLD + 0.02


def test_most_applications_left_out_are_answered_and_the_others_abstain() -> None:
    """IOR's segments and irregular boxes are like nothing else."""
    neighbours = transfer.nearest(CASES)
    answered = {
        neighbour.case.application for neighbour in neighbours if neighbour.distance <= THRESHOLD
    }
    assert answered == {"vpic", "vorpal", "gcrm", "s3d", "flash", "synthetic"}
    gains = [
        neighbour.share_of_gain
        for neighbour in neighbours
        if neighbour.distance <= THRESHOLD and neighbour.share_of_gain is not None
    ]
    assert len(gains) >= 20 and min(gains) >= 0.9


@pytest.mark.parametrize(("source", "least", "most"), [("vpic", 0.99, 1.0), ("gcrm", -0.01, 0.01)])
def test_flash_takes_what_serves_it(source: str, least: float, most: float) -> None:
    """Behzad et al. 2019 took GCRM's for FLASH: where all share a store they gain nothing, and VPIC's all there is."""
    shares = [
        pair.share_of_gain
        for pair in transfer.pairs(CASES)
        if pair.case.application == "flash" and pair.source.application == source and pair.store == "shared"
        and "independent" not in pair.source.job and pair.share_of_gain is not None
    ]  # fmt: skip
    assert shares and least <= min(shares) and max(shares) <= most
