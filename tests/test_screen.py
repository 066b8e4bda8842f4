"""The first screen of `fathom show`: it fits, on any width from 60 letters up, and says what to change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fathom.pages import findings, screen
from harness import golden, paths, wild
from test_import_darshan import sample

#: Lines that begin a block, in the order that a screen has them.
BLOCKS = ("Where ", "I/O the problem?", "What loses time", "Missing: ", "More: ")
LOGS = ("sample-badost.darshan", "ior_hdf5_example.darshan")


def shown(log: Path, cache: Path, width: int, *more: str) -> list[str]:
    return golden.printed("show", log, *more, folder=cache, COLUMNS=str(width)).splitlines()


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
        # With a question mark it says why nothing is found.
        if begun[2] is not None and not lines[begun[2]].startswith("What loses time?"):
            found = [line for line in lines[begun[2] :] if line.lstrip().startswith("do  ")]
            assert 1 <= len(found) <= findings.WORST, text


@pytest.mark.parametrize("name", wild.cases(but=golden.NAMES))
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


SHOWS = """
import sys
from fathom.__main__ import main
main(["show", sys.argv[1]])
print(*sys.modules, file=sys.stderr)
"""


def reads_tables(run: Path, cache: Path, width: int) -> bool:
    """Does `show` load what reads them?"""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": str(width)}
    words = [sys.executable, "-c", SHOWS, str(run)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines() == shown(run, cache, width)
    return bool({"duckdb", "pyarrow", "numpy", "rich"} & set(done.stderr.split()))


def test_who_looks_again_loads_neither_duckdb_nor_arrow(tmp_path: Path) -> None:
    """What the screen says is kept beside the tables, for each width, for as long as they are the same."""
    log = sample(LOGS[0])
    assert reads_tables(log, tmp_path, 80)
    assert not any(reads_tables(log, tmp_path, width) for width in (60, 80, 120))
    (run,) = tmp_path.glob("fathom/imported/*/*/*.fathom")
    assert len(list((run / "tables" / "screens").iterdir())) == 1
    os.utime(run / "run.json", (0, 0))
    assert reads_tables(log, tmp_path, 80)
    assert not reads_tables(log, tmp_path, 80)


def test_who_looks_at_a_packed_run_loads_neither(tmp_path: Path) -> None:
    """Packing works out what the screen says, as it is what is asked next."""
    run = tmp_path / "x.fathom"
    write = "import os, sys; os.write(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), b'x')"
    program = [sys.executable, "-c", write, tmp_path / "file"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}  # where the seal is of who did
    for words in (["run", "--no-show", "-o", run, "--", *program], ["pack", run]):
        subprocess.run([paths.FATHOM, *words], check=True, capture_output=True, timeout=60, env=env)
    assert not reads_tables(run, tmp_path, 80)
