"""fathom.h in every kind of program that a compiler makes; what regions cost; regions of the killed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import needs, paths, tables

HEADER = paths.ROOT / "runtime" / "user"
SOURCES = paths.TESTS / "programs" / "user"
MANY = paths.PROGRAMS / "programs" / "many_regions"

#: How a program may be compiled and linked.
KINDS = {
    "pie": ["-fPIE", "-pie"],
    "not-pie": ["-fno-pie", "-no-pie"],
    "no-plt": ["-fno-plt", "-fPIE", "-pie", "-Wl,-z,now,-z,relro"],
    "unused-sections-left-out": ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
    "link-time-optimisation": ["-flto=auto", "-O3"],
    "hidden-and-stripped": ["-fvisibility=hidden", "-s"],
    "gold": ["-fuse-ld=gold"],
}
WANTED = [
    ["", "outer"],
    ["outer", "other file"],
    ["other file", "pwrite"],
    ["outer", "inner"],
    ["inner", "pwrite"],
    ["outer", "caught"],
    ["", "in a library"],
    ["in a library", "pwrite"],
]
PARENTS = """
    select coalesce(p.op, ''), c.op from calls c left join calls p on c.parent = p.id
    where c.layer = 'user' or c.op = 'pwrite' order by c.start"""


def build(out: Path, *flags: str) -> Path:
    """A program of a C++ and a C file; no library of Fathom's is named."""
    needs.require(["g++"])
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER}", "-O2", *flags]
    part, plus = out.with_suffix(".part.o"), out.with_suffix(".plus.o")
    c_file = ["gcc", "-std=c99", "-D_GNU_SOURCE", *strict, "-c", SOURCES / "part.c", "-o", part]
    subprocess.run(c_file, check=True)
    subprocess.run(
        ["g++", "-std=c++11", *strict, "-c", SOURCES / "plus.cc", "-o", plus], check=True
    )
    subprocess.run(["g++", *strict, plus, part, "-o", out], check=True)
    return out


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("library") / "libpart.so"
    flags = ["-shared", "-fPIC", "-D_GNU_SOURCE", "-DA_LIBRARY", f"-I{HEADER}", "-O2"]
    subprocess.run(["gcc", *flags, SOURCES / "part.c", "-o", out], check=True)
    return out


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
def test_regions_in_every_kind_of_program(kind: str, library: Path, tmp_path: Path) -> None:
    program = build(tmp_path / "plus", *KINDS[kind])
    alone = run(program, tmp_path / "f", library)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "done\n", "")
    out = tmp_path / "run.fathom"
    traced = run(
        paths.FATHOM, "run", "--no-show", "-o", out, "--", program, tmp_path / "f", library
    )
    assert (traced.returncode, traced.stdout) == (0, "done\n")
    assert tables.ask(tables.connect(out), PARENTS) == WANTED


@pytest.mark.parametrize("flags", [["-static"], ["-DFATHOM_OFF"]])
def test_where_fathom_is_not_the_header_does_nothing(flags: list[str], tmp_path: Path) -> None:
    program = build(tmp_path / "plus", *flags)
    out = tmp_path / "run.fathom"
    done = run(paths.FATHOM, "run", "--no-show", "-o", out, "--", program, tmp_path / "f")
    assert (done.returncode, done.stdout) == (0, "done\n")
    asked = "select count(*) from calls where layer = 'user'"
    assert tables.ask(tables.connect(out), asked) == [[0]]


def test_the_layer_can_be_left_out(tmp_path: Path) -> None:
    out = tmp_path / "run.fathom"
    words = ["run", "--no-show", "--layers", "posix", "-o", out, "--", MANY, 100]
    assert run(paths.FATHOM, *words).stdout == "done\n"
    asked = "select count(*) from calls where layer = 'user'"
    assert tables.ask(tables.connect(out), asked) == [[0]]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_line_of_a_call_in_a_region_is_the_user_s(level: str, tmp_path: Path) -> None:
    """Not one of fathom.h."""
    (tmp_path / "steps.c").write_text("""
        #include <fathom.h>
        #include <fcntl.h>
        #include <unistd.h>
        static char block[1 << 16];
        int main(void)
        {
            int fd = open("data", O_CREAT | O_RDWR, 0644);
            fathom_begin_int("step", "number", 3);
            for (int i = 0; i < 50; i++)
                pwrite(fd, block, sizeof(block), (long)i << 16);
            fathom_end("step");
            return 0;
        }""")
    words = ["gcc", "-g", level, f"-I{HEADER}", tmp_path / "steps.c", "-o", tmp_path / "steps"]
    assert run(*words).returncode == 0
    recorded = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "r", "--"]
    assert run("env", "-C", tmp_path, *recorded, "./steps").returncode == 0
    page = run(paths.FATHOM, "show", tmp_path / "r").stdout
    assert re.search(r"Which line\? +steps\.c:11 main\(\) in region step.*: pwrite", page), page
    lines = run(paths.FATHOM, "show", tmp_path / "r", "--by", "line").stdout
    assert "steps.c:11" in lines and "fathom.h" not in lines


def test_a_million_regions(tmp_path: Path) -> None:
    """All are there, and take no more room than any other call (DESIGN: 6 bytes)."""
    out = tmp_path / "run.fathom"
    count = 1_000_000
    done = run(paths.FATHOM, "run", "--no-show", "-o", out, "--", MANY, count)
    assert done.stdout == "done\n"
    connection = tables.connect(out)
    asked = """
        select count(*), count(distinct value), min(value), max(value), count(distinct parent)
        from calls c join args a on a.call = c.id where op = 'step' and state = 'done'"""
    assert tables.ask(connection, asked) == [[count, count, 0, count - 1, 1]]
    ((size,),) = tables.ask(connection, "select stream_bytes from runs")
    assert size / count < 6


def test_regions_of_the_killed_are_unfinished(tmp_path: Path) -> None:
    out = tmp_path / "run.fathom"
    done = run(paths.FATHOM, "run", "--no-show", "-o", out, "--", MANY, 1000, "kill")
    assert done.returncode == -9
    asked = "select op, state, count(*) from calls where layer = 'user' group by all order by 1"
    assert tables.ask(tables.connect(out), asked) == [
        ["all", "unfinished", 1],
        ["step", "done", 1000],
    ]


def test_more_names_than_fit_are_still_regions(tmp_path: Path) -> None:
    """Names that find no room share one; nothing is dropped."""
    program = tmp_path / "names.c"
    program.write_text("""
#include <fathom.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 2000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "name %d", i);
		fathom_begin(name);
		fathom_end(name);
	}
}
""")
    subprocess.run(["gcc", f"-I{HEADER}", program, "-o", tmp_path / "names"], check=True)
    out = tmp_path / "run.fathom"
    run(paths.FATHOM, "run", "--no-show", "-o", out, "--", tmp_path / "names")
    connection = tables.connect(out)
    asked = """
        select count(*), count(distinct op) > 400, bool_or(op = '(other regions)')
        from calls where layer = 'user' and state = 'done'"""
    assert tables.ask(connection, asked) == [[2000, True, True]]
    asked = "select count(*) from marks where detail like 'fathom.h: more than%'"
    assert tables.ask(connection, asked) == [[1]]


def test_python_pays_for_regions_only_where_it_is_traced() -> None:
    """`import fathom` brings no heavy package, and not even ctypes before the first region."""
    code = (
        "import sys, fathom; print(sorted({'ctypes','duckdb','pyarrow','rich'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT / "python")}
    done = subprocess.run(
        [paths.PYTHON, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["regions.c", "regions.f90", "regions.py"])
def test_the_examples_do_as_they_say(name: str, tmp_path: Path) -> None:
    source = paths.ROOT / "examples" / name
    program: list[object] = [tmp_path / "regions"]
    if name.endswith(".c"):
        subprocess.run(["gcc", f"-I{HEADER}", source, "-o", program[0]], check=True)
    elif name.endswith(".f90"):
        needs.require(["gfortran"])
        flags = ["-O2", f"-J{tmp_path}", HEADER / "fathom.f90"]
        subprocess.run(["gfortran", *flags, source, "-o", program[0]], check=True)
    else:
        program = [paths.PYTHON, source]
    out = tmp_path / "run.fathom"
    words = [str(w) for w in (paths.FATHOM, "run", "--no-show", "-o", out, "--", *program)]
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT / "python")}
    subprocess.run(words, cwd=tmp_path, env=env, check=True, timeout=300)
    asked = """
        select p.op, c.op, count(*) from calls c join calls p on c.parent = p.id
        where c.op = 'checkpoint' group by all"""
    assert tables.ask(tables.connect(out), asked) == [["step", "checkpoint", 4]]
