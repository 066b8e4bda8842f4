"""The notebooks of examples/notebooks, cell by cell on runs that the commands in them make (harness/notebooks.py)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from harness import needs, notebooks, paths


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of all notebooks are."""
    asked = ("pandas", "polars", "nbclient", "ipykernel")
    needs.require([*needs.of_mpi("mpich"), *(f"python:{name}" for name in asked)])
    place = tmp_path_factory.mktemp("notebooks")
    notebooks.record(place)
    return place


def shown(content: Any) -> list[dict[str, str]]:
    """What each cell of code shows, by type."""
    return [
        {kind: text for out in cell.outputs for kind, text in out.get("data", {}).items()}
        for cell in notebooks.code(content)
    ]


@pytest.mark.some(1)
@pytest.mark.parametrize("notebook", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_what_is_kept(notebook: Path, folder: Path) -> None:
    content = notebooks.executed(notebook, folder)
    values, stored = shown(content), shown(notebooks.read(notebook))
    assert all(values), [number for number, value in enumerate(values) if not value]
    assert any("image/png" in value for value in values)
    hint = "python -m harness.notebooks, in tests/"
    assert [value.keys() for value in values] == [value.keys() for value in stored], hint
    assert str(paths.ROOT) not in notebook.read_text(encoding="utf-8"), hint
    if notebook.stem == "latency":  # exclusive times of calls add up to their times, it says
        sources = [cell.source for cell in notebooks.code(content)]
        (at,) = [n for n, source in enumerate(sources) if "exclusive.layers" in source]
        assert float(re.sub(r"np\.float64\((.*)\)", r"\1", values[at]["text/plain"])) < 1e-6
