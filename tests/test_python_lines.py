"""Calls of a Python program are given its own lines, in every CPython whose frames we can read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import fathom
import pytest
from harness import exports, needs, paths, runner, tables
from harness.pythons import MINORS, interpreter

ROUNDS = 50
#: Lines of one path that are told, the innermost.
DEEPEST = 16


@pytest.mark.some(3)
@pytest.mark.parametrize("minor", MINORS)
def test_each_call_has_its_line(tmp_path: Path, minor: int) -> None:
    """The program writes at the offset that is its line and its stack, which it looked up itself."""
    program = paths.ROOT / "tests/programs/lines.py"
    run = exports.record(tmp_path, "--", interpreter(minor), program, tmp_path / "out", ROUNDS)
    connection = tables.opened(run)
    [[calls, places, wrong]] = tables.ask(
        connection,
        """
        select count(*), count(distinct source || line), count(*) filter (line is distinct from file_offset % 1000
            or not ends_with(source, case bytes when 1 then 'lines.py' else 'made' || bytes || '.py' end))
        from calls left join sites using (site) where op like 'pwrite%'
        """,
    )
    assert (calls, places, wrong) == (8 * (27 * ROUNDS + 6), 16 + ROUNDS, 0)
    stacks = json.loads((tmp_path / "out.json").read_text())
    paths_of = tables.ask(
        connection,
        """
        with recursive walk as (
            select site, 0 as depth, site as at from calls where op like 'pwrite%' group by site
            union all
            select walk.site, depth + 1, s.caller from walk join sites as s on s.site = walk.at
            where s.caller is not null
        ), path as (
            select walk.site, list([s.source, s.line::text, s.function] order by depth) as lines
            from walk join sites as s on s.site = walk.at group by all
        )
        select distinct file_offset // 1000, lines from calls join path using (site) where op like 'pwrite%'
        """,
    )
    assert {number for number, _ in paths_of} == set(range(len(stacks)))
    for number, lines in paths_of:
        told = [[file, int(line), function] for file, line, function in lines]
        assert told == stacks[number][:DEEPEST], number


#: Line 3 writes by a package, line 5 by Python's own library, line 8 in a thread that Python starts.
LAYERS = """import h5py, os, pathlib, threading
with h5py.File("a.h5", "w") as file:
    file["x"] = range(10)

pathlib.Path("b").write_text("text")
descriptor = os.open("c", os.O_WRONLY | os.O_CREAT)
def save():
    os.write(descriptor, b"x")
thread = threading.Thread(target=save)
thread.start()
thread.join()
"""


def test_it_is_the_users_line_and_not_the_librarys(tmp_path: Path) -> None:
    program = tmp_path / "layers.py"
    program.write_text(LAYERS)
    connection = tables.opened(exports.record(tmp_path, "--", sys.executable, program))
    for op, path, line in (
        ("H5Dwrite", "a.h5", 3),
        ("write", "b", 5),
        ("write", "c", 8),
    ):
        found = tables.ask(
            connection,
            f"select distinct s.source, s.line from calls join files using (file) join sites as s using (site)"
            f" where op like '{op}' and ends_with(path, '/{path}')",
        )
        assert found == [[str(program), line]], op


#: Writes by a library of the program's own, whose functions have lines, and by a package.
NATIVE = """import ctypes, h5py, os
library = ctypes.CDLL(os.path.abspath("put.so"))
def store(file, step):
    file["x"][step] = step
def save(file):
    library.put(file.fileno())
with h5py.File("a.h5", "w") as file:
    file.create_dataset("x", (4, 4), dtype="f8")
    for step in range(4):
        store(file, step)
    file.flush()
with open("b", "wb") as file:
    for _ in range(3):
        save(file)
"""
PUT = """#include <unistd.h>
static __attribute__((noinline)) int inner(int file)
{
	return pwrite(file, "x", 1, 0) == 1;
}
int put(int file)
{
	return inner(file) + 1;
}
"""


def traced(program: Path) -> list[list[tuple[str, int]]]:
    """Of each pwrite64 as strace unwinds it: library and offset of what lies between Python and the C library."""
    words = ["strace", "-k", "-e", "trace=pwrite64", "-o", "traced", sys.executable, str(program)]
    subprocess.run(words, cwd=program.parent, env=os.environ | runner.STACK_ENV, check=True)
    text = (program.parent / "traced").read_text()
    frames = (
        re.findall(r"^ > (.*?)\(.*\) \[0x([0-9a-f]+)\]", call, re.M)
        for call in re.split(r"^(?! > )", text, flags=re.M)
        if call.startswith("pwrite64")
    )
    native = (
        takewhile(lambda frame: not Path(frame[0]).name.startswith(("libpython", "python")), path)
        for path in frames
    )
    return [
        [
            (os.path.realpath(name), int(at, 16))
            for name, at in path
            if not re.search(r"/libc[.-]", name)
        ]
        for path in native
    ]


def test_native_functions_stand_between_line_and_call(tmp_path: Path) -> None:
    needs.require(["gcc", "strace", "python:h5py"])
    program = tmp_path / "native.py"
    program.write_text(NATIVE)
    (tmp_path / "put.c").write_text(PUT)
    build = ["gcc", "-g", "-O2", "-shared", "-fPIC", "-o", "put.so", "put.c"]
    subprocess.run(build, cwd=tmp_path, check=True)
    expected = traced(program)
    found = fathom.open(
        exports.record(tmp_path, "--paths", "--layers", "posix", "--", sys.executable, program)
    )
    calls = found.sql(
        "select site, source, line from calls join sites using (site) where op like 'pwrite%' order by start"
    )
    sites = {row["site"]: row for row in found.sql("from sites").to_pylist()}
    assert len(calls) == len(expected)
    for call, path in zip(calls.to_pylist(), expected, strict=True):
        frames, at = [], call["site"]
        while at is not None:
            frames.append(sites[at])
            at = sites[at]["caller"]
        native = [
            (os.path.realpath(row["module"]), row["address"]) for row in frames if row["module"]
        ]
        script = [row["frame_line"] for row in frames if not row["module"]]
        assert native == path[: len(native)]
        assert len(native) == min(len(path), 25)
        assert [bool(row["module"]) for row in frames] == [True] * len(native) + [False] * len(
            script
        )
        assert script in ([4, 10], [8], [11], [7], [6, 14])
        own = ("put.c", 4) if script[0] == 6 else ("native.py", script[0])
        assert (Path(call["source"]).name, call["line"]) == own
