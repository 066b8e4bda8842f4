"""How much `fathom show`, `query`, `report` and `collect` of a run ask: in statements as DuckDB logs them, in modules,
and in rounds of Python's collector of circles. To plan a statement takes a millisecond and more; a second answer to the
same question is for nothing. Beside other work more is found, and asked: 230 statements of `show` were seen on a quiet
machine, 702 of `report`, 244 of `collect`, and up to a tenth more beside other work.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import paths

#: Reads and writes of ten files in small pieces, as a script does.
PROGRAM = """
import os, sys
for file in range(10):
    with open(f"{sys.argv[1]}/{file}", "w+b", buffering=0) as stream:
        for _ in range(int(sys.argv[2]) // 20):
            stream.write(bytes(4096))
        os.lseek(stream.fileno(), 0, os.SEEK_SET)
        while stream.read(4096):
            pass
"""
COUNTS = """
import gc, json, sys
import duckdb

opened, connect = [], duckdb.connect


def logged(*words, **more):
    opened.append(connect(*words, **more))
    opened[-1].execute("call enable_logging('QueryLog')")
    return opened[-1]


duckdb.connect = logged
from fathom.__main__ import main

before = gc.get_stats()
status = main(sys.argv[2:])
asked = "select count(*) from duckdb_logs where type = 'QueryLog'"
counts = {
    "statements": sum(one.cursor().execute(asked).fetchone()[0] for one in opened),
    "modules": len(sys.modules),
    "rounds": sum(now["collections"] - one["collections"] for now, one in zip(gc.get_stats(), before)),
}
print(json.dumps(counts), file=open(sys.argv[1], "w"))
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("command", "calls", "is_kept", "most"),
    [
        (["show"], 30_000, False, {"statements": 255, "modules": 335, "rounds": 10}),
        (["show"], 30_000, True, {"statements": 0, "modules": 255, "rounds": 10}),
        (
            ["query", "--sql", "from runs"],
            30_000,
            True,
            {"statements": 50, "modules": 305, "rounds": 10},
        ),
        (
            ["report", "-o", "report.html"],
            15_000,
            False,
            {"statements": 775, "modules": 640, "rounds": 10},
        ),
        (
            ["collect", "--into", "lake"],
            30_000,
            False,
            {"statements": 268, "modules": 425, "rounds": 10},
        ),
    ],
    ids=["show", "show again", "query", "report", "collect"],
)
def test_what_is_asked_once_is_not_asked_again(
    tmp_path: Path, command: list[str], calls: int, is_kept: bool, most: dict[str, int]
) -> None:
    (tmp_path / "data").mkdir()
    run = tmp_path / "run.fathom"
    program = [sys.executable, "-c", PROGRAM, tmp_path / "data", str(calls)]
    recorded = [paths.FATHOM, "run", "--no-show", "-o", run, "--", *program]
    for words in (recorded, [paths.FATHOM, "pack", run]):
        subprocess.run(words, check=True, capture_output=True, timeout=300)
    for folder in () if is_kept else ("screens", "findings"):  # what packing has worked out
        shutil.rmtree(run / "tables" / folder, ignore_errors=True)
    counted = [sys.executable, "-c", COUNTS, tmp_path / "counts", command[0], run, *command[1:]]
    subprocess.run(counted, check=True, stdout=subprocess.DEVNULL, timeout=300, cwd=tmp_path)
    counts = json.loads((tmp_path / "counts").read_text())
    assert {name: count for name, count in counts.items() if count > most[name]} == {}
