"""Processes that ran one after another, as SQL's chains() tells them, against a search through every instant."""

from __future__ import annotations

from pathlib import Path

import duckdb
import fathom.analysis
from fathom.run.macros import definitions
from hypothesis import given
from hypothesis import strategies as st

CHAINS = Path(fathom.analysis.__file__).parent / "sql" / "chains.sql"
RANK = st.one_of(st.none(), st.integers(0, 3))
PROCESS = st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 12), RANK)


def asked(processes: list[tuple[int, int, int, int | None]]) -> dict[int, int]:
    """chains() of processes of these nodes, starts, durations and ranks."""
    connection = duckdb.connect()
    connection.execute(
        "create table processes (process uinteger, node uinteger, start bigint, stop bigint, rank bigint)"
    )
    for number, (node, start, duration, rank) in enumerate(processes):
        row = (number, node, start, start + duration, rank)
        connection.execute("insert into processes values (?, ?, ?, ?, ?)", row)
    (macro,) = (
        one for one in definitions(CHAINS.read_text("utf-8"), "chains") if one.name == "chains"
    )
    connection.execute(macro.sql)
    rows = connection.execute("select process, chain from chains()").fetchall()
    assert len(rows) == len(processes)
    return dict(rows)


def place_of(process: tuple[int, int, int, int | None]) -> int:
    """A rank's own, or its node's."""
    node, _, _, rank = process
    return node if rank is None else -1 - rank


@given(st.lists(PROCESS, max_size=20))
def test_a_chain_is_of_one_place_and_never_two_at_once(
    processes: list[tuple[int, int, int, int | None]],
) -> None:
    """And there are as many chains of a place as ever ran at once."""
    chain_of = asked(processes)
    spans = [(start, start + max(took, 1)) for _, start, took, _ in processes]
    for one, (start, stop) in enumerate(spans):
        assert chain_of[chain_of[one]] == chain_of[one]
        for other, (begins, ends) in list(enumerate(spans))[:one]:
            if chain_of[one] == chain_of[other]:
                assert place_of(processes[one]) == place_of(processes[other])
                assert stop <= begins or ends <= start
    for place in set(map(place_of, processes)):
        here = [number for number, process in enumerate(processes) if place_of(process) == place]
        at_once = [sum(spans[b][0] <= spans[a][0] < spans[b][1] for b in here) for a in here]
        assert len({chain_of[number] for number in here}) == max(at_once)
