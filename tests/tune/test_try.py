"""`fathom tune --try`: what a finding of a real program would have set, set, and proved by counted requests."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import mistakes, needs, paths, tuned


def attempt(
    tmp: Path, name: str, *options: object, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """The guilty program of a finding's test, with these options of `fathom tune`."""
    pair = mistakes.load(mistakes.FOLDER / f"{name}.toml")
    needs.require(needs.of_mpi(pair.mpi) if pair.ranks else [])
    program = mistakes.command(pair, pair.guilty.replace("{tmp}", "{out}"), traced=True)
    done = subprocess.run(
        [str(word) for word in (paths.FATHOM, "tune", *options, "--", *program)], cwd=tmp, text=True,
        env={**os.environ, **mistakes.runner.STACK_ENV, **mistakes.environment(pair, tmp)},
        capture_output=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_a_finding_is_explained_changed_and_proved(tmp_path: Path) -> None:
    (tmp_path / "cost.py").write_text(tuned.COST)
    objective = f"{paths.PYTHON} {tmp_path}/cost.py"
    done = attempt(
        tmp_path, "read-modify-write", "--try", "--objective", objective, "-o", "s", "--json"
    )
    verdict = json.loads(done.stdout)
    # Whole stretches are read and written around the pieces, or the pieces are written.
    assert verdict["verdict"] == "gain" and verdict["compared"]["low"] > 1.5, verdict["sentence"]
    assert verdict["compared"]["p"] < 0.05 and verdict["settings"] == {"romio_ds_write": "disable"}
    settings = tmp_path / "s.tune" / "settings.toml"
    assert verdict["file"] == str(settings) and 'romio_ds_write = "disable"' in settings.read_text()
    said = verdict["prediction"]
    assert said["finding"] == "read-modify-write" and said["low"] <= said["lost"] <= said["high"]
    assert said["inside"] == (said["low"] <= said["seen"] <= said["high"])
    ledger = [paths.FATHOM, "tune", "show", "s"]
    rows = json.loads(subprocess.check_output([*ledger, "--json"], cwd=tmp_path))
    stages = [row["stage"] for row in rows if row["tries"]]
    assert stages == ["look", "default", "search", *["proof"] * 10]
    words = " ".join(subprocess.check_output([*ledger, "--proof"], cwd=tmp_path, text=True).split())
    assert f"finding: read-modify-write predicted {said_seconds(words)} less run time" in words
    shown = [paths.FATHOM, "show", "s.tune/trials/1/run.fathom", "--findings"]
    command = "fathom tune --try read-modify-write -- PROGRAM…"
    page = subprocess.check_output(shown, cwd=tmp_path, text=True)
    assert f"   proof {command}\n" in page
    listed = json.loads(subprocess.check_output([*shown, "--json"], cwd=tmp_path))
    assert {row["finding"]: row["proof"] for row in listed}["read-modify-write"] == command


def said_seconds(words: str) -> str:
    return words.partition("predicted ")[2].partition(" less")[0]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("pair", "finding", "message"),
    [
        ("small-accesses", "few-aggregators", "none of this run's findings; there are small-accesses ("),
        ("small-accesses", "small-accesses", "no setting from outside mends it; in the program: gather them"),
        ("small-accesses", "top", "no finding of this run has a setting from outside; there are small-"),
        ("fill-written.late", "fill-written", "hdf5.fill_time: the file looks different inside: --verify h5diff"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried_is_one_line_and_leaves_nothing(
    tmp_path: Path, pair: str, finding: str, message: str
) -> None:
    done = attempt(tmp_path, pair, "--try", finding, status=2)
    *_, line = done.stderr.splitlines()
    assert line.startswith(f"fathom: tune: --try {finding}: {message}"), done.stderr
    assert not done.stdout and not list(tmp_path.glob("*.tune"))
