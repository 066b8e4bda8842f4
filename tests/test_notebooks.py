"""The notebooks of examples/notebooks, cell by cell on runs that are made by the commands in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import needs, paths

NOTEBOOKS = sorted((paths.ROOT / "examples" / "notebooks").glob("*.ipynb"))
# As a kernel does: cells in order in one namespace, the value of the last expression is what a cell shows.
KERNEL = """
import ast, json, sys, matplotlib
matplotlib.use("agg")
space = {"__name__": "__main__"}
for source in json.load(sys.stdin):
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), space)
    shown = eval(compile(last, "cell", "eval"), space) if last else None
    if last and hasattr(shown, "savefig"):
        shown.savefig("shown.png")
    print(json.dumps([type(shown).__name__, repr(shown)]))
"""


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
    needs.require([*needs.of_mpi("mpich"), "python:pandas", "python:polars"])
    made = tmp_path_factory.mktemp("notebooks")
    (made / "build").symlink_to(paths.BUILD)
    for line in dict.fromkeys(line for notebook in NOTEBOOKS for line in commands(notebook)):
        subprocess.run(
            line, shell=True, check=True, cwd=made, env=surroundings(), timeout=120,
            capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return made


def shown(notebook: Path, folder: Path) -> list[list[Any]]:
    done = subprocess.run(
        [paths.PYTHON, "-c", KERNEL], cwd=folder, env=surroundings(), timeout=120,
        input=json.dumps(cells(notebook, "code")), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_something(notebook: Path, folder: Path) -> None:
    values = shown(notebook, folder)
    assert len(values) == len(cells(notebook, "code"))
    assert all(kind != "NoneType" for kind, _ in values)
    assert "Figure" in [kind for kind, _ in values]
    if notebook.stem == "latency":  # exclusive times of calls add up to their times, it says
        (difference,) = [text for kind, text in values if kind.startswith("float")]
        assert float(difference) < 1e-6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_kept(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
