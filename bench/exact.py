"""Is it right: programs whose rows equal what strace saw, and kills after which nothing sealed is missing.

The comparisons are the test suite's own; here they are counted, so that the table of figures has them beside the
costs. A comparison that did not run is one that failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tools import ROOT, BenchError, Row, scratch

KILLS = "tests/test_ends.py::test_killed_at_random_moments"
MANY_KILLS = "tests/test_ends.py::test_killed_at_a_thousand_random_moments"


def with_oracle() -> list[str]:
    """End-to-end tests that compare every call with strace's record of the same run."""
    tests = sorted((ROOT / "tests" / "see").glob("*.toml"))
    return [
        str(path.relative_to(ROOT))
        for path in tests
        if any(line.split("=")[0].strip() == "oracle" for line in path.read_text().splitlines())
    ]


def passed(tests: list[str], marks: str, directory: Path) -> tuple[int, int]:
    """Tests that passed, and all that were to run."""
    report = directory / "report.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", marks, f"--junitxml={report}", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        check=False,
    )
    if not report.exists():
        raise BenchError(f"pytest wrote no report of {' '.join(tests[:3])} …")
    suite = next(ElementTree.parse(report).iter("testsuite"))
    bad = sum(int(suite.get(key, 0)) for key in ("failures", "errors", "skipped"))
    total = int(suite.get("tests", 0))
    return total - bad, total


def row(what: str, counts: tuple[int, int]) -> Row:
    good, total = counts
    met = total > 0 and good == total
    return Row(what, good, "", total, good / total if total else 0, "all", met)


def rows(quick: bool) -> list[Row]:
    with scratch() as directory:
        compared = passed(with_oracle()[: 3 if quick else None], "not full", directory)
        killed = passed([KILLS if quick else MANY_KILLS], "", directory)
    kills = 25 if quick else 1000
    return [
        row("runs whose every call is as strace saw it", compared),
        row(f"series of {kills:,} kills, all sealed chunks and tails read back", killed),
    ]
