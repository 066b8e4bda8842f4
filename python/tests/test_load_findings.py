"""Findings on the load of a node while calls ran, on random loads."""

from __future__ import annotations

import itertools
import random
import statistics
from pathlib import Path
from typing import Any

import fathom
import pytest
from ask_finding import ask
from fathom.analysis import findings
from schema import counters_of, write_run

Call = dict[str, Any]


def processors(loaded: list[bool]) -> list[Call]:
    """Samples every 100 ms: all busy, or nearly idle."""
    busy, samples = 0, []
    for slot, is_loaded in enumerate(loaded):
        before, end = busy, (slot + 1) * 10**8
        busy += int(10**8 * (0.99 if is_loaded else 0.3))
        samples += [
            {"node": 0, "time": (slot + i) * 10**8, "what": what, "value": value, "unit": "ns"}
            for what, values in (("cpu.user", (before, busy)), ("cpu.idle", (end - 10**8 - before, end - busy)))
            for i, value in enumerate(values)
        ]  # fmt: skip
    return list({(row["what"], row["time"]): row for row in samples}.values())


def interface(loaded: list[bool]) -> list[Call]:
    """100 MB/s come, or 20."""
    came = itertools.accumulate((10**7 if one else 2 * 10**6 for one in loaded), initial=0)
    row = {"node": 0, "device": "eth0", "what": "net.rx_bytes", "unit": "bytes"}
    return [row | {"time": n * 10**8, "value": value} for n, value in enumerate(came)]


LOADS = {
    "processors were all busy": (processors, "ext4"),
    "the network was busy": (interface, "nfs4"),
    "nothing that concerns it": (interface, "ext4"),
}


@pytest.mark.parametrize("what", LOADS)
@pytest.mark.parametrize("seed", range(8))
def test_load_of_the_node(tmp_path: Path, seed: int, what: str) -> None:
    """Every 100 ms the node is loaded or not; calls then take some times as long."""
    rng = random.Random(seed)
    sampled, file_system = LOADS[what]
    times = rng.choice([1, 1.5, 3, 5])
    loaded = [rng.random() < 0.5 for _ in range(20)]
    calls = []
    for slot, is_loaded in enumerate(loaded):
        for n in range(10):
            usual = rng.uniform(0.8, 1.2) * 10**6
            row = {"process": n % 2, "stream": n % 2, "layer": "posix", "op": "pwrite", "file": 0}
            row |= {"kind": "write", "file_offset": 0, "bytes": 1000, "state": "done"}
            row |= {"start": slot * 10**8 + n * 10**7, "id": len(calls)}
            calls.append(row | {"duration": int(usual * (times if is_loaded else 1))})
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 2 * 10**9, "events": len(calls)}],
        processes=[{"process": p} for p in range(2)],
        nodes=[{"node": 0, "host": "n0"}],
        files=[{"file": 0, "path": "/d/x", "kind": "regular", "file_system": file_system}],
        calls=calls,
        counters=counters_of(calls),
        samples=sampled(loaded),
    )
    apart: dict[bool, list[Call]] = {True: [], False: []}
    for call in calls:
        apart[loaded[call["start"] // 10**8]].append(call)
    calm = statistics.mean(call["duration"] for call in apart[False])
    lost = max(
        sum(call["duration"] - calm for call in apart[True] if call["process"] == p)
        for p in range(2)
    )
    ratio = statistics.mean(call["duration"] for call in apart[True]) / calm
    rows = ask(findings.Questions(fathom.open(run)), "loaded-node")
    is_much = ratio >= 2 and lost > 2e7 and not what.startswith("nothing")
    assert [row["what"] for row in rows] == [what] * is_much
    if rows:
        assert (rows[0]["lost"], rows[0]["times"]) == pytest.approx((lost / 1e9, ratio))
        assert rows[0]["n"] == len(apart[True])
