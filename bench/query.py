"""Each of fathom query's queries on a run of ten million calls: how long, how much memory."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from tools import FATHOM, PROGRAMS, BenchError, Row, fathom_run, pack, run, scratch

EVENTS = 10_000_000
SECONDS = 3.0
GIB = 2.0
QUERIES = (
    "latency breakdown inclusive",
    "latency breakdown exclusive - 1-1000",
    "latency operation list",
    "latency operation max",
    "latency operation min - - 0",
    "latency operation avg",
    "throughput",
    "energy 10 5",
    "call",
)


def cost(directory: Path, query: str) -> tuple[float, float]:
    """Seconds and GiB of one query, as a user asks it."""
    began = time.monotonic()
    command = [str(FATHOM), "query", str(directory), *query.split()]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise BenchError(f"{' '.join(command)}: exit {child.returncode}")
    return time.monotonic() - began, used.ru_maxrss / 2**20


def rows(quick: bool) -> list[Row]:
    """A program's own 8-byte accesses: the most own calls that so many events can be."""
    calls = EVENTS // 10 if quick else EVENTS
    with scratch("/dev/shm") as directory:
        recorded = directory / "run.fathom"
        trace = fathom_run(recorded, "--budget", "1GiB")
        run([*trace, PROGRAMS / "regular", directory / "data", str(calls)])
        pack(recorded)
        (directory / "data").unlink()
        costs = {query: cost(recorded, query) for query in QUERIES}
    result = [
        Row(
            f"fathom query: {query}",
            seconds,
            "s",
            target=f"<= {SECONDS:g} s of 10 M events" if not quick else "",
            met=seconds <= SECONDS if not quick else None,
        )
        for query, (seconds, _) in costs.items()
    ]
    most = max(gib for _, gib in costs.values())
    memory = Row("  the most memory of one", most, "GiB", target=f"<= {GIB:g} GiB", met=most <= GIB)
    return [*result, memory]
