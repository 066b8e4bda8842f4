"""How much `fathom show`, `fathom report` and `fathom collect` of a run ask: in statements as DuckDB logs them, in
modules, and in rounds of Python's collector of circles. To plan a statement takes a millisecond and more; a second
answer to the same question is for nothing. Beside other work more is found, and asked: 232 statements of `show` were
seen on a quiet machine, 710 of `report`, 240 of `collect`, and up to a tenth more beside other work.
"""

from __future__ import annotations

import json
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
    ("command", "calls", "most"),
    [
        (["show"], 30_000, {"statements": 260, "modules": 400, "rounds": 10}),
        (
            ["report", "-o", "report.html"],
            15_000,
            {"statements": 785, "modules": 650, "rounds": 10},
        ),
        (["collect", "--into", "lake"], 30_000, {"statements": 265, "modules": 430, "rounds": 10}),
    ],
    ids=["show", "report", "collect"],
)
def test_what_is_asked_once_is_not_asked_again(
    tmp_path: Path, command: list[str], calls: int, most: dict[str, int]
) -> None:
    (tmp_path / "data").mkdir()
    run = tmp_path / "run.fathom"
    program = [sys.executable, "-c", PROGRAM, tmp_path / "data", str(calls)]
    recorded = [paths.FATHOM, "run", "--no-show", "-o", run, "--", *program]
    for words in (recorded, [paths.FATHOM, "pack", run]):
        subprocess.run(words, check=True, capture_output=True, timeout=300)
    counted = [sys.executable, "-c", COUNTS, tmp_path / "counts", *command, run]
    subprocess.run(counted, check=True, stdout=subprocess.DEVNULL, timeout=300, cwd=tmp_path)
    counts = json.loads((tmp_path / "counts").read_text())
    assert {name: count for name, count in counts.items() if count > most[name]} == {}
