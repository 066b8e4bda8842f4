"""The verdict of `fathom tune` on real programs, by counted requests: a large gain, and none that is worth having."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import paths, tuned

KERNELS = paths.BUILD / "kernels"
# Each rank writes one piece and nothing between is another's: neither sieving nor deferred opens have anything to do.
ROWS = """
[[knob]]
knob   = "romio.romio_ds_write"
values = ["enable", "disable"]
[[knob]]
knob   = "romio.romio_cb_write"
values = ["disable"]
"""

pytestmark = pytest.mark.full


def test_columns_of_independent_transfers_gain_five_times_and_more(tmp_path: Path) -> None:
    words = ["--sampler", "grid", "--verify", "h5diff", "--finalists", 1, "--"]
    words += [*tuned.COLUMNS, 256, "{out}"]
    space = tuned.COLLECTIVE.format(buffers='"1MiB"')
    verdict, _ = tuned.tune(tmp_path, "s", space, *words)
    assert verdict["verdict"] == "gain" and verdict["compared"]["low"] >= 5, verdict["sentence"]
    assert verdict["settings"] == {"dxpl_mpio": "collective"}


def test_where_there_is_nothing_to_gain_that_is_the_verdict(tmp_path: Path) -> None:
    words = ["--sampler", "grid", "--finalists", 2, "--", KERNELS / "synthetic_mpiio_mpich"]
    verdict, trials = tuned.tune(
        tmp_path, "s", ROWS, *words, "-m", "collective", "row", 128, 1024, "{out}"
    )
    assert verdict["verdict"] == "none" and not verdict["text"]
    assert verdict["sentence"].startswith("no gain worth having (less than 3%)")
    assert len({trial["score"] for trial in trials if trial["stage"] in ("default", "search")}) == 1
    assert not (tmp_path / "s.tune" / "settings.toml").exists()
