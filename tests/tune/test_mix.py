"""A code whose files are of several kinds: settings for each group of files beat every one that all share."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from harness import needs, paths, tuned

PROGRAM = paths.PROGRAMS / "programs" / "mpi" / f"mix_{needs.MPI['mpich']}"
VALUES = ("automatic", "disable")
ALL = '[[file]]\n[file.romio]\nromio_cb_write = "{}"\nromio_ds_write = "{}"\n'
KNOB = """
[[knob]]
knob   = "romio.romio_{what}_write"
name   = "{group}_{what}"
group  = "{group}.*"
values = ["disable"]
"""
EACH = "".join(
    KNOB.format(what=what, group=group)
    for group in ("restart", "plot", "particles")
    for what in ("cb", "ds")
)


@pytest.mark.full
def test_settings_of_each_group_beat_every_single_setting(tmp_path: Path) -> None:
    singles = [
        tuned.once(tmp_path, f"single{number}", ALL.format(*pair), PROGRAM)
        for number, pair in enumerate(product(VALUES, VALUES))
    ]
    words = ["--sampler", "tpe", "--trials", 24, "--finalists", 1, "--", PROGRAM, "{out}"]
    verdict, _ = tuned.tune(tmp_path, "each", EACH, *words)
    assert verdict["verdict"] == "gain", verdict["sentence"]
    # Particles here and there: requests of their own. Plots and checkpoints as the library has them.
    assert verdict["settings"] == {"particles_cb": "disable", "particles_ds": "disable"}
    assert verdict["best"] < 0.6 * min(singles)
