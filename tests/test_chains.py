"""A script whose commands run one after another: their seconds of I/O are the run's."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import fathom
import pytest
from fathom.analysis import account, findings, limits
from harness import needs, paths

# Beside the loop one command that lasts as long as it does, as a script's logger may.
SCRIPT = """
cd {place}
sleep 60 < /dev/null & beside=$!
for i in 1 2 3 4 5 6 7 8; do
    dd if=/dev/zero of=data.$i bs=4k count=50 oflag=dsync
    cat data.$i > copy.$i
done
kill $beside
"""
COMMANDS = 16


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fathom.Run:
    place = tmp_path_factory.mktemp("chain")
    script = place / "script"
    script.write_text(SCRIPT.format(place=place))
    words = [paths.FATHOM, "run", "--no-show", "-o", place / "run", "--", "bash", script]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=300)
    return fathom.open(place / "run.fathom")


def test_the_bar_and_the_finding_are_of_all_of_them(run: fathom.Run) -> None:
    found = findings.find(run, findings.rules())
    slowest = found.bar.slowest
    assert slowest and slowest.in_turn == COMMANDS
    (took,) = run.sql(
        "select sum(duration) / 1e9 as all, sum(duration) filter (path like '%/data.%') / 1e9 as data"
        " from calls join files using (file) where parent is null and files.kind = 'regular'"
    ).to_pylist()
    assert slowest.seconds == pytest.approx(took["all"], rel=1e-6)
    # Where a program's standard output goes is for who starts it to say: no limit is on the copies.
    limited = limits.Amounts(run).of(limits.Part())["seconds"]
    assert limited == pytest.approx(took["data"], rel=1e-6)
    # A busy machine takes from the syncs what is waiting for a processor.
    (churn,) = (one for one in found.conclusions if one.rule.name == "sync-churn")
    assert churn.lost and 0.8 * slowest.causes["sync"] < churn.lost <= slowest.causes["sync"]


def test_programs_are_told_apart(run: fathom.Run) -> None:
    done = subprocess.run(
        [paths.FATHOM, "show", run.path, "--by", "program,operation", "--csv"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    rows = {
        (row["program"], row["operation"]): row for row in csv.DictReader(io.StringIO(done.stdout))
    }
    size = 8 * 50 * 4096
    assert {key: int(row["bytes"]) for key, row in rows.items() if key[1] == "write"} == {
        ("dd", "write"): size,
        ("cat", "write"): size,
    }
    assert rows["cat", "read"]["bytes"] == str(size) and rows["dd", "write"]["processes"] == "8"
    first = subprocess.run(
        [paths.FATHOM, "show", run.path], check=True, capture_output=True, text=True, timeout=300
    )
    assert " dd: " in " ".join(first.stdout.split())
    assert "--by program" in first.stdout


@pytest.mark.parametrize("store", ["lustre", "nfs"])
def test_so_is_what_they_would_take_elsewhere(run: fathom.Run, store: str) -> None:
    """Each write to a file that is open with O_DSYNC is a sync there too."""
    done = subprocess.run(
        [paths.FATHOM, "show", run.path, "--on", store],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert f"on {store}, {COMMANDS} in turn |" in done.stdout
    assert "  A sync after every few writes" in done.stdout and "400 syncs" in done.stdout
    assert "{" not in done.stdout


def test_a_rank_of_job_steps_is_one(tmp_path: Path) -> None:
    """A job script runs one step after another: what a rank waits in each, the job waits."""
    needs.require(needs.of_mpi("mpich"))
    step = (
        f"mpiexec.mpich -n 2 {paths.PROGRAMS / 'programs' / 'mpi' / 'turns_mpich'} {tmp_path / 'f'}"
    )
    words = [
        paths.FATHOM,
        "run",
        "--no-show",
        "-o",
        tmp_path / "job",
        "--",
        "bash",
        "-c",
        f"{step}; {step}",
    ]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=300)
    run = fathom.open(tmp_path / "job.fathom")
    slowest = account.bar(run).slowest
    assert slowest and slowest.in_turn == 2
    took = run.sql(
        "select rank, sum(duration) / 1e9 as s from calls"
        " where parent is null and layer = 'mpiio' group by rank"
    ).to_pylist()
    assert slowest.seconds == pytest.approx(max(row["s"] for row in took), rel=0.05)
