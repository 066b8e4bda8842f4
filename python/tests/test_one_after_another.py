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


@given(st.lists(PROCESS, max_size=20))
def test_a_chain_is_of_one_node_and_never_two_at_once(
    processes: list[tuple[int, int, int, int | None]],
) -> None:
    """And there are as many chains of a node as ever ran at once."""
    chain_of = asked(processes)
    alone = [number for number, (*_, rank) in enumerate(processes) if rank is None]
    assert all(chain_of[rank] == rank for rank in chain_of if rank not in alone)
    for one in alone:
        assert chain_of[chain_of[one]] == chain_of[one]
        for other in alone:
            if one < other and chain_of[one] == chain_of[other]:
                (node, start, took, _), (node_2, start_2, took_2, _) = (
                    processes[one],
                    processes[other],
                )
                assert node == node_2
                assert start + max(took, 1) <= start_2 or start_2 + max(took_2, 1) <= start
    for node in (0, 1):
        here = [processes[number] for number in alone if processes[number][0] == node]
        at_once = [
            sum(start <= at < start + max(took, 1) for _, start, took, _ in here)
            for _, at, _, _ in here
        ]
        chains = {chain_of[number] for number in alone if processes[number][0] == node}
        assert len(chains) == max(at_once, default=0)
