"""fathom.record and %%fathom: a block of a process that nobody started under Fathom, recorded by the process itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fathom
import pytest
from harness import needs, paths

BEGIN = "import fathom, json, os, sys\n"


def python(place: Path, script: str, *before: object) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    words = [*map(str, before), sys.executable, "-c", BEGIN + script]
    return subprocess.run(
        words, cwd=place, capture_output=True, text=True, timeout=300, check=False
    )


def works(place: Path, script: str, *before: object) -> str:
    """The same; what it prints."""
    done = python(place, script, *before)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(run: Path, select: str) -> list[dict[str, Any]]:
    return list(fathom.open(run).sql(select).to_pylist())


def calls(run: Path) -> list[list[Any]]:
    """Each call of the process, and what it moved."""
    table = rows(run, "select op, bytes from calls where layer = 'posix' order by start, id")
    return [[row["op"], row["bytes"]] for row in table]


def test_a_block_has_its_calls_and_no_others(tmp_path: Path) -> None:
    script = """
sizes = [1, 4096, 70000, 123457]
before, inside, after = (os.open(n, os.O_WRONLY | os.O_CREAT) for n in ("before", "inside", "after"))
os.write(before, b"x" * 11)
with fathom.record("x") as recording:
    for size in sizes:
        os.write(inside, b"x" * size)
    os.pread(os.open("inside", os.O_RDONLY), 500, 100)
os.write(after, b"x" * 13)
print(json.dumps([recording.run.calls(kind="write")["bytes"].to_pylist(), os.path.getsize("inside")]))
"""
    moved, size = json.loads(works(tmp_path, script))
    assert moved == [1, 4096, 70000, 123457] and size == sum(moved)
    assert calls(tmp_path / "x.fathom") == [
        *(["write", size] for size in moved), ["open", None], ["pread", 500],
    ]  # fmt: skip
    manifest = json.loads((tmp_path / "x.fathom" / "run.json").read_text())
    assert manifest["start_ns"] < manifest["end_ns"]
    assert not Path(manifest["configuration"]["ring"]).exists()


def test_every_thread_and_region_is_in_it(tmp_path: Path) -> None:
    script = """
import threading
go, done = threading.Event(), threading.Event()
out = os.open("f", os.O_WRONLY | os.O_CREAT)
def other():
    go.wait(); os.write(out, b"x" * 1000); done.set()
thread = threading.Thread(target=other); thread.start()
with fathom.region("nobody listens"): pass
with fathom.record("x"):
    with fathom.region("save", step=3):
        os.write(out, b"x" * 10)
    go.set(); done.wait()
with fathom.region("nobody listens"): pass
thread.join()
"""
    works(tmp_path, script)
    assert sorted(calls(tmp_path / "x.fathom")) == [["write", 10], ["write", 1000]]
    regions = rows(tmp_path / "x", "select op from calls where layer = 'user'")
    assert regions == [{"op": "save"}]


def test_threads_at_work_lose_no_call(tmp_path: Path) -> None:
    """Each writes block after block all the time, while recording begins and ends."""
    script = """
import threading, time
stop, written = threading.Event(), [0, 0]
def write(which):
    out = os.open(f"f{which}", os.O_WRONLY | os.O_CREAT)
    while not stop.wait(0.0005):
        os.pwrite(out, b"x" * 64, 64 * written[which])
        written[which] += 1
threads = [threading.Thread(target=write, args=(which,)) for which in (0, 1)]
for thread in threads: thread.start()
for _ in range(4):
    with fathom.record() as one:
        first = list(written)
        while min(written) < max(first) + 50: time.sleep(0.001)
        last = list(written)
    each = "select list(file_offset // 64 order by start) as blocks from calls join files using (file)"
    rows = one.run.sql(each + " where op = 'pwrite' group by path order by path")
    print(json.dumps([first, last, rows["blocks"].to_pylist()]))
stop.set()
"""
    for line in works(tmp_path, script).splitlines():
        for first, last, blocks in zip(*json.loads(line), strict=True):
            assert blocks == list(range(blocks[0], blocks[-1] + 1))
            assert set(range(first + 1, last)) <= set(blocks)  # the first may have been open


def test_an_exception_passes_and_the_run_is_there(tmp_path: Path) -> None:
    script = """
try:
    with fathom.record("x") as recording:
        os.write(os.open("f", os.O_WRONLY | os.O_CREAT), b"x" * 77)
        raise KeyboardInterrupt("mine")
except KeyboardInterrupt as error:
    print(error, recording.run.calls(kind="write")["bytes"].to_pylist())
"""
    assert works(tmp_path, script) == "mine [77]\n"


def test_one_block_after_another_and_what_cannot_be(tmp_path: Path) -> None:
    script = """
def refused(what):
    try:
        what()
    except fathom.errors.FathomError as error:
        print(type(error).__name__, error)
import fathom.errors
first = fathom.record()
refused(lambda: first.run)
for size in (1, 2):
    with fathom.record(level="file") as one:
        os.write(os.open("f", os.O_WRONLY | os.O_CREAT), b"x" * size)
        refused(lambda: one.run)
        refused(lambda: fathom.record("inner").__enter__())
    written = one.run.sql("select bytes_written as n from file_totals() where path like '%/f'")
    print(one.run.name, written["n"].to_pylist())
refused(lambda: one.__enter__())
refused(lambda: fathom.record("block.1").__enter__())
refused(lambda: fathom.record("x", level="cal"))
refused(lambda: fathom.record("x", layers="posx").__enter__())
print(sorted(os.listdir()))
"""
    lines = works(tmp_path, script).replace(f"{tmp_path}/", "").splitlines()
    going = "UsageError record: block.{}.fathom is being recorded; look when the block has ended"
    inner = "FathomError record: this process is recorded already, in block.{}.fathom; fathom.region names a part of it"
    assert lines[:10] == [
        "UsageError record: nothing is recorded yet: `with` the recording",
        going.format(1), inner.format(1), "block.1 [1]",
        going.format(2), inner.format(2), "block.2 [2]",
        "UsageError record: a recording is of one block; make another for this one",
        "FathomError block.1.fathom exists; name another, or remove it",
        "UsageError record: no level 'cal'; is it 'call'?",
    ]  # fmt: skip
    assert "no layer 'posx'; is it 'posix'?" in lines[10]
    assert lines[11] == str(["block.1.fathom", "block.2.fathom", "f"])


def test_a_process_that_is_recorded_goes_on_so(tmp_path: Path) -> None:
    """By `fathom run`: the outer run is whole, and there is no other."""
    script = """
out = os.open("f", os.O_WRONLY | os.O_CREAT)
try:
    with fathom.record("inner"): pass
except fathom.errors.FathomError as error:
    print(error)
os.write(out, b"x" * 321)
"""
    before = (paths.FATHOM, "run", "--no-show", "-o", "outer", "--")
    assert f"already, in {tmp_path}/outer.fathom; fathom.region" in works(tmp_path, script, *before)
    assert not (tmp_path / "inner.fathom").exists()
    assert ["write", 321] in calls(tmp_path / "outer.fathom")


def test_nothing_is_traced_and_nobody_else_is_asked(tmp_path: Path) -> None:
    """No ptrace: also where yama or a container forbids it. Files, layers and settings are those of attach."""
    needs.require(["strace"])
    script = """
with fathom.record("x", files="*.data", layers=["posix", "stdio"]):
    for name in ("a.data", "b.log"):
        os.write(os.open(name, os.O_WRONLY | os.O_CREAT), b"x" * 5)
"""
    works(tmp_path, script, "strace", "-f", "-qq", "-e", "trace=ptrace,prctl,kill", "-o", "log")
    assert "ptrace" not in (tmp_path / "log").read_text()
    written = rows(
        tmp_path / "x", "select path from calls join files using (file) where op = 'write'"
    )
    assert [Path(row["path"]).name for row in written] == ["a.data"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """What cells show in a kernel of Jupyter."""
    needs.require(["python:nbclient", "python:ipykernel"])
    place = tmp_path_factory.mktemp("cells")
    return place, executed(place, CELLS)


CELLS = (
    "%load_ext fathom",
    "%%fathom save\nimport os\nwith open('f', 'wb', buffering=0) as f:\n    for i in range(5):\n"
    "        f.write(b'x' * 70000)\nos.path.getsize('f')",
    "print(_.calls(kind='write', file='f')['bytes'].to_pylist())",
    "%%fathom broken\nopen('f', 'ab').write(b'abc')\n1 / 0",
    "%%fathom\nx = 3",
    "%%fathom --level cal\n1",
    "%%fathom save\n1",
    "%%fathom never\nif 1\n",
    "print(x, sorted(name for name in os.listdir() if 'fathom' in name))",
)


def executed(place: Path, sources: Sequence[str]) -> list[Any]:
    import nbformat
    from nbclient import NotebookClient

    made = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=made)
    where = {"metadata": {"path": str(place)}}
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", allow_errors=True, resources=where
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_cell_is_recorded_and_ends_with_its_page(cells: tuple[Path, list[Any]]) -> None:
    place, (_, recorded, after, *_) = cells
    value, page = recorded
    assert value["data"]["text/plain"] == str(5 * 70000)
    assert page["data"]["text/html"].startswith("<pre><b>save: ")
    assert after[0]["text"] == f"{[70000] * 5}\n"
    assert fathom.open(place / "save")._repr_html_() == page["data"]["text/html"]
    assert str(fathom.open(place / "save")) == page["data"]["text/plain"]


def test_a_cell_that_fails_shows_its_page_and_fails(cells: tuple[Path, list[Any]]) -> None:
    place, (*_, broken, nothing, level, again, syntax, last) = cells
    page, error = broken
    assert page["data"]["text/html"].startswith("<pre><b>broken: ")
    assert error["ename"] == "ZeroDivisionError" and "line 2" in "".join(error["traceback"])
    assert ["write", 3] in calls(place / "broken.fathom")
    assert re.search("(?i)no I/O call was (seen|recorded)", nothing[0]["data"]["text/plain"])
    assert level[0]["text"] == "UsageError: record: no level 'cal'; is it 'call'?\n"
    assert (
        again[0]["text"] == f"UsageError: {place}/save.fathom exists; name another, or remove it\n"
    )
    assert syntax[-1]["ename"] == "SyntaxError"
    assert last[0]["text"] == "3 ['broken.fathom', 'cell.1.fathom', 'save.fathom']\n"
