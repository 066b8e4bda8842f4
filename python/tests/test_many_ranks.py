"""What is summed over ranks in SQL against sums made here, on random runs; what is asked of many ranks as of few."""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pytest
from fathom.analysis import Remembered, answers, landscape, own, summary
from fathom.analysis import when as moments
from fathom.analysis.dominance import dominant
from fathom.pages import page
from fathom.run.store import Run
from schema import counters_of, write_run

RUN, PARTS, LINES = 1000, own.PARTS, own.LINES
WIDTH = RUN // PARTS
FUNCTIONS = [("pwrite", "write"), ("pread", "read"), ("open", "open"), ("close", "close")]


def recorded(folder: Path, processes: list[dict[str, Any]], calls: list[dict[str, Any]]) -> Run:
    counters = [
        row | {"thread_class": "main" if call["stream"] % 3 else "other"}
        for row, call in zip(counters_of(calls), calls, strict=True)
    ]
    streams = sorted({(call["stream"], call["process"]) for call in calls})
    return fathom.open(
        write_run(
            folder / "r.fathom",
            runs=[{"duration": RUN, "ranks": 3, "events": len(calls)}],
            processes=processes,
            streams=[{"stream": stream, "process": process} for stream, process in streams],
            calls=calls,
            counters=counters,
            files=[{"file": 0, "path": "/d/f", "kind": "regular"}],
        )
    )


def random_run(dice: random.Random, folder: Path) -> tuple[Run, list[dict[str, Any]], list[Any]]:
    """Processes with ranks, some without, some ranks with two processes, some with threads; or no rank at all."""
    kind = dice.choice(["ranks", "some", "none"])
    ranks = [
        None if kind == "none" or (kind == "some" and dice.random() < 0.3) else dice.randrange(40)
        for _ in range(dice.randrange(1, 40))
    ]
    processes = [{"process": number, "rank": rank} for number, rank in enumerate(ranks)]
    calls: list[dict[str, Any]] = []
    for process in range(len(ranks)):
        for thread in range(dice.choice([0, 1, 1, 1, 3])):
            at = dice.randrange(RUN // 2)
            while at < RUN - 1 and dice.random() < 0.9:
                op, what = dice.choice(FUNCTIONS)
                took = min(dice.choice([0, 3, 40, 300]) + dice.randrange(1, 9), RUN - at)
                calls.append(
                    {
                        "id": len(calls) + 1, "layer": "posix", "op": op, "kind": what, "start": at, "duration": took,
                        "process": process, "rank": ranks[process], "stream": 5 * process + thread, "depth": 0,
                        "file": 0, "bytes": dice.randrange(1, 10**6) if what in ("read", "write") else 0,
                    }
                )  # fmt: skip
                at += took + dice.randrange(30)
    return recorded(folder, processes, calls), calls, ranks


def busy(calls: list[dict[str, Any]]) -> list[int]:
    """ns of these calls in each part of the run."""
    bins = [0] * PARTS
    for call in calls:
        for at in range(PARTS):
            start, stop = max(call["start"], at * WIDTH), (at + 1) * WIDTH
            bins[at] += max(0, min(call["start"] + call["duration"], stop) - start)
    return bins


def shares(of: dict[int, list[dict[str, Any]]], unit: int) -> list[float]:
    return [min(1.0, time / WIDTH) for time in busy(of.get(unit, []))]


def by(calls: list[dict[str, Any]], key: str) -> dict[int, list[dict[str, Any]]]:
    grouped: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for call in calls:
        grouped[call[key]].append(call)
    return grouped


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_over_ranks_are_those_of_each(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    run, calls, ranks = random_run(dice, tmp_path)
    source = Remembered(run)
    mpi = any(rank is not None for rank in ranks)
    of_process, of_rank = by(calls, "process"), by(calls, "rank")
    units = sorted({rank for rank in ranks if rank is not None}) if mpi else sorted(of_process)
    each = of_rank if mpi else of_process

    moments_ = moments.when(source)
    together = [
        sum(column) for column in zip(*(shares(of_process, p) for p in of_process), strict=True)
    ]
    assert moments_.parts == pytest.approx(
        [part / max(1, len(units)) for part in together] if calls else []
    )

    size = max(1, -(-len(units) // LINES))
    groups = [units[at : at + size] for at in range(0, len(units), size)]
    lines = moments.lines(source)
    assert [(one.first, one.last, one.units) for one in lines] == [
        (group[0], group[-1], len(group)) for group in groups
    ]
    for line, group in zip(lines, groups, strict=True):
        columns = zip(*(shares(each, unit) for unit in group), strict=True)
        assert line.shares == pytest.approx([sum(column) / len(group) for column in columns])

    check_answers(source, calls, units, each, mpi)
    check_spread(source, calls, ranks)
    check_landscape(source, calls, ranks, mpi)


def check_answers(
    source: Remembered, calls: list[dict[str, Any]], units: list[int], each: Any, mpi: bool
) -> None:
    # A rank is all processes that it ran in; its busiest one stands for it.
    alike: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for process, some in by(calls, "process").items():
        rank = some[0]["rank"]
        unit = ("process", process) if rank is None else ("rank", rank)
        alike[unit].append((-sum(call["duration"] for call in some), process))
    spent = {min(of)[1]: -sum(time for time, _ in of) for of in alike.values()}
    time = answers.time(source)
    most = max(spent.values(), default=0)
    assert time.busiest_share == pytest.approx(min(1.0, most / RUN))
    assert time.busiest_process == min((p for p in spent if spent[p] == most), default=None)
    padded = sorted([*spent.values(), *[0] * (len(units) - len(spent))])
    middle = padded[len(padded) // 2] if padded else 0
    assert time.median_share == pytest.approx(min(1.0, middle / RUN))

    who = answers.ranks(source)
    callers = {unit: sum(call["duration"] for call in each[unit]) for unit in units if unit in each}
    moved = {unit: sum(call["bytes"] for call in each.get(unit, [])) for unit in units}
    calling = dominant(dict.fromkeys(units, 0) | callers)
    assert (who.of, who.callers, who.calling, who.calling_who) == (
        len(units), len(callers), calling.how, list(calling.ranks),
    )  # fmt: skip
    data = dominant(moved) if sum(moved.values()) else calling
    assert (who.who, who.share) == (list(data.ranks), pytest.approx(data.share))
    if mpi:
        assert who.kind == data.how


def check_spread(source: Remembered, calls: list[dict[str, Any]], ranks: list[Any]) -> None:
    """Of each process that has a rank, else of each that made calls."""
    of_process = by(calls, "process")
    processes = [p for p, rank in enumerate(ranks) if rank is not None] or sorted(of_process)
    processes.sort(key=lambda p: (ranks[p] is None, ranks[p], p))
    sums = {
        "calls": [len(of_process.get(p, [])) for p in processes],
        "bytes": [sum(call["bytes"] for call in of_process.get(p, [])) for p in processes],
        "seconds": [
            sum(call["duration"] for call in of_process.get(p, [])) / 1e9 for p in processes
        ],
    }
    by_quantity = {row["quantity"]: row for row in summary.spread(source).to_pylist()}
    assert list(by_quantity) == (list(sums) if processes else [])
    for quantity, row in by_quantity.items():
        ordered = sorted(sums[quantity])
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        assert (row["least"], row["median"], row["most"]) == pytest.approx(
            (ordered[0], middle, ordered[-1])
        )
        first = processes[sums[quantity].index(ordered[-1])]
        assert (row["slowest_process"], row["slowest"]) == (first, ranks[first])


def check_landscape(
    source: Remembered, calls: list[dict[str, Any]], ranks: list[Any], mpi: bool
) -> None:
    """Of a rank, all its processes: of each the union of its threads, where there is more than the main one."""
    of_process = by(calls, "process")
    time: dict[int, int] = defaultdict(int)
    moved: dict[int, int] = defaultdict(int)
    for process, rank in enumerate(ranks):
        some = of_process.get(process, [])
        if rank is None if mpi else not some:
            continue
        unit = rank if mpi else process
        beside = any(call["stream"] % 3 == 0 for call in some)
        spent = {
            at for call in some for at in range(call["start"], call["start"] + call["duration"])
        }
        time[unit] += len(spent) if beside else min(RUN, sum(call["duration"] for call in some))
        moved[unit] += sum(call["bytes"] for call in some)
    by_rank = landscape.ranks(source).to_pylist()
    assert {row["unit"]: row["busy"] for row in by_rank} == time
    assert {row["unit"]: row["bytes_read"] + row["bytes_written"] for row in by_rank} == moved
    together = landscape.together(source)
    most = max(time.values(), default=0)
    assert (together["units"], together["busy"], together["most"]) == (
        len(time),
        sum(time.values()),
        most,
    )
    assert together["most_unit"] == min((unit for unit in time if time[unit] == most), default=None)
    for key, amounts in (("time_by", time), ("bytes_by", moved)):
        expected = dominant(amounts)
        assert (together[key]["how"], together[key]["units"]) == (
            expected.how,
            list(expected.ranks),
        )


class Counting(Run):
    """Counts what is asked of it, and the rows that come back."""

    asked = 0
    rows = 0

    def sql(self, text: str, **values: Any) -> pa.Table:
        table = super().sql(text, **values)
        self.asked += 1
        self.rows += table.num_rows
        return table


def asked(folder: Path, ranks: int) -> tuple[int, int]:
    """Statements and rows of the whole page, of a run in which each rank does the same."""
    folder.mkdir()
    calls = [
        {
            "id": 2 * rank + n, "layer": "posix", "op": op, "kind": kind, "start": 100 * n, "duration": 50 + rank % 7,
            "process": rank, "rank": rank, "stream": rank, "depth": 0, "file": 0, "bytes": 8 * n,
        }
        for rank in range(ranks)
        for n, (op, kind) in enumerate((("open", "open"), ("pwrite", "write")))
    ]  # fmt: skip
    path = recorded(folder, [{"process": n, "rank": n} for n in range(ranks)], calls).path
    run = Counting(path)
    content = page.compute("r", run.manifest, run, lambda: None, lambda: None)
    page.print_page(content, 10)
    return run.asked, run.rows


def test_many_ranks_are_asked_as_few_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = asked(tmp_path / "few", LINES), asked(tmp_path / "many", 50 * LINES)
    assert many == few
    assert "rank 0-49 |" in capsys.readouterr().out
