"""What Fathom adds to the start of 2,000 processes: opens, stats, execs, bytes, all bounded.

The counts and their bounds are those of bench/start.py, so that the benchmark and the gate cannot differ.
"""

from __future__ import annotations

import sys

import pytest
from harness import needs, paths

sys.path.insert(0, str(paths.ROOT / "bench"))

import start


@pytest.mark.parametrize(
    "quick",
    [pytest.param(True, id="200"), pytest.param(False, id="2000", marks=pytest.mark.full)],
)
def test_start_is_bounded(quick: bool) -> None:
    needs.require(["strace"])
    too_much = [
        f"{row.what}: {row.measured:g} {row.unit}, {row.target}"
        for row in start.rows(quick)
        if row.met is False
    ]
    assert not too_much, "\n".join(too_much)
