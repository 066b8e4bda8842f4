"""What is said of logs of real jobs, against what their jobs won when they were mended (shared/wild, not in the
repository: skipped with a line where it is not there)."""

from __future__ import annotations

from typing import Any

import pytest
from fathom.analysis import findings
from fathom.analysis.account import bar
from fathom.analysis.causes import CAUSES
from fathom.run.store import Run, open_run
from harness import needs, wild
from test_import_darshan import imported_once, sample


@pytest.fixture(autouse=True)
def _package() -> None:
    needs.require(["python:darshan"])


def run_of(name: str) -> Run:
    return open_run(imported_once(wild.log(name)))


def found(run: Run) -> list[findings.Finding]:
    said = findings.find(run, findings.catalog())
    assert not said.broken, said.broken
    return said.conclusions


@pytest.mark.parametrize("name", wild.TRUTHS)
def test_the_true_cause_comes_first(name: str) -> None:
    truth = wild.TRUTHS[name]
    conclusions = found(run_of(name))
    names = [one.rule.name for one in conclusions]
    assert names and names[0] == truth.rule, names
    first = conclusions[0]
    assert first.lost is not None and first.between is not None
    least, most = first.between
    assert least <= first.lost <= most
    if truth.won:
        assert least <= truth.won <= most
        assert truth.won / wild.WITHIN <= first.lost <= truth.won * wild.WITHIN


@pytest.mark.parametrize("name", wild.WELL)
def test_what_is_well_done_has_no_finding(name: str) -> None:
    assert not [(one.rule.name, one.lost) for one in found(run_of(name))]


@pytest.mark.parametrize("name", wild.OF_PACKAGE)
def test_logs_of_darshans_package(name: str) -> None:
    found_of = [one.rule.name for one in found(open_run(imported_once(sample(name))))]
    assert found_of[:1] == [rule for rule in [wild.OF_PACKAGE[name]] if rule]


def test_what_is_no_request_and_no_name() -> None:
    def causes(name: str) -> dict[str, float]:
        run = open_run(imported_once(sample(name)))
        rows = run.sql(
            "select cause, sum(time)::double as time from account() group by cause"
        ).to_pylist()
        whole = sum(row["time"] for row in rows)
        return {row["cause"]: row["time"] / whole for row in rows}

    # Opens of 146 s each, side by side; writes of 8 MiB, beside a few short lines of a stream.
    assert causes("dxt").get("names", 0) < 0.01
    assert causes("sample-goodost").get("requests", 0) < 0.02
    # What others' quicker writes to the same directory do not cost is no riddle: one OST is slow.
    assert causes("sample-badost")["contention"] > 0.9


def sums(run: Run) -> list[dict[str, Any]]:
    """Of each process: the cells of its account, and the time of its own I/O calls, ns."""
    return run.sql(
        "select process, a.time as account, o.time as io from own_processes() as o"
        " left join (select process, sum(time) as time from account() group by process) as a using (process)"
    ).to_pylist()


@pytest.mark.some(6)
@pytest.mark.parametrize("name", wild.cases())
def test_the_account_adds_up(name: str) -> None:
    run = run_of(name)
    for row in sums(run):
        assert abs((row["account"] or 0) - row["io"]) <= 1000 + 1e-9 * row["io"], row
    shown = bar(run)
    assert shown.slowest is not None
    assert set(shown.slowest.causes) <= set(CAUSES)
    assert shown.slowest.seconds == pytest.approx(sum(shown.slowest.causes.values()))
    assert shown.median is None or shown.median.seconds <= shown.slowest.seconds
