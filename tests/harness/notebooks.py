"""python -m harness.notebooks: executes the notebooks of examples/notebooks, on runs that the commands in them make,
and keeps in them what their cells show."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from harness import paths

NOTEBOOKS = sorted((paths.ROOT / "examples" / "notebooks").glob("*.ipynb"))
# The folders that readers see instead of those where it was: of the runs, of Fathom's sources.
USUAL, SOURCES = "/scratch/me", "/scratch/me/fathom"


def read(notebook: Path) -> Any:
    """Errors: what nbformat says of one that is not valid."""
    import nbformat

    content = nbformat.read(notebook, nbformat.NO_CONVERT)
    nbformat.validate(content)
    return content


def commands(notebook: Path) -> list[str]:
    """What the first text of a notebook tells to run."""
    (block,) = re.findall(r"```sh\n(.*?)```", read(notebook).cells[0].source, re.DOTALL)
    return [line for line in re.sub(r"\\\n\s*", "", block).splitlines() if line]


def record(folder: Path) -> None:
    """Makes the runs of all notebooks there."""
    (folder / "build").symlink_to(paths.BUILD)
    path = f"{paths.BUILD}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(folder), "HWLOC_COMPONENTS": "-gl"}
    for line in dict.fromkeys(line for notebook in NOTEBOOKS for line in commands(notebook)):
        subprocess.run(
            line, shell=True, check=True, cwd=folder, env=env, timeout=300,
            capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip


def executed(notebook: Path, folder: Path) -> Any:
    """The notebook with what its cells show, in a kernel of Jupyter that works in the folder of the runs."""
    from nbclient import NotebookClient

    content = read(notebook)
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        content, timeout=300, kernel_name="python3", resources=where, record_timing=False
    )
    client.execute()
    content.metadata = read(notebook).metadata  # not the version of this Python
    for cell in code(content):  # what who opens a run first is told
        cell.outputs = [one for one in cell.outputs if one.output_type != "stream"]
    return content


def code(content: Any) -> list[Any]:
    """Its cells of code."""
    return [cell for cell in content.cells if cell.cell_type == "code"]


def main() -> None:
    """Executes them all."""
    import nbformat

    with tempfile.TemporaryDirectory() as place:
        record(Path(place))
        for notebook in NOTEBOOKS:
            text = nbformat.writes(executed(notebook, Path(place)))
            text = text.replace(place, USUAL).replace(str(paths.ROOT), SOURCES)
            notebook.write_text(f"{text}\n", encoding="utf-8")
            print(notebook.name)


if __name__ == "__main__":
    main()
