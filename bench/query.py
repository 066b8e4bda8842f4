"""Each of fathom query's queries on runs of ten million calls: how long, how much memory. In one run the program called
POSIX, in the other MPI-IO, which called POSIX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools import FATHOM, NESTED, PROGRAMS, Row, cost, pack, regular_run

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


def rows(quick: bool) -> list[Row]:
    """Both runs, each query asked as a user would."""
    events = EVENTS // 1000 if quick else EVENTS
    result = list(rows_of("calls of POSIX", PROGRAMS / "regular", events, quick))
    if NESTED.exists():  # MPICH is installed
        result += rows_of("MPI-IO and POSIX inside it", NESTED, events // 2, quick)
    return result


def rows_of(what: str, program: Path, calls: int, quick: bool) -> Iterator[Row]:
    """One run."""
    with regular_run(calls, program) as recorded:
        pack(recorded)
        costs = {query: cost([FATHOM, "query", recorded, *query.split()]) for query in QUERIES}
    for query, took in costs.items():
        yield Row(
            f"fathom query: {query}; {what}",
            took.seconds,
            "s",
            target=f"<= {SECONDS:g} s of 10 M events" if not quick else "",
            met=took.seconds <= SECONDS if not quick else None,
        )
    most = max(took.gib for took in costs.values())
    yield Row(
        "  the most memory of one",
        most,
        "GiB",
        target=f"<= {GIB:g} GiB",
        met=most <= GIB,
    )
