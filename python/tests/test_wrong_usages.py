"""What people type wrong: each is one line that says what is wrong and what was meant, with a status that is not 0.

In a folder with the runs `small` (the newest) and `other`, a program `solver` and a text `notes.txt`.
"""

import os
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.run import paths

TABLE = tomllib.loads((Path(__file__).parent / "wrong_usages.toml").read_text(encoding="utf-8"))
WRONG = [(usage, *row) for group in TABLE.values() for usage, row in group.items()]


@pytest.fixture
def folder(run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    other = run_directory.with_name("other.fathom")
    shutil.copytree(run_directory, other)
    os.utime(other / "run.json", (1, 1))
    place = run_directory.parent
    (place / "notes.txt").write_text("notes\n")
    (place / "solver").write_text("#!/bin/sh\n")
    (place / "solver").chmod(0o755)
    monkeypatch.chdir(place)
    return place


def ended(words: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Its status, what it printed, what it said."""
    if words[0] in ("run", "env"):
        done = subprocess.run(
            [paths.native_command(), *words], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr
    status = main(words)
    return status, *capfd.readouterr()


@pytest.mark.parametrize(("usage", "status", "line"), WRONG, ids=[one[0] for one in WRONG])
def test_each_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], usage: str, status: int, line: str
) -> None:
    before = sorted(folder.iterdir())
    assert ended(shlex.split(usage), capfd) == (status, "", f"fathom: {line}\n")
    assert sorted(folder.iterdir()) == before


def test_they_are_many_and_of_every_command() -> None:
    assert len(WRONG) >= 40
    assert all(status for _, status, _ in WRONG)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("query --schema --csv", "small"),
        ("query throughput", "small"),
        ("query other --schema", None),
        ("patterns", "small"),
        ("pack", "small"),
    ],
)
def test_a_run_left_out_is_the_newest(
    capfd: pytest.CaptureFixture[str], words: str, named: str | None
) -> None:
    """It is named in one line."""
    main(shlex.split(words))
    first = capfd.readouterr().err.partition("\n")[0]
    assert first == (f"fathom: {named}.fathom, the newest run here" if named else "")


def test_a_run_that_was_read_last_is_not_the_newest(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Reading it writes its run.json."""
    for run, second in (("other", 1), ("small", 2)):
        (folder / f"{run}.fathom" / "streams").mkdir()
        os.utime(folder / f"{run}.fathom" / "streams", (second, second))
    os.utime(folder / "other.fathom" / "run.json")
    main(["pack", "--recover"])
    assert capfd.readouterr().err.startswith("fathom: small.fathom, the newest run here\n")


def test_no_newest_run(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is here; two were made at one moment: neither is taken."""
    for run in ("small", "other"):
        os.utime(folder / f"{run}.fathom" / "run.json", ns=(5, 5))
    assert main(["patterns"]) == 3
    says = "fathom: which run? other.fathom and small.fathom are of one moment; name one\n"
    assert capfd.readouterr().err == says
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder / "empty")
    assert main(["patterns"]) == 3
    says = "which run? There is none here; name one, or record one: fathom run -- PROGRAM"
    assert capfd.readouterr().err == f"fathom: {says}\n"
    assert main(["patterns", "gone"]) == 3
    assert capfd.readouterr().err == "fathom: gone: there is no such run directory\n"


def test_at_most_five_runs_are_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(8):
        shutil.copytree(folder / "small.fathom", folder / f"s3d.{number}.fathom")
    (folder / "job.darshan").touch()
    assert main(["patterns", "s3d.33"]) == 3
    listed = capfd.readouterr().err.partition("runs here: ")[2].strip().split(", ")
    assert listed[0] == "s3d.3" and len(listed) == 6 and listed[-1] == "…"
    assert main(["patterns", "jbo.darshan"]) == 3
    assert "runs here: job.darshan, " in capfd.readouterr().err
