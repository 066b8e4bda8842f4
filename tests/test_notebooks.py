"""The notebooks of examples/notebooks, cell by cell on runs that are made by the commands in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import needs, paths

NOTEBOOKS = sorted((paths.ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(notebook: Path, kind: str) -> list[str]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def commands(notebook: Path) -> list[str]:
    """What the first text of a notebook tells to run."""
    (block,) = re.findall(r"```sh\n(.*?)```", cells(notebook, "markdown")[0], re.DOTALL)
    return [line for line in re.sub(r"\\\n\s*", "", block).splitlines() if line]


def surroundings() -> dict[str, str]:
    return {**os.environ, "PATH": f"{paths.BUILD}:{os.environ['PATH']}", "HWLOC_COMPONENTS": "-gl"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of all notebooks are."""
    needs.require(
        [
            *needs.of_mpi("mpich"),
            "python:pandas",
            "python:polars",
            "python:nbclient",
            "python:ipykernel",
        ]
    )
    made = tmp_path_factory.mktemp("notebooks")
    (made / "build").symlink_to(paths.BUILD)
    for line in dict.fromkeys(line for notebook in NOTEBOOKS for line in commands(notebook)):
        subprocess.run(
            line, shell=True, check=True, cwd=made, env=surroundings(), timeout=120,
            capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return made


def shown(notebook: Path, folder: Path) -> list[dict[str, str]]:
    """What each cell of code shows, by type, in a kernel of Jupyter."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, nbformat.NO_CONVERT)
    nbformat.validate(content)
    NotebookClient(
        content, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    return [{k: v for out in cell.outputs for k, v in out.get("data", {}).items()} for cell in code]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_something(notebook: Path, folder: Path) -> None:
    values = shown(notebook, folder)
    assert all(values), [number for number, value in enumerate(values) if not value]
    assert any("image/png" in value for value in values)
    if notebook.stem == "latency":  # exclusive times of calls add up to their times, it says
        text = cells(notebook, "code")
        (at,) = [n for n, source in enumerate(text) if "exclusive.layers" in source]
        assert float(re.sub(r"np\.float64\((.*)\)", r"\1", values[at]["text/plain"])) < 1e-6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_kept(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
