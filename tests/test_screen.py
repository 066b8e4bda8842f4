"""The first screen of `fathom show`: it fits, on any width from 60 letters up, and says what to change."""

import os
import subprocess
from pathlib import Path

import pytest
from fathom.pages import screen
from harness import paths, wild
from test_import_darshan import sample

#: Lines that begin a block, in the order that a screen has them.
BLOCKS = ("Where ", "I/O the problem?", "What loses time", "Missing: ", "More: ")
LOGS = ("sample-badost.darshan", "ior_hdf5_example.darshan")


def shown(log: Path, cache: Path, width: int, *more: str) -> list[str]:
    done = subprocess.run(
        [paths.FATHOM, "show", log, *more],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": str(width)},
    )
    return done.stdout.splitlines()


def assert_screen(log: Path, cache: Path) -> None:
    for width in (60, 80, 120):
        lines = shown(log, cache, width)
        text = "\n".join(lines)
        assert max(map(len, lines)) <= width, text
        assert width < 80 or len(lines) <= screen.ROWS, text
        assert lines[0].startswith(f"{log.stem}: ")
        begun = [
            next((at for at, line in enumerate(lines) if line.startswith(block)), None)
            for block in BLOCKS
        ]
        told = [at for at in begun if at is not None]
        assert told == sorted(told) and None not in (begun[1], begun[4]), text
        if begun[2] is not None:
            found = [line for line in lines[begun[2] :] if line.lstrip().startswith("do  ")]
            assert 1 <= len(found) <= screen.WORST, text


@pytest.mark.parametrize("name", wild.logs())
def test_of_real_jobs(name: str, tmp_path: Path) -> None:
    assert_screen(wild.log(name), tmp_path)


@pytest.mark.parametrize("name", LOGS)
def test_of_logs_that_come_with_pydarshan(name: str, tmp_path: Path) -> None:
    assert_screen(sample(name), tmp_path)


def test_the_command_that_it_names_prints_every_table(tmp_path: Path) -> None:
    log = sample(LOGS[0])
    first = shown(log, tmp_path, 80)
    (more,) = [line for line in first if line.startswith("More: ")]
    assert "--all" in more
    whole = shown(log, tmp_path, 80, "--all")
    assert len(whole) > 2 * len(first)
    assert any(line.startswith("Functions") for line in whole)
