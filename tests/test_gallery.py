"""The pages that `python -m harness.gallery` records: they fit a terminal, and name lines that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from harness import gallery, needs, paths

RECORDED = [
    (page, step) for page in gallery.PAGES for block in gallery.blocks(page) for step in block
]
#: `loader.py:21 Files.__getitem__`, with or without `()`, as the page and statements over `sites` have it.
PYTHON_LINE = re.compile(r"([\w/]+\.py):(\d+) ([\w.<>]+)")
C_LINE = re.compile(r"([\w/]+\.c):(\d+)")
#: Commands that end with the screen; its most lines, and what a program may print before it.
SCREEN = re.compile(r"^fathom (show [^ ]+$|run (?!--no-show))")
MOST = 24 + 6
SOURCES = [*(paths.ROOT / "kernels").rglob("*.[ch]"), *(paths.ROOT / "examples/gallery").iterdir()]


def source(name: str) -> Path:
    """The file of this name, of the gallery or the kernels."""
    (path,) = (one for one in SOURCES if one.name == Path(name).name)
    return path


def enclosing(path: Path, line: int) -> set[str]:
    """Names of the functions that have this line."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or line)
    }


@pytest.mark.parametrize("page", gallery.PAGES)
def test_what_is_shown_fits_a_terminal(page: str) -> None:
    steps = [step for name, step in RECORDED if name == page]
    assert steps
    for step in steps:
        if SCREEN.search(step.command):
            wide = [line for line in step.printed if len(line) > gallery.COLUMNS]
            assert not wide, (step.command, wide)
            assert len(step.printed) <= MOST, step.command


@pytest.mark.parametrize("page", gallery.PAGES)
def test_lines_that_are_named_are_there(page: str) -> None:
    """A program that changed is recorded again."""
    text = "\n".join(line for name, step in RECORDED if name == page for line in step.printed)
    for name, line, function in PYTHON_LINE.findall(text):
        within = enclosing(source(name), int(line))
        last = function.rstrip("()").split(".")[-1]
        assert not within if last == "<module>" else last.startswith("<") or last in within, (
            name,
            line,
        )
    for name, line in C_LINE.findall(text):
        assert int(line) <= len(source(name).read_text(encoding="utf-8").splitlines()), (name, line)


@pytest.mark.full
@pytest.mark.parametrize("page", gallery.PAGES)
def test_commands_still_run(page: str, tmp_path: Path) -> None:
    needs.require([*needs.of_mpi("mpich"), "python:h5py", "python:netCDF4", "python:pyarrow"])
    gallery.furnish(tmp_path)
    for block in gallery.blocks(page):
        if gallery.of_others(block) and not (tmp_path / "wild").exists():
            continue
        for step in block:
            status, printed = gallery.run(step.command, tmp_path)
            assert not status or gallery.ended_by_timeout(step, status), printed
            assert bool(printed) == bool(step.printed), (step.command, printed)
