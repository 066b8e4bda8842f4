"""`fathom tune auto` with a filled pattern store: what one search found is where the next one begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import tuned


@pytest.mark.full
def test_a_second_program_of_the_pattern_begins_with_the_firsts_winner(tmp_path: Path) -> None:
    space = tuned.COLLECTIVE.format(buffers='"64KiB", "1MiB"')

    def search(name: str, trials: int, columns: int) -> tuple[dict[str, object], list[object]]:
        options = ["auto", "--sampler", "model", "--trials", trials, "--finalists", 1]
        options += ["--verify", "h5diff", "--store", tmp_path / "p.db"]
        verdict, tried = tuned.tune(
            tmp_path, name, space, *options, "--", *tuned.COLUMNS, columns, "{out}"
        )
        assert verdict["verdict"] == "gain" and verdict["compared"]["low"] >= 5, verdict["sentence"]
        return verdict["settings"], [one["settings"] for one in tried if one["asked"] == "store"]

    settings, begun = search("first", 8, 256)
    assert settings == {"dxpl_mpio": "collective"} and not begun
    settings, begun = search("second", 4, 512)
    assert begun == [{"dxpl_mpio": "collective", "cb_buffer_size": None}]
    assert settings == {"dxpl_mpio": "collective"}
