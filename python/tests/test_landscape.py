"""The words of a landscape: who, when, which files; and its numbers on runs made by hand."""

from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import answers, landscape, summary
from fathom.analysis.dominance import dominant
from fathom.pages import answers as words
from fathom.text import numbers, spark
from schema import counters_of, write_run


@pytest.mark.parametrize(("amounts", "how", "ranks"), [
    ([1, 1, 1, 1], "all", [0, 1, 2, 3]),
    ([1, 1, 1, 0.8], "all", [0, 1, 2, 3]),
    ([100, 1, 1, 1], "one", [0]),
    ([0, 0, 7, 0], "one", [2]),
    ([95, 2, 2, 1], "one", [0]),
    ([10, 0, 10, 0], "some", [0, 2]),
    ([0, 0], "none", []),
    ([5], "one", [0]),
    ([10] + [4] * 1000, "all", list(range(1001))),
    ([10 if rank % 20 == 0 else 0.001 for rank in range(320)], "some", list(range(0, 320, 20))),
])  # fmt: skip
def test_who_dominates(amounts: list[float], how: str, ranks: list[int]) -> None:
    dominance = dominant(dict(enumerate(amounts)))
    assert (dominance.how, list(dominance.ranks)) == (how, ranks)
    held = sum(amounts[rank] for rank in ranks)
    assert how == "none" or dominance.share == pytest.approx(held / sum(amounts))


def busy(*spans: tuple[int, int]) -> list[float]:
    return [1.0 if any(a <= part < b for a, b in spans) else 0.0 for part in range(120)]


def test_bars() -> None:
    assert spark.line([0, 0, 1, 1, 4, 4, 8, 8], 4) == " ▂▅█"
    assert spark.line([], 4) == ""
    assert len(spark.line(busy((3, 4)), 30)) == 30


def call(process: int, start: int, duration: int, **more: Any) -> dict[str, Any]:
    return {
        "id": 1000 * process + start,
        "process": process,
        "rank": process,
        "stream": process,
        "start": start,
        "duration": duration,
        "layer": "posix",
        "op": "pwrite",
        "kind": "write",
        "bytes": 10,
        "depth": 0,
        "file": 0,
        **more,
    }


FILES = [
    {"file": 0, "path": "/data/a.rst", "kind": "regular"},
    {"file": 1, "path": "pipe:[7]", "kind": "fifo"},
]


def recorded(place: Path, calls: list[dict[str, Any]], **rows: list[dict[str, Any]]) -> Any:
    events = [one for one in calls if one.get("recorded", True)]
    counters = counters_of([{k: v for k, v in one.items() if k != "recorded"} for one in calls])
    counted = rows.pop("counters", counters)
    for counter, one in zip(counters, calls, strict=True):
        counter["recorded"] = int(one.get("recorded", True))
        counter["thread_class"] = "other" if one.get("thread") else "main"
    processes = sorted({one["process"] for one in calls})
    streams = sorted({(one["stream"], one["process"]) for one in calls})
    return fathom.open(
        write_run(
            place / "made.fathom",
            streams=[{"stream": stream, "process": p} for stream, p in streams],
            runs=[{"name": "made", "duration": 1200, "ranks": 2, "ranks_seen": 2, "events": len(events)}],
            processes=[{"process": p, "rank": p, "ranks": 2, "ended": "clean", "stop": 1200} for p in processes],
            files=rows.pop("files", FILES),
            calls=[{k: v for k, v in one.items() if k != "recorded"} for one in events],
            counters=counted,
            **rows,
        )
    )  # fmt: skip


def test_threads_of_a_rank_are_a_union(tmp_path: Path) -> None:
    calls = [call(0, 0, 400), call(0, 300, 300, thread=7, stream=9), call(1, 600, 60)]
    row = landscape.row(recorded(tmp_path, calls))
    assert row["io_seconds"] == pytest.approx((600 + 60) / 2 * 1e-9)
    assert row["io_uncertain_seconds"] == 0
    assert (row["io_most_rank"], row["io_most_seconds"]) == (0, pytest.approx(600e-9))
    assert (row["when_from"], row["when_first_seconds"]) == ("calls", 0)
    assert sum(row["when_parts"]) == pytest.approx(100 * (600 + 60) / 2 / 1200, rel=0.02)


def test_of_counters_alone_threads_are_a_sum_and_it_is_said(tmp_path: Path) -> None:
    calls = [call(0, 0, 400), call(0, 300, 300, thread=7), call(1, 600, 60)]
    row = landscape.row(recorded(tmp_path, [one | {"recorded": False} for one in calls]))
    assert row["io_seconds"] == pytest.approx((700 + 60) / 2 * 1e-9)
    assert row["io_uncertain_seconds"] == pytest.approx(300 / 2 * 1e-9)
    assert (row["when"], row["when_from"], row["when_parts"]) == ("unknown", "span", [])


def test_a_sum_of_threads_is_no_longer_than_the_run(tmp_path: Path) -> None:
    calls = [call(0, 0, 900), call(0, 300, 900), call(0, 300, 500, thread=7), call(1, 600, 60)]
    run = recorded(tmp_path, [one | {"recorded": False} for one in calls])
    row = landscape.row(run)
    assert row["io_most_seconds"] == pytest.approx(1200e-9)
    assert row["io_uncertain_seconds"] == 0
    sentence = words.time(answers.time(run), "rank")
    assert "for 100 % of the run time (1.2 µs) some I/O call ran" in sentence
    assert summary.layers(run)["share"].to_pylist() == [None]


def test_pipes_are_no_files(tmp_path: Path) -> None:
    row = landscape.row(recorded(tmp_path, [call(0, 0, 10), call(1, 0, 500, file=1)]))
    assert row["io_seconds"] == pytest.approx(5e-9)
    assert row["bytes_written"] == 10


def test_a_calm_run(tmp_path: Path) -> None:
    row = landscape.row(recorded(tmp_path, [call(0, 0, 0, file=1)]))
    assert (row["operation"], row["time_by"]) == (None, "none")


def test_groups_of_files(tmp_path: Path) -> None:
    paths = [
        "/data/out.0001.rst",
        "/data/restart.0001",
        "/data/restart.0002",
        "/x/a.rst",
        "/x/README",
    ]
    calls = [call(0, 10 * number, 5, file=number) for number in range(len(paths))]
    files = [{"file": n, "path": path, "kind": "regular"} for n, path in enumerate(paths)]
    run = recorded(tmp_path, calls, files=files)
    by_group = {group["group"]: group["files"] for group in landscape.groups(run)}
    assert by_group == {"*.rst": 2, "restart.*": 2, "README": 1}
    globs = [("rst", "*.rst"), ("data", "/data/*")]
    by_group = {group["group"]: group["bytes_written"] for group in landscape.groups(run, globs)}
    assert by_group == {"rst": 20, "data": 20}


def test_speedups() -> None:
    rows = [{"run_seconds": 520.0, "io_seconds": 0.0}, {"run_seconds": 125.0, "io_seconds": 3.0}]
    landscape.add_speedups(rows, rows[0], ("run", "io"))
    assert [row["speedup_run"] for row in rows] == [1, pytest.approx(4.16)]
    assert [row["speedup_io"] for row in rows] == [None, None]
    assert numbers.times(rows[1]["speedup_run"]) == "4.16x"


def opens(starts: list[int], **more: Any) -> list[dict[str, Any]]:
    return [call(0, start, 5, op="openat", kind="open", bytes=0, **more) for start in starts]


def test_most_opens_in_a_second(tmp_path: Path) -> None:
    """Two that are exactly a second apart are not in the same one; what is no file does not count."""
    second = 10**9
    calls = opens([0, second // 2, second, second + 1, 4 * second])
    calls += [call(0, second + 10, 5, op="pipe", kind="open", file=1)]
    opened = landscape.opens(recorded(tmp_path, calls))
    assert opened == {"opens": 5, "peak_opens_per_second": 3, "peak_opens_from": "calls"}


def test_opens_that_were_counted_only(tmp_path: Path) -> None:
    """100 between 0 and 10 s: 11 moments in a second, and one that is known."""
    second = 10**9
    counted = {**counters_of(opens([0]))[0], "calls": 101, "recorded": 0, "last_stop": 10 * second}
    run = recorded(tmp_path, opens([0]), counters=[counted])
    opened = landscape.opens(run)
    assert (opened["opens"], opened["peak_opens_from"]) == (101, "counters")
    assert opened["peak_opens_per_second"] == 10
