"""Calls of a Python program are given its own lines, in every CPython whose frames we can read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from harness import exports, paths, tables
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
