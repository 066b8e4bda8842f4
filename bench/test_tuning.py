"""`fathom tune auto`, its own plan on recorded grids: near the best, ahead of random search at equal cost."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest
from grid import KINDS
from tuning import NEAR, SEEDS, Grid, autos


@pytest.mark.parametrize("kernel", ["column", "block", "gcrm"])
def test_auto_comes_near_the_best_of_a_grid(kernel: str) -> None:
    ours, _ = Grid(KINDS[kernel]).autos(trials=10, seeds=1)
    assert ours <= NEAR


@pytest.mark.full
def test_auto_is_ahead_of_random_search_in_the_median_of_seeds() -> None:
    with ProcessPoolExecutor() as pool:
        rows = autos([Grid(kernel) for kernel in KINDS.values()], SEEDS, pool)
    assert [row.met for row in rows if row.target] == [True, True]
