"""Locale, umask, width, threads, directories of odd names: whatever they are, a run and its answers are the same."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from harness import paths

PROGRAM = paths.PROGRAMS / "programs" / "writes"
NAME = "odd $name 'ü\" x"
SURROUNDINGS = {
    "german": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "c": {"LC_ALL": "C", "LANG": ""},
    "threads": {"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"},
    "terminal": {"TERM": "xterm-256color", "COLUMNS": "40", "LINES": "5"},
    "home": {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"},
    "temporary": {"TMPDIR": NAME},
}
QUESTION = """select op, count(*) as calls, sum(bytes)::bigint as bytes, min(file_offset) as first from calls
    where op in ('open', 'pwrite') and layer = 'posix' group by op order by op"""


def answers(place: Path, env: dict[str, str], umask: int = 0o022) -> list[str]:
    """What the commands print of a run that is made there."""
    place.mkdir()
    if "TMPDIR" in env:
        env = env | {"TMPDIR": str(place / env["TMPDIR"])}
        Path(env["TMPDIR"]).mkdir()
    outputs = []
    for words in (
        ["run", "--no-show", "-o", "r", "--", str(PROGRAM), "data", "1000", "8", "exit"],
        ["query", "r", "--sql", QUESTION],
        ["show", "r", "--by", "file", "--csv"],
        ["patterns", "r"],
        ["replay", "r", "--emit-c", "again.c"],
    ):
        done = subprocess.run(
            [str(paths.FATHOM), *words], cwd=place, env=os.environ | env, umask=umask,
            capture_output=True, text=True, encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == (7 if words[0] == "run" else 0), done.stderr
        outputs.append(f"{words[0]}: {done.stdout}\n{done.stderr}".replace(str(place), "PLACE"))
    return [*without_times(outputs), (place / "again.c").read_text()]


def without_times(outputs: list[str]) -> list[str]:
    """When calls came and how long they took differs; what is counted does not."""
    comparable = [
        text for text in outputs if text.startswith(("query: ", "patterns: ", "replay: "))
    ]
    return [re.sub(r"^I/O occurs: .*$", "", text, flags=re.M) for text in comparable]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return answers(tmp_path_factory.mktemp("usual") / "place", {})


@pytest.mark.some(3)
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_odd_surroundings_change_no_answer(tmp_path: Path, usual: list[str], name: str) -> None:
    assert answers(tmp_path / "place", SURROUNDINGS[name]) == usual


def test_a_strict_umask_is_kept_and_changes_no_answer(tmp_path: Path, usual: list[str]) -> None:
    assert answers(tmp_path / "place", {}, umask=0o077) == usual
    for path in (tmp_path / "place/r.fathom").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
