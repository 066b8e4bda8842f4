"""What the first screen begins with: the account's own figures, and no colour missing."""

import re
from pathlib import Path
from typing import Any

import pytest
from fathom.analysis import account, causes
from fathom.analysis.findings import find, rules
from fathom.run.store import Run, open_run
from fathom.webapi import answers as screens
from fathom.webapi.answers.account import BESIDE, NOT_IO, NOTHING, OTHERS, split_bars
from fathom.webapi.answers.session import Runs
from fathom.webapi.report import requests
from schema import counters_of, write_run
from screens.asked import Asked
from small import CALLS


def ask(path: Path, name: str = "account") -> Any:
    """The answer of the one run there."""
    return screens.ask(Runs([path]), name, {"run": path.stem})


def check(answer: Any, run: Run) -> None:
    """The answer has the account's seconds, and its table the same."""
    bar = account.bar(run)
    shares = {"slowest": bar.slowest, "median": bar.median}
    wanted = {which: one for which, one in shares.items() if one and one.seconds}
    assert answer["seconds"] == bar.run_seconds
    assert [one["which"] for one in answer["processes"]] == list(wanted)
    for one, share in zip(answer["processes"], wanted.values(), strict=True):
        assert one["process"] == share.process
        assert one["causes"] == pytest.approx(share.causes)
        assert sum(one["causes"].values()) == pytest.approx(one["seconds"])
        parts = {part["cause"]: part["seconds"] for part in one["parts"]}
        assert sum(parts.values()) == pytest.approx(max(bar.run_seconds, one["seconds"]))
        assert parts.keys() <= share.causes.keys() | BESIDE.keys()
        rows = [row for row in answer["table"]["rows"] if row[0] == share.process]
        assert {row[2]: row[3] / 1e9 for row in rows} == pytest.approx(share.causes, abs=1e-9)
        whole = one["seconds"] / bar.run_seconds
        assert sum(row[4] for row in rows) == pytest.approx(whole, rel=1e-6)
    assert answer["table"]["note"] == (None if wanted else NOTHING)


def test_it_is_the_account_of_show(run_directory: Path) -> None:
    answer = ask(run_directory)
    check(answer, open_run(run_directory))
    assert [one["label"] for one in answer["processes"]] == ["rank 1", "rank 0"]
    assert dict(answer["causes"]) == causes.CAUSES | BESIDE


def test_over_time_it_is_the_same_seconds(run_directory: Path) -> None:
    table = ask(run_directory, "account_over_time")["table"]
    assert [column["name"] for column in table["columns"]] == ["time", "cause", "spent"]
    spent: dict[str, int] = {}
    for _, cause, took in table["rows"]:
        spent[cause] = spent.get(cause, 0) + took
    text = "select cause, sum(time)::double as time from account() group by cause"
    wanted = {row["cause"]: row["time"] for row in open_run(run_directory).sql(text).to_pylist()}
    assert spent == pytest.approx(wanted, abs=len(table["rows"]))


def test_reads_lie_where_heat_has_them_and_syncs_where_they_ran(tmp_path: Path) -> None:
    of = {"process": 0, "layer": "posix"}
    sync = {
        "id": 1,
        "layer": "posix",
        "op": "fsync",
        "kind": "sync",
        "start": 120,
        "duration": 40,
        "file": 0,
        "depth": 0,
    }
    read = of | {"op": "read", "kind": "read", "calls": 3, "bytes": 3 << 20, "time": 90, "file": 0}
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": 200, "processes": 1}],
        processes=[{"process": 0}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        calls=[sync],
        counters=[*counters_of([sync]), read],
        heat=[
            of | {"operation": "read", "start": start, "stop": start + 50, "calls": 1, "time": time}
            for start, time in ((0, 30), (100, 60))
        ],
    )
    spent: dict[int, int] = {}
    for time, _, took in ask(path, "account_over_time")["table"]["rows"]:
        spent[time] = spent.get(time, 0) + took
    assert spent == {0: 30, 100: 60 + 30, 150: 10}


def test_parts_stand_in_one_order_the_little_ones_together() -> None:
    slowest = {"locks": 0.2, "names": 50.0, "sync": 0.1, "transfer": 29.7}
    median = {"transfer": 39.9, "locks": 0.1}
    shares = [causes.Share(3, 3, 80.0, slowest), account.Share(5, 5, 40.0, median)]
    first, second = split_bars(shares, 100.0)
    assert list(first) == ["names", "transfer", OTHERS, NOT_IO]
    assert list(second) == ["transfer", OTHERS, NOT_IO]
    assert all(sum(one.values()) == pytest.approx(100) for one in (first, second))


def test_one_little_cause_keeps_its_name_and_nothing_has_no_part() -> None:
    """Threads that did I/O at once spent more than the run lasted."""
    share = causes.Share(0, None, 80.0, {"names": 79.9, "locks": 0.1})
    assert [list(one) for one in split_bars([share], 50.0)] == [["names", "locks"]]


@pytest.mark.parametrize("seed", range(2))
def test_of_random_runs_too(tmp_path: Path, seed: int) -> None:
    asked = Asked(tmp_path, seed)
    check(asked.ask("account"), open_run(asked.runs.all["r"].run.path))


def test_of_sums_alone_and_of_another_tools_log(tmp_path: Path) -> None:
    """At level job, or imported, nothing but counters is there."""
    counted = [{**row, "recorded": 0} for row in counters_of(CALLS) if row["process"] == 0]
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 4000, "processes": 1}],
        processes=[{"process": 0, "rank": None}], counters=counted,
    )  # fmt: skip
    answer = ask(path)
    check(answer, open_run(path))
    assert [(one["which"], one["label"]) for one in answer["processes"]] == [
        ("slowest", "process 0")
    ]


def test_without_io_it_says_why(tmp_path: Path) -> None:
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100, "processes": 1}], processes=[{"process": 0}]
    )
    answer = ask(path)
    assert (answer["processes"], answer["table"]["rows"]) == ([], [])
    assert answer["table"]["note"] == NOTHING


def test_findings_have_the_interval_of_their_seconds(run_directory: Path) -> None:
    wanted = find(open_run(run_directory), rules()).conclusions
    found = ask(run_directory, "findings")["findings"]
    assert [one["between"] for one in found] == [
        one.between and list(one.between) for one in wanted
    ]


def test_a_report_has_it_behind_the_first_facts(run_directory: Path) -> None:
    names = [one.name for one in requests.first(Runs([run_directory]))]
    assert names[:3] == ["runs", "overview", "account"]


def test_every_cause_has_a_colour() -> None:
    root = Path(__file__).parents[3]
    table = (root / "web/src/draw/causes.ts").read_text()
    assert re.findall(r'^\t"?([\w-]+)"?: \{ onWhite', table, re.MULTILINE) == list(causes.CAUSES)
