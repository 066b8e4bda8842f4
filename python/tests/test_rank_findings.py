"""Findings on ranks that are slower or have more work than others, against the same sums in Python."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from ask_finding import ask
from fathom.analysis import findings
from schema import counters_of, write_run

Call = dict[str, Any]
WRITE = {
    "layer": "posix",
    "op": "pwrite",
    "kind": "write",
    "file": 0,
    "file_offset": 0,
    "bytes": 1000,
    "state": "done",
}


def random_accesses(rng: random.Random, processes: int) -> list[Call]:
    """Writes of two sizes on two servers; a rank or two may be slower than the others."""
    slow = {rng.randrange(processes): rng.choice([1.3, 3, 6]) for _ in range(rng.randrange(3))}
    calls = []
    for process in range(processes):
        for size, file in ((4096, 0), (65536, 1)):
            for n in range(rng.choice([5, 20])):
                duration = int(5e6 * rng.uniform(0.9, 1.1) * slow.get(process, 1))
                row = {"process": process, "stream": process, "layer": "posix", "op": "pwrite"}
                row |= {"kind": "write", "file": file, "file_offset": n * size, "bytes": size}
                calls.append(row | {"start": n * 10**8, "duration": duration, "state": "done"})
    for number, call in enumerate(calls):
        call["id"] = number
    return calls


def run_of(path: Path, calls: list[Call], processes: int, **more: Any) -> Any:
    return fathom.open(
        write_run(
            path,
            runs=[{"ranks": processes, "duration": 2 * 10**9, "events": len(calls)}],
            processes=[
                {"process": p, "rank": p, "node": more.get("node", p)} for p in range(processes)
            ],
            files=[{"file": f, "path": f"/d{f}/x", "kind": "regular"} for f in range(4)],
            calls=calls,
            counters=counters_of(calls) + more.get("counters", []),
        )
    )


@pytest.mark.parametrize("seed", range(10))
def test_slow_ranks(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    processes = rng.randrange(3, 9)
    calls = random_accesses(rng, processes)
    times: dict[tuple[int, int], list[int]] = defaultdict(list)
    for call in calls:
        times[call["file"], call["process"]].append(call["duration"])
    taken, usual = defaultdict(float), defaultdict(float)
    for file in (0, 1):
        median = statistics.median(statistics.mean(times[file, p]) for p in range(processes))
        for p in range(processes):
            taken[p] += sum(times[file, p]) / 1e9
            usual[p] += len(times[file, p]) * median / 1e9
    ratios = {p: taken[p] / usual[p] for p in taken}
    ordered = sorted(ratios.values())
    at = 0.75 * (processes - 1)
    most = ordered[int(at)] + (at % 1) * (ordered[min(int(at) + 1, processes - 1)] - ordered[int(at)])  # fmt: skip
    wanted = {
        f"rank {p}": taken[p] - usual[p]
        for p in taken
        if ratios[p] >= 2 and ratios[p] >= 1.5 * most and taken[p] - usual[p] > 0.02
    }
    asked = findings.Questions(run_of(tmp_path / "r", calls, processes))
    lost_by = {row["who"]: row["lost"] for row in ask(asked, "slow-rank")}
    assert lost_by == pytest.approx(wanted)


def test_slow_ranks_of_one_node_are_one(tmp_path: Path) -> None:
    calls = [
        WRITE | {"id": 50 * p + n, "process": p, "stream": p, "start": n * 10**7, "duration": 10**6 * each}
        for p, each in enumerate([1] * 6 + [14, 15])
        for n in range(40)
    ]  # fmt: skip
    asked = findings.Questions(run_of(tmp_path / "r", calls, 8, node=0))
    (found,) = ask(asked, "slow-rank")
    assert (found["who"], found["slowest"], found["at_most"]) == ("2 ranks (6, 7)", 7, "up to ")
    assert found["lost"] == pytest.approx(40 * 14e-3)
    apart = findings.Questions(run_of(tmp_path / "apart", calls, 8))
    assert [row["who"] for row in ask(apart, "slow-rank")] == ["rank 7", "rank 6"]


@pytest.mark.parametrize("seed", range(10))
def test_one_rank_and_uneven_ranks(tmp_path: Path, seed: int) -> None:
    """Work of a rank is bytes at the mean speed; what it loses is at most what the others waited, and what its I/O
    takes longer."""
    rng = random.Random(seed)
    processes = rng.randrange(2, 7)
    heavy = rng.choice([1, 1, 3, 200])
    calls = [
        {
            "process": p, "stream": p, "layer": "posix", "op": "pwrite",
            "kind": "write", "file": 0, "file_offset": 0, "bytes": 1000, "start": n * 10**7,
            "duration": int(10**6 * rng.uniform(0.8, 1.2)), "state": "done",
        }
        for p in range(processes)
        for n in range(rng.randrange(40, 60) if p == 0 or heavy < 200 else 1)
        for _ in range(heavy if p == 0 else 1)
    ]  # fmt: skip
    for n, call in enumerate(calls):
        call["id"] = n
    waits = {p: rng.randrange(10**9) for p in range(processes)}
    counters = [
        {
            "process": p,
            "layer": "mpi",
            "op": "MPI_Barrier",
            "kind": "comm",
            "calls": 1,
            "time": wait,
        }
        for p, wait in waits.items()
    ]
    asked = findings.Questions(run_of(tmp_path / "r", calls, processes, counters=counters))
    number = [sum(call["process"] == p for call in calls) for p in range(processes)]
    taken = [sum(c["duration"] for c in calls if c["process"] == p) / 1e9 for p in range(processes)]
    top = max(range(processes), key=lambda p: number[p])
    waited = statistics.median(waits[p] for p in range(processes) if p != top) / 1e9
    speed, mean = sum(taken) / len(calls), len(calls) / processes
    alone = number[top] >= 0.95 * len(calls)
    one = min(taken[top] * (1 - 1 / processes), waited) if alone else 0
    longer = taken[top] - sum(taken) / processes
    more = number[top] > 1.5 * mean and not alone
    uneven = min((number[top] - mean) * speed, longer, waited) if more else 0
    for name, lost in (("one-rank", one), ("uneven-ranks", uneven)):
        lost_by = [(row["rank"], row["lost"]) for row in ask(asked, name)]
        assert lost_by == ([(top, pytest.approx(lost))] if lost > 0.02 else []), name


def test_who_has_more_work_and_is_no_slower_loses_nothing(tmp_path: Path) -> None:
    calls = [
        WRITE | {"process": p, "stream": p, "start": n * 10**7, "duration": 10**6 if p == 0 else 10**7}
        for p in range(4)
        for n in range(40 if p == 0 else 8)
    ]  # fmt: skip
    for n, call in enumerate(calls):
        call["id"] = n
    assert ask(findings.Questions(run_of(tmp_path / "r", calls, 4)), "uneven-ranks") == []
    for call in calls[:40]:
        call["duration"] = 4 * 10**6  # 160 ms, the others 80
    (found,) = ask(findings.Questions(run_of(tmp_path / "longer", calls, 4)), "uneven-ranks")
    assert found["lost"] == pytest.approx(0.06)
