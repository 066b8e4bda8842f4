"""Calls of code that was made while the program ran have the function that a map for perf names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import fathom
import pytest
from harness import exports, needs, paths, tables

ROUNDS = 1000

NODE = ("node", "--perf-basic-prof", "--interpreted-frames-native-stack")
#: Methods of these are compiled before their first call, each by itself: what is interpreted has no name.
JAVA = (
    "java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer",
    "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=compileonly,Jit*::*", "-XX:CompileCommand=compileonly,java.util.*::*",
    "-XX:CompileCommand=compileonly,java.io.RandomAccessFile::*",
)  # fmt: skip

#: Of each write its offset, and frames of its path that have a name and are of no file, from inside outwards.
WRITES = """
    with recursive walk as (
        select site, 0 as depth, site as at from calls where op = $op group by site
        union all
        select walk.site, depth + 1, s.caller from walk join sites as s on s.site = walk.at
        where s.caller is not null
    ), path as (
        select walk.site, list([s.frame_source, s.frame_line::text, s.frame_function] order by depth) as frames
        from walk join sites as s on s.site = walk.at where s.module = '' and s.frame_function is not null
        group by walk.site
    )
    select file_offset, coalesce(frames, []), source, line, function, count(*)
    from calls join files using (file) left join path using (site) left join sites using (site)
    where op = $op and path = $path group by all"""


@pytest.fixture(autouse=True)
def no_maps_stay(tmp_path: Path) -> Iterator[None]:
    yield
    for copy in tmp_path.glob("run.fathom/streams/*/*.map"):
        Path(f"/tmp/perf-{copy.name.split('.')[0]}.map").unlink()


def writes(run: Path, op: str, out: Path) -> list[list]:
    connection = tables.opened(run)
    return connection.execute(WRITES, {"op": op, "path": str(out)}).fetchall()


def is_part(some: list, of: list) -> bool:
    """Are these among those, in their order?"""
    rest = iter(of)
    return all(one in rest for one in some)


@pytest.mark.parametrize("inlined", [False, True], ids=["each", "inlined"])
def test_javascript_has_the_functions_that_v8_tells(tmp_path: Path, inlined: bool) -> None:
    """Of functions that are compiled into their callers there is no frame."""
    needs.require(["node"])
    options = [] if inlined else ["--no-turbo-inlining"]
    program, out = paths.ROOT / "tests/programs/jit.js", tmp_path / "out"
    run = exports.record(tmp_path, "--", *NODE, *options, program, out, ROUNDS)
    stacks = json.loads(Path(f"{out}.json").read_text())
    rows = writes(run, "pwrite", out)
    assert {offset for offset, *_ in rows} == set(range(len(stacks)))
    alike = 0
    for offset, frames, source, line, function, calls in rows:
        told = [[file, int(number), name] for file, number, name in frames if file == str(program)]
        assert is_part(told, stacks[offset]), (told, stacks[offset])
        if told:
            assert [source, line, function] == told[0]
        alike += calls if told == stacks[offset] else 0
    total = sum(calls for *_, calls in rows)
    assert total == 18 * ROUNDS
    assert alike > (0.5 if inlined else 0.99) * total, (alike, total)


def test_java_has_the_methods_that_it_tells(tmp_path: Path) -> None:
    needs.require(["java"])
    program, out = paths.ROOT / "tests/programs/Jit.java", tmp_path / "out"
    run = exports.record(tmp_path, "--", *JAVA, program, out, ROUNDS)
    stacks = json.loads(Path(f"{out}.json").read_text())
    rows = writes(run, "write", out)
    assert {offset for offset, *_ in rows} == set(range(len(stacks)))
    for offset, frames, _, _, function, _ in rows:
        told = [re.sub(r"\(.*", "", name) for _, _, name in frames if name.startswith("Jit")]
        assert told == stacks[offset]
        assert function.split("(")[0] == told[0]
    assert sum(calls for *_, calls in rows) > 9 * ROUNDS


def test_the_map_is_the_run_times_and_not_the_programs(tmp_path: Path) -> None:
    """A program that ends at once, in the middle of what it does, has its functions too; what it reads is its own."""
    needs.require(["node"])
    (tmp_path / "in").write_bytes(bytes(8192))
    program = tmp_path / "ends.js"
    program.write_text(
        'const fs = require("fs");\nfunction load() {\n  fs.readFileSync("in");\n  process.exit(3);\n}\nload();\n'
    )
    run = exports.record(tmp_path, "--", *NODE, program, status=3)
    found = fathom.open(run)
    lines = "select distinct source, line, function from calls join files using (file) join sites using (site)"
    assert found.sql(f"{lines} where path = '{tmp_path}/in' and op = 'read'").to_pylist() == [
        {"source": str(program), "line": 2, "function": "load"}
    ]
    seen = found.sql("select path from files where not runtime and kind = 'regular'")["path"]
    assert set(seen.to_pylist()) == {str(program), f"{tmp_path}/in"}
