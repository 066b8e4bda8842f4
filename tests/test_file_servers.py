"""Which servers files lie on: OSTs by the layouts of a log of Darshan, one of them slow; and a local disk, which is
none, however slow a folder of it is."""

from __future__ import annotations

import json
import os
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from harness import needs, paths, runner
from test_import_darshan import Theirs, imported, sample
from test_import_darshan import fathom as command


def concluded(run: Path, *names: str) -> list[findings.Finding]:
    rules = [path for path in findings.catalog() if not names or path.stem in names]
    found = findings.find(fathom.open(run), rules)
    assert not found.broken
    return found.conclusions


@pytest.fixture(scope="module")
def bad_ost(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Darshan's own example: 2,048 ranks, a file each, and what its package reads of the log."""
    needs.require(["python:darshan"])
    log = sample("sample-badost")
    return imported(log, tmp_path_factory.mktemp("bad_ost")), Theirs(log)


def seconds_by_ost(theirs: Any) -> dict[int, list[float]]:
    """Of the files on each OST, by PyDarshan: seconds of reads and writes."""
    seconds = {
        record["id"]: record["fcounters"]["POSIX_F_WRITE_TIME"] + record["fcounters"]["POSIX_F_READ_TIME"]
        for record in theirs.records("POSIX")
    }  # fmt: skip
    by_ost = defaultdict(list)
    for record in theirs.records("LUSTRE"):
        parts = record.get("components") or [record]
        (ost,) = [int(ost) for part in parts for ost in part["ost_ids"]]
        by_ost[ost].append(seconds[record["id"]])
    return by_ost


def test_a_slow_ost_is_one_finding(bad_ost: tuple[Path, Any]) -> None:
    run, theirs = bad_ost
    by_ost = seconds_by_ost(theirs)
    medians = {ost: statistics.median(each) for ost, each in by_ost.items()}
    slow = max(medians, key=lambda ost: medians[ost])
    others = [median for ost, median in medians.items() if ost != slow]
    assert (slow, len(by_ost[slow]), len(others)) == (14, 85, 23)
    (found,) = concluded(run)
    assert (found.rule.name, found.values["server"]) == ("slow-server", "OST 14")
    values = found.values
    assert (values["files"], values["osts"]) == (85, 23)
    assert values["file_seconds"] == pytest.approx(medians[slow], rel=1e-3)
    assert (values["least"], values["most"]) == pytest.approx((min(others), max(others)), rel=1e-3)
    assert "lfs setstripe -o" in values["mend"]


def test_the_page_says_how_many_osts_were_used(bad_ost: tuple[Path, Any]) -> None:
    run, theirs = bad_ost
    osts = len(seconds_by_ost(theirs))
    page = " ".join(command("show", run, "--all").stdout.split())
    assert f"on {osts} OSTs of /scratch1, 1 for a file" in page
    (mount,) = [
        one
        for one in json.loads(command("show", run, "--json").stdout)["mounts"]
        if one["mount"] == "/scratch1"
    ]
    assert (mount["osts"], mount["least_osts"], mount["most_osts"]) == (osts, 1, 1)


def test_a_cold_folder_of_a_local_disk_is_no_slow_server(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(40):
            (tmp_path / folder / str(number)).write_bytes(os.urandom(65536))
    os.sync()
    for number in range(40):
        descriptor = os.open(tmp_path / "a" / str(number), os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    run = tmp_path / "run.fathom"
    program = paths.PROGRAMS / "programs" / "two_folders"
    words = [paths.FATHOM, "run", "--no-show", "-o", run, "--", program, tmp_path / "a", tmp_path / "b"]  # fmt: skip
    done = runner.execute([str(word) for word in words], {}, 100, tmp_path)
    assert done.returncode == 0, done.stderr
    assert concluded(run, "slow-server") == []
    opened = fathom.open(run)
    named = "select distinct server, mount from server_files() join files using (file) where path like $below"
    (row,) = opened.sql(named, below=f"{tmp_path}/%").to_pylist()
    assert row["server"] == row["mount"]
    assert opened.sql("from file_stripes()").num_rows == 0
