"""No benchmark rots: each part of bench/run.py gives its rows, of runs as small as can be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from run import BENCHMARKS

RUN = Path(__file__).with_name("run.py")
#: The longest even so, in test-full only; what most of them do other tests of the suite do as well.
LONG = set("attach exact forward generate kernel linear mix query scale sink tuning view".split())
PARTS = [
    pytest.param(name, marks=[pytest.mark.full] if name in LONG else []) for name in BENCHMARKS
]


@pytest.mark.parametrize("name", PARTS)
def test_a_quick_look_gives_rows(name: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    command = [sys.executable, str(RUN), "--quick", "--only", name, "--json", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(rows.read_text()), done.stdout
