"""What is in no call of the program's own, and still in the bar of the run's time: its start-up."""

from __future__ import annotations

from pathlib import Path

import fathom
from fathom.analysis.account import bar
from harness import mistakes, paths


def test_a_start_up_from_a_network_is_in_the_bar(tmp_path: Path) -> None:
    """100 modules, each looked up and read from a store that takes 2 ms a request; and from the node's disk."""
    pair = mistakes.load(paths.TESTS / "findings" / "start-up-imports.toml")
    seconds = {}
    for name, words in (("far", pair.guilty), ("near", pair.innocent)):
        data = tmp_path / name / "data"
        data.mkdir(parents=True)
        mistakes.execute(pair, words, data, tmp_path / name / "run.fathom")
        shown = bar(fathom.open(tmp_path / name / "run.fathom")).slowest
        assert shown is None or abs(shown.seconds - sum(shown.causes.values())) < 1e-6
        seconds[name] = shown.causes.get("start-up", 0.0) if shown else 0.0
    assert seconds["near"] < 0.1 < 0.4 < seconds["far"]
