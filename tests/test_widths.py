"""What a terminal shows of a run is never wider than the terminal, and a row keeps what tells it from the others."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.pages.sections import NAMES
from harness import paths
from test_import_darshan import sample

WIDTHS = (60, 80, 120)
#: One process that starts another; both read and write.
JOB = """
import subprocess, sys
with open("out.bin", "wb", 0) as file:
    for _ in range(300):
        file.write(bytes(100))
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "worker"], check=True)
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(words: list[str], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Both streams' lines, without colours."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        main(words)
    return re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()


def assert_fits(
    words: list[str], monkeypatch: pytest.MonkeyPatch, widths: tuple[int, ...] = WIDTHS
) -> None:
    for width in widths:
        wide = [line for line in printed(words, width, monkeypatch) if len(line) > width]
        assert not wide, (width, words, wide)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Several processes without ranks."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "job.py").write_text(JOB)
    command = [paths.FATHOM, "run", "--no-show", "-o", "job", "--", sys.executable, "job.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return str(folder / "job.fathom")


@pytest.fixture(scope="module")
def log() -> str:
    return str(sample("ior_hdf5_example.darshan"))


ALL = [["--by", name] for name in NAMES] + [[], ["--all"], ["--findings"], ["--on", "lustre"]]


@pytest.mark.some(15)
@pytest.mark.parametrize("options", ALL, ids=lambda words: " ".join(words) or "screen")
def test_of_one_run(
    options: list[str], job: str, log: str, recorded_chombo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_fits(["show", str(recorded_chombo), *options], monkeypatch)
    for run in (job, log):
        assert_fits(["show", run, *options], monkeypatch, WIDTHS[:1])


def test_numbers_and_where_they_are_from(
    job: str, recorded_chombo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in (job, str(recorded_chombo)):
        assert_fits(["explain", run], monkeypatch)


def test_of_several_runs(
    job: str, log: str, recorded_chombo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [job, log, str(recorded_chombo)]
    assert_fits(["diff", runs[0], runs[1]], monkeypatch)
    assert_fits(["diff", runs[2], runs[1]], monkeypatch)
    for more in ([], ["--by", "lost"], ["--baseline", job], ["--interference"]):
        assert_fits(["landscape", *runs, *more], monkeypatch)


def test_processes_without_ranks_are_told_apart(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in WIDTHS:
        heading, *rows = printed(["show", job, "--by", "rank"], width, monkeypatch)
        assert heading.split()[:2] == ["process", "parent"]
        parents = dict(row.split()[:2] for row in rows if "job.py" in row)
        assert len(parents) > 1
        assert sorted(parent in parents for parent in parents.values())[:2] == [False, True]
        assert [parent for parent in parents.values() if parent not in parents] == ["-"]
    whole = "\n".join(printed(["diff", job, job], 80, monkeypatch))
    assert "I/O, mean of the processes" in whole and "\nProcesses (" in whole
    assert "rank" not in whole.partition("Processes (")[0]


def test_of_differences_the_name_stays(
    job: str, recorded_chombo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(["diff", job, str(recorded_chombo)], 60, monkeypatch)
    for name in ("layer", "function", "process", "file"):
        assert any(line.split()[-1:] == [name] and "change" in line for line in lines), name
