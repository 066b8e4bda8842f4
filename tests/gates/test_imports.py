"""What an event of another tool's trace takes to import, against json.loads of a line of DFTracer's: in instructions.

Two traces, the same but for their length: what a start takes is in both. In seconds: bench/imports.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest
from fathom.run.functions import catalog
from fathom.run.paths import engine
from harness import needs, paths

sys.path.insert(0, str(paths.ROOT / "bench"))

import imports

FEW, MANY = 20, 120
SAMPLE = paths.TESTS / "samples" / "recorder" / "each"
AGAIN = -100  # a rule that Recorder's grammar of the sample has not


def instructions(command: list[str | Path], place: Path, given: str = "") -> int:
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={place}/callgrind.out"]
    done = subprocess.run(
        [*words, *map(str, command)],
        input=given, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    match = re.search(r"Collected : (\d+)", done.stderr)
    assert match, done.stderr
    return int(match[1])


def dftracer(path: Path, times: int) -> int:
    """A hundred events, so many times; how many they are."""
    imports.write(path, 100 * times)
    return 100 * times


def recorder(path: Path, times: int) -> int:
    """The calls of the sample's first rank, so many times one behind another."""
    shutil.copytree(SAMPLE, path)
    grammar = array("i", (SAMPLE / "0.cfg").read_bytes())
    assert grammar[1] == -1
    grammar[1] = AGAIN
    repeated = array("i", [grammar[0] + 1, -1, 1, AGAIN, times]) + grammar[1:]
    (path / "0.cfg").write_bytes(repeated.tobytes())
    once = array("I", (SAMPLE / "0.ts").read_bytes())
    each = [at * (max(once) + 1) for at in range(times)]
    moments = array("I", [moment + later for later in each for moment in once])
    (path / "0.ts").write_bytes(moments.tobytes())
    return times * len(once) // 2


@pytest.mark.parametrize("log", [dftracer, recorder])
def test_an_import_takes_at_most_three_times_json(
    tmp_path: Path, log: Callable[[Path, int], int]
) -> None:
    needs.require(["valgrind"])
    tool, known = log.__name__, catalog()
    takes, events, baseline, lines = [], [], [], []
    for times in (FEW, MANY):
        trace, read = tmp_path / f"{times}.pfw", tmp_path / f"{times}.json"
        events.append(log(trace, times))
        lines.append(dftracer(read, times))
        command: list[str | Path] = [engine(), tool, tmp_path / f"{times}.fathom", trace]
        takes.append(instructions(command, tmp_path, known))
        baseline.append(instructions([sys.executable, "-I", "-c", imports.LOADS, read], tmp_path))
    took = (takes[1] - takes[0]) / (events[1] - events[0])
    line = (baseline[1] - baseline[0]) / (lines[1] - lines[0])
    assert took <= imports.TARGET * line, f"{took:.0f} instructions an event; json.loads {line:.0f}"
