"""A wrapper's lines are not the user's: `--skip` gives its calls to who called it; the call tree has the whole path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import exports, needs, paths, tables

PUT = """#include <unistd.h>
void put(int file, int value)
{
    write(file, &value, sizeof(value));
}
"""
MAIN = """#include <fcntl.h>
void put(int file, int value);
static __attribute__((noinline)) void step(int file)
{
    for (int i = 0; i < 3; i++)
        put(file, i);
    __asm__ volatile("");
}
int main(void)
{
    const int file = open("out", O_CREAT | O_WRONLY, 0600);
    step(file);
    put(file, 7);
    return 0;
}
"""
PYTHON_PUT = """import os
def put(file, value):
    os.write(file, bytes([value]))
"""
PYTHON_MAIN = """import os
from tools.put import put
def step(file):
    for i in range(3):
        put(file, i)
file = os.open("out", os.O_CREAT | os.O_WRONLY)
step(file)
put(file, 7)
"""


def compiled(place: Path) -> list[object]:
    needs.require(["gcc"])
    (place / "put.c").write_text(PUT)
    (place / "main.c").write_text(MAIN)
    command = ["gcc", "-g", "-O1", "-fno-inline", "-o", "program", "main.c", "put.c"]
    subprocess.run(command, cwd=place, check=True)
    return [place / "program"]


def script(place: Path) -> list[object]:
    (place / "tools").mkdir()
    (place / "tools" / "put.py").write_text(PYTHON_PUT)
    (place / "main.py").write_text(PYTHON_MAIN)
    return [sys.executable, place / "main.py"]


#: Of each: how to make it, the wrapper's name and line, and the lines of its two callers, with their calls.
PROGRAMS = {
    "C": (compiled, "put.c", ("put.c", 4), {("main.c", 6): 3, ("main.c", 13): 1}),
    "Python": (script, "tools.put", ("put.py", 3), {("main.py", 5): 3, ("main.py", 8): 1}),
}


def writers(run: Path) -> dict[tuple[str, int], int]:
    """Calls of each line that writes."""
    rows = tables.ask(
        tables.opened(run),
        "select parse_filename(source), line, count(*) from calls join files using (file) join sites using (site)"
        " where op = 'write' and ends_with(path, '/out') group by all",
    )
    return {(source, line): calls for source, line, calls in rows}


@pytest.mark.some(1)
@pytest.mark.parametrize("language", PROGRAMS)
def test_who_called_a_wrapper_has_its_calls(tmp_path: Path, language: str) -> None:
    make, name, wrapper, callers = PROGRAMS[language]
    program = make(tmp_path)
    run = exports.record(tmp_path, "--skip", name, "--", *program)
    assert writers(run) == callers
    for skipped, expected in (("", {wrapper: 4}), (name, callers)):
        command = [paths.FATHOM, "pack", run, "--skip", skipped]
        subprocess.run(command, check=True, capture_output=True)
        assert writers(run) == expected


@pytest.mark.some(1)
@pytest.mark.parametrize("language", PROGRAMS)
def test_the_call_tree_has_the_path(tmp_path: Path, language: str) -> None:
    make, _, wrapper, callers = PROGRAMS[language]
    run = exports.record(tmp_path, "--", *make(tmp_path))
    command = [paths.FATHOM, "show", run, "--by", "tree", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    above: list[str] = []
    found: dict[str, int] = {}
    for row in json.loads(done.stdout):
        above[row["depth"] :] = [row["name"]]
        if row["name"] == "write" and above[-2].startswith(f"{wrapper[0]}:{wrapper[1]}"):
            found[above[-3].split()[0]] = row["calls"]
    assert found == {f"{source}:{line}": calls for (source, line), calls in callers.items()}
