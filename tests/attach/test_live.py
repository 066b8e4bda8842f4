"""A program that was attached is looked at by its number, while it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import paths

PROGRAM = """
import os, sys
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
print("ready", flush=True)
for line in sys.stdin:
    os.pwrite(out, b"x" * 4096, 0)
    print("done", flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Writes once for each line that it gets."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "out")]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


def writes(program: subprocess.Popen[str], times: int) -> None:
    assert program.stdin
    assert program.stdout
    for _ in range(times):
        program.stdin.write("\n")
        program.stdin.flush()
        program.stdout.readline()


def fathom(place: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (paths.FATHOM, *words)]
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=300, check=False
    )


def test_top_of_an_attached_process(tmp_path: Path, program: subprocess.Popen[str]) -> None:
    before = fathom(tmp_path, "top", program.pid, "--once", "--json")
    assert before.returncode == 3
    assert f"process {program.pid} is not recorded" in before.stderr
    assert before.stderr.count("\n") == 1
    assert fathom(tmp_path, "attach", program.pid, "-o", "run").returncode == 0
    writes(program, 7)
    done = fathom(tmp_path, "top", program.pid, "--once", "--json")
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["calls"] if row["op"] == "pwrite"]
    assert [(row["pid"], row["calls"], row["bytes"]) for row in rows] == [
        (program.pid, 7, 7 * 4096)
    ]
    assert fathom(tmp_path, "detach", program.pid).returncode == 0
    after = fathom(tmp_path, "top", program.pid, "--once", "--json")
    assert after.returncode == 3
    assert after.stderr.count("\n") == 1


def test_top_of_no_process(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    done = fathom(tmp_path, "top", process.pid, "--once")
    assert done.returncode == 3
    assert f"no run and no process {process.pid} here" in done.stderr


def test_top_of_a_process_of_a_run(tmp_path: Path) -> None:
    """One that `fathom run` started, by its own number."""
    script = "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'w')); input()"
    words = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "run", "--"]
    os.mkfifo(tmp_path / "pid")
    process = subprocess.Popen(
        [*map(str, words), sys.executable, "-c", script, str(tmp_path / "pid")],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        pid = (tmp_path / "pid").read_text().strip()
        done = fathom(tmp_path, "top", pid, "--once", "--json")
        assert done.returncode == 0, done.stderr
        assert "open" in [row["op"] for row in json.loads(done.stdout)["calls"]]
    finally:
        process.communicate(b"\n")
    assert process.returncode == 0


def test_hints_of_an_attached_process_stay(tmp_path: Path, program: subprocess.Popen[str]) -> None:
    assert fathom(tmp_path, "attach", program.pid, "-o", "run").returncode == 0
    for what in ("none", "auto"):
        done = fathom(tmp_path, "tune", "--live", program.pid, what)
        assert done.returncode == 3 and done.stderr.count("\n") == 1
        assert (
            "attached one after the other" in done.stderr and "fathom run --tunable" in done.stderr
        )
    assert fathom(tmp_path, "detach", "run").returncode == 0
