"""At level job nothing refers to a file, so its name is not written; who is killed leaves the names all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from harness import paths

MANY = """
import os, sys
folder = sys.argv[1]
for number in range(5000):
    with open(f"{folder}/planted.{number}", "w") as file:
        file.write("x")
"""
#: Reads what nobody writes, and says so on standard output first.
WAITS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print("reads", flush=True)
os.read(fd, 1)
"""
MOST = 16 << 10  # bytes of a stream: functions, their sums, the process


def command(run: Path, *words: object) -> list[str]:
    return [str(word) for word in (paths.FATHOM, "run", "--no-show", "-o", run, *words)]


def asked(run: Path, sql: str) -> str:
    words = [paths.FATHOM, "query", run, "--csv", "--sql", sql]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return done.stdout


def test_names_are_not_written_and_sums_are_the_same(tmp_path: Path) -> None:
    sums = {}
    for level in ("job", "file"):
        data = tmp_path / level
        data.mkdir()
        program = [sys.executable, "-S", "-E", "-c", MANY, data]
        subprocess.run(command(data / "run", "--level", level, "--", *program), check=True)
        streams = b"".join(one.read_bytes() for one in data.glob("run.fathom/streams/*/*.fts"))
        assert (b"planted.17" in streams) == (level == "file")
        sums[level] = asked(
            data / "run.fathom",
            "select layer, op, sum(calls), sum(bytes) from counters where op = 'write' group by all",
        )
        if level == "job":
            assert len(streams) < MOST
    assert sums["job"] == sums["file"]


def test_a_killed_process_leaves_the_name_of_what_it_read(tmp_path: Path) -> None:
    pipe = tmp_path / "planted.pipe"
    subprocess.run(["mkfifo", pipe], check=True)
    end = os.open(pipe, os.O_RDWR)
    run = tmp_path / "run"
    words = command(run, "--level", "job", "--", sys.executable, "-S", "-E", "-c", WAITS, pipe)
    started = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout and started.stdout.readline() == "reads\n"
        reader = subprocess.run(
            ["pgrep", "-P", str(started.pid)], capture_output=True, text=True, check=True
        )
        for pid in reader.stdout.split():
            subprocess.run(["kill", f"-{signal.SIGKILL}", pid], check=True)
        started.wait(60)
    finally:
        os.close(end)
    assert str(pipe) in asked(tmp_path / "run.fathom", "select path from files")
