"""What is concluded of logs that only counted, whose records are stated here and written by Darshan's own library."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.analysis import findings
from fathom.analysis.account import prepare
from fathom.run.store import Run, open_run
from harness import darshan, needs
from harness.darshan import Module, record
from test_import_darshan import imported

MIB = 1 << 20
RANKS = 64


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


def run_of(place: Path, counters: dict[str, float], seconds: int) -> Run:
    """A job whose ranks did this to one file."""
    modules = {"POSIX": Module(4, [record("POSIX", 1, -1, {"OPENS": RANKS, **counters})])}
    place.mkdir(exist_ok=True)
    log = place / "job.darshan"
    mounts = [("/scratch", "lustre")]
    darshan.write(log, modules, {1: "/scratch/input"}, RANKS, mounts, seconds)
    return open_run(imported(log, place))


def names(run: Run) -> list[str]:
    said = findings.find(run, findings.catalog())
    assert not said.broken, said.broken
    return [one.rule.name for one in said.conclusions]


def reading(each: int, end: int, seconds: float) -> dict[str, float]:
    """Ranks that read so many MiB each, of a file that they read up to `end` MiB."""
    reads = RANKS * each
    return {
        "READS": reads, "BYTES_READ": reads * MIB, "MAX_BYTE_READ": end * MIB - 1, "SIZE_READ_1M_4M": reads,
        "F_READ_TIME": RANKS * seconds, "F_READ_START_TIMESTAMP": 0.1, "F_READ_END_TIMESTAMP": 0.1 + seconds,
    }  # fmt: skip


def test_ranks_that_each_read_all_of_a_file(tmp_path: Path) -> None:
    whole = run_of(tmp_path / "whole", reading(each=100, end=100, seconds=10), 11)
    assert names(whole) == ["reads-by-all"]
    part = run_of(tmp_path / "part", reading(each=100, end=100 * RANKS, seconds=10), 11)
    assert "reads-by-all" not in names(part)


def test_readers_of_one_file_contend_for_its_servers_only(tmp_path: Path) -> None:
    """64 ranks of 1 MiB take an OST 0.4 s at most; the rest of their 10 s is nobody's."""
    run = run_of(tmp_path, reading(each=1, end=RANKS, seconds=10), 11)
    prepare(run, "account()")
    rows = run.sql(
        "select cause, max(time) / 1e9 as s from account() where kind = 'read' group by cause"
    )
    causes = {row["cause"]: row["s"] for row in rows.to_pylist()}
    assert 0 < causes["contention"] < 0.5
    assert causes["unexplained"] > 9
