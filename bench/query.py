"""Each of fathom query's queries on a run of ten million calls: how long, how much memory."""

from __future__ import annotations

from tools import FATHOM, Row, cost, pack, regular_run

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
    """One run, each query asked as a user would."""
    with regular_run(EVENTS // 10 if quick else EVENTS) as recorded:
        pack(recorded)
        costs = {query: cost([FATHOM, "query", recorded, *query.split()]) for query in QUERIES}
    result = [
        Row(
            f"fathom query: {query}",
            took.seconds,
            "s",
            target=f"<= {SECONDS:g} s of 10 M events" if not quick else "",
            met=took.seconds <= SECONDS if not quick else None,
        )
        for query, took in costs.items()
    ]
    most = max(took.gib for took in costs.values())
    memory = Row("  the most memory of one", most, "GiB", target=f"<= {GIB:g} GiB", met=most <= GIB)
    return [*result, memory]
