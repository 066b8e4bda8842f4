"""Collective I/O: splits of time against counting every tick, file domains against those that were dealt out."""

import random
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import collectives
from fathom.run.store import Run
from schema import counters_of, write_run

NS = 1e-9
OPS = [
    {"layer": "mpiio", "op": f"MPI_File_{kind}_all", "kind": kind, "collective": True, "tracked": False}
    for kind in ("read", "write")
]  # fmt: skip
Row = dict[str, Any]


class Scenario:
    """Calls of a run under construction: ids count up, each process has its stream."""

    def __init__(self) -> None:
        self.calls: list[Row] = []
        self.operations: list[Row] = []
        self.links: list[Row] = []

    def call(self, process: int, layer: str, op: str, start: int, stop: int, **rest: Any) -> int:
        number = process << 40 | len(self.calls)
        who = {"id": number, "process": process, "stream": process, "rank": process}
        when = {"start": start, "duration": stop - start}
        self.calls.append(who | when | {"layer": layer, "op": op, "file": 0} | rest)
        return number

    def part(self, process: int, kind: str, start: int, stop: int, size: int) -> int:
        """A rank's part in the collective call that comes next."""
        op, collective = f"MPI_File_{kind}_all", len(self.operations)
        return self.call(
            process, "mpiio", op, start, stop, kind=kind, bytes=size, collective=collective
        )

    def below(self, parent: int, kind: str, at: int, size: int, start: int, stop: int) -> int:
        rest = {"parent": parent, "kind": kind, "file_offset": at, "bytes": size, "size": size}
        return self.call(parent >> 40, "posix", f"p{kind}", start, stop, **rest)

    def joined(self, kind: str) -> None:
        """The parts since the last one are one operation."""
        number = len(self.operations)
        parts = [call for call in self.calls if call.get("collective") == number]
        enters = [call["start"] for call in parts]
        leaves = [call["start"] + call["duration"] for call in parts]
        self.operations.append(
            {
                "collective": number,
                "layer": "mpiio",
                "op": f"MPI_File_{kind}_all",
                "file": 0,
                "ranks_expected": len(parts),
                "ranks_seen": len(parts),
                "agreed": True,
                "first_enter": min(enters),
                "last_enter": max(enters),
                "first_leave": min(leaves),
                "last_leave": max(leaves),
                "bytes": sum(call["bytes"] for call in parts),
            }
        )

    def open(self, folder: Path, processes: int, **rest: Any) -> Run:
        streams = [{"stream": n, "process": n} for n in range(processes)]
        return fathom.open(
            write_run(
                folder / "r.fathom",
                runs=[{"duration": 9000}],
                processes=[{"process": n, "rank": n, "node": n // 2} for n in range(processes)],
                streams=streams,
                nodes=[{"node": n, "host": f"n{n}"} for n in range(processes // 2 + 1)],
                files=[{"file": 0, "path": "/f", "kind": "regular"}],
                ops=OPS,
                calls=self.calls,
                collectives=self.operations,
                links=self.links,
                **({"counters": counters_of(self.calls)} | rest),
            )
        )


def rows(table: Any) -> list[Row]:
    return sorted(table.to_pylist(), key=lambda row: row.get("collective") or 0)


# ---- time


def one_call(scenario: Scenario, dice: random.Random, process: int, kind: str) -> list[str]:
    """A part of ticks, each I/O, talking or neither; what the others make of it depends on when the last one comes."""
    start = dice.randrange(200)
    ticks = [dice.choice("innt") for _ in range(dice.randrange(5, 12))]
    spread = [tick for tick in ticks for _ in range(dice.randrange(1, 15))]
    number = scenario.part(process, kind, start, start + len(spread), 64)
    at = 0
    while at < len(spread):
        stop = at
        while stop < len(spread) and spread[stop] == spread[at]:
            stop += 1
        if spread[at] == "i":
            scenario.below(number, kind, 64 * process, 64, start + at, start + stop)
        if spread[at] == "t":
            scenario.call(
                process, "mpi", "MPI_Alltoall", start + at, start + stop, parent=number, kind="comm"
            )
        at = stop
    return [""] * start + spread


@pytest.mark.parametrize("romio", [True, False])
def test_time_is_split_as_counting_every_tick_does(tmp_path: Path, romio: bool) -> None:
    dice = random.Random(romio)
    scenario, expected, processes = Scenario(), [], 4
    for _ in range(60):
        kind = dice.choice(["read", "write"])
        who = dice.sample(range(processes), dice.randrange(1, processes + 1))
        timelines = [one_call(scenario, dice, process, kind) for process in who]
        scenario.joined(kind)
        last = scenario.operations[-1]["last_enter"]
        sums = dict.fromkeys(("wait", "io", "exchange", "rest"), 0)
        for timeline in timelines:
            for tick, what in enumerate(timeline):
                if what == "i":
                    sums["io"] += 1
                elif what and tick < last:
                    sums["wait"] += 1
                elif what == "t" and romio:
                    sums["exchange"] += 1
                elif what:
                    sums["rest"] += 1
        expected.append(sums)
    opens: list[Row] = []
    for process in range(processes):
        opened = {"id": 1, "process": process, "layer": "mpiio", "op": "MPI_File_open"}
        when = {"start": 0, "duration": 9, "kind": "open"}
        copied = {"id": 2, "parent": 1, "process": process, "layer": "mpi", "op": "MPI_Comm_dup"}
        opens += counters_of([opened | when, copied | when] if romio else [opened | when])
    run = scenario.open(tmp_path, processes, counters=opens + counters_of(scenario.calls))
    for row, sums in zip(rows(collectives.operations(run)), expected, strict=True):
        for name, ticks in sums.items():
            known = row[f"{name}_seconds"] or 0.0
            assert known == pytest.approx(ticks * NS), (name, row)
        assert romio or row["exchange_seconds"] is None
    by_function = rows(collectives.functions(run))
    assert sum(row["wait_seconds"] for row in by_function) == pytest.approx(
        sum(sums["wait"] for sums in expected) * NS
    )


# ---- domains


def deal(scheme: str, dice: random.Random) -> tuple[list[tuple[int, int, int]], int]:
    """(aggregator, offset, bytes) of a file dealt out in this way; and the unit that borders or stripes have."""
    base = dice.randrange(0, 5000)
    if scheme in ("even", "aligned"):
        n, each = dice.randrange(2, 6), dice.randrange(9000, 90000)
        extent, unit = n * each - dice.randrange(n), 4096
        size = -(-extent // n)
        borders = [base + i * size for i in range(n)] + [base + extent]
        if scheme == "aligned":
            borders[1:n] = [round(border / unit) * unit for border in borders[1:n]]
        return [(i, borders[i], borders[i + 1] - borders[i]) for i in range(n)], unit
    n, stripe, first = dice.randrange(2, 6), 1 << dice.randrange(9, 16), dice.randrange(4)
    rounds = dice.randrange(3, 7)
    order = list(range(n))
    dice.shuffle(order)
    if scheme == "round-robin by stripe":
        return [(order[k % n], (first + k) * stripe, stripe) for k in range(n * rounds)], stripe
    groups, each = dice.randrange(2, 4), n * rounds
    whose = [g * n + order[k % n] for g in range(groups) for k in range(each)]
    return [(who, (first + k) * stripe, stripe) for k, who in enumerate(whose)], stripe


SCHEMES = ("even", "aligned", "round-robin by stripe", "group")


def test_domains_are_named_as_they_were_dealt(tmp_path: Path) -> None:
    dice = random.Random(1)
    scenario = Scenario()
    dealt = []
    for scheme in SCHEMES * 25:
        pieces, unit = deal(scheme, dice)
        chunk = dice.choice([1 << 9, 1 << 13, 1 << 20])
        moved = dict.fromkeys(range(max(who for who, _, _ in pieces) + 2), 0)
        each = sum(size for _, _, size in pieces) // len(moved)
        parts = {who: scenario.part(who, "write", 0, 100, each) for who in moved}
        for who, at, size in pieces:
            for start in range(at, at + size, chunk):
                some = min(chunk, at + size - start)
                scenario.below(parts[who], "write", start, some, 10, 20)
                moved[who] += some
        scenario.joined("write")
        dealt.append((scheme, unit, pieces, chunk, moved))
    named = rows(collectives.operations(scenario.open(tmp_path, 20)))
    for row, (scheme, unit, pieces, chunk, moved) in zip(named, dealt, strict=True):
        who = sorted({who for who, _, _ in pieces})
        assert row["domains"] == scheme
        assert (row["aggregators"], row["aggregator_ranks"]) == (len(who), who)
        assert row["aggregator_nodes"] == len({rank // 2 for rank in who})
        assert row["aggregator_most_bytes"] == max(moved.values())
        assert row["chunk_bytes"] == min(chunk, max(size for _, _, size in pieces))
        if scheme == "aligned":
            assert row["aligned_bytes"] % unit == 0
        if scheme in SCHEMES[2:]:
            assert row["stripe_bytes"] == unit


def test_stripes_dealt_out_in_no_order_are_unknown(tmp_path: Path) -> None:
    scenario = Scenario()
    parts = [scenario.part(who, "write", 0, 100, 8192) for who in range(4)]
    for k, who in enumerate([0, 1, 1, 0, 0, 0, 1, 0]):
        scenario.below(parts[who], "write", 4096 * k, 4096, 10, 20)
    scenario.joined("write")
    (row,) = rows(collectives.operations(scenario.open(tmp_path, 4)))
    assert row["domains"] == "unknown"


def test_ranks_that_move_their_own_are_independent(tmp_path: Path) -> None:
    """Once said by links, once by bytes alone; a rank without bytes and without system calls does not count."""
    scenario = Scenario()
    for linked in (True, False):
        for who in range(3):
            part = scenario.part(who, "write", 0, 100, 100 * who)
            if who:
                below = scenario.below(part, "write", 1000 * who, 100 * who, 10, 20)
                if linked:
                    scenario.links.append(
                        {
                            "from_call": below,
                            "to_call": part,
                            "kind": "carries",
                            "bytes": 100 * who,
                            "confidence": 100,
                        }
                    )
        scenario.joined("write")
    assert [row["domains"] for row in rows(collectives.operations(scenario.open(tmp_path, 3)))] == [
        "independent",
        "independent",
    ]


def test_an_aggregator_and_whose_bytes_it_moved(tmp_path: Path) -> None:
    scenario = Scenario()
    parts = [scenario.part(who, "write", 0, 100, 10) for who in range(3)]
    below = scenario.below(parts[1], "write", 0, 30, 10, 20)
    for part in parts:
        link = {"from_call": below, "to_call": part, "kind": "carries", "bytes": 10}
        scenario.links.append(link | {"confidence": 100})
    scenario.joined("write")
    run = scenario.open(tmp_path, 3)
    (row,) = rows(collectives.operations(run))
    assert (row["domains"], row["linked_bytes"], row["for_others_bytes"]) == ("one", 30, 20)
    (row,) = collectives.aggregators(run).to_pylist()
    assert (row["rank"], row["bytes"], row["own_bytes"], row["of_ranks"]) == (1, 30, 10, [0, 1, 2])


# ---- sieving


@pytest.mark.parametrize("seed", range(3))
def test_extra_bytes_are_those_of_plain_addition(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    scenario = Scenario()
    expected: dict[str, list[int]] = {}
    for number in range(20):
        kind = dice.choice(["read", "write"])
        op = f"MPI_File_{kind}_at"
        asked = dice.randrange(1, 100)
        call = scenario.call(
            0, "mpiio", op, 100 * number, 100 * number + 90, kind=kind, bytes=asked, size=asked
        )
        sums = expected.setdefault(op, [0] * 6)
        sums[0] += asked
        for n in range(dice.randrange(4)):
            what, size = dice.choice(["read", "write"]), dice.randrange(1, 200)
            start = 100 * number + 10 * n
            scenario.below(call, what, 0, size, start, start + 5)
            sums[1 if what == "read" else 3] += 1
            sums[2 if what == "read" else 4] += size
        if dice.random() < 0.5:
            scenario.call(
                0, "posix", "fcntl", 100 * number + 80, 100 * number + 83, parent=call, kind="meta"
            )
            sums[5] += 1
    run = scenario.open(tmp_path, 1)
    for row in collectives.sieving(run).to_pylist():
        asked, reads, read, writes, written, locks = expected[row["op"]]
        assert row["bytes"] == asked
        assert (row["reads"], row["bytes_read"]) == (reads, read)
        assert (row["writes"], row["bytes_written"]) == (writes, written)
        assert (row["locks"], row["lock_seconds"]) == (locks, pytest.approx(3 * locks * NS))
        if read + written:
            assert row["extra_bytes"] == max(0, read + written - asked)
            assert row["efficiency"] == pytest.approx(asked / (read + written))
    one_by_one = collectives.sieved_calls(run).to_pylist()
    assert all(row["extra_bytes"] or row["locks"] for row in one_by_one)
    assert sum(row["locks"] for row in one_by_one) == sum(sums[5] for sums in expected.values())


def test_cases_worked_out_by_hand(tmp_path: Path) -> None:
    """Those of docs/collective-io.md; a unit of time is 1 ms there."""
    scenario = Scenario()
    ms = 1_000_000
    one = scenario.part(0, "write", 0, 100 * ms, 8)
    two = scenario.part(1, "write", 30 * ms, 100 * ms, 8)
    scenario.call(0, "mpi", "MPI_Alltoall", 0, 100 * ms, parent=one, kind="comm")
    scenario.call(1, "mpi", "MPI_Alltoall", 30 * ms, 40 * ms, parent=two, kind="comm")
    scenario.below(two, "write", 0, 16, 40 * ms, 90 * ms)
    scenario.joined("write")
    alone = scenario.call(0, "mpiio", "MPI_File_write", 200 * ms, 210 * ms, kind="write", bytes=32)
    for kind in ("read", "write"):
        scenario.below(alone, kind, 0, 116, 201 * ms, 202 * ms)
    copied = [
        {"process": n, "layer": "mpiio", "op": "MPI_File_open", "calls": 1} for n in range(2)
    ] + [
        {"process": n, "enclosing_layer": "mpiio", "enclosing": "MPI_File_open", "layer": "mpi",
         "op": "MPI_Comm_dup", "calls": 1}
        for n in range(2)
    ]  # fmt: skip
    run = scenario.open(tmp_path, 2, counters=copied + counters_of(scenario.calls))
    (row,) = collectives.operations(run).to_pylist()
    split = [row[f"{part}_seconds"] for part in ("wait", "exchange", "io", "rest")]
    assert split == pytest.approx([0.030, 0.080, 0.050, 0.010])
    assert row["seconds"] == pytest.approx(0.170)
    sieved = {row["op"]: row for row in collectives.sieving(run).to_pylist()}["MPI_File_write"]
    assert (sieved["extra_bytes"], round(sieved["efficiency"], 2)) == (200, 0.14)


def test_nothing_to_say_of_a_run_without_mpiio(tmp_path: Path) -> None:
    run = Scenario().open(tmp_path, 1)
    for analysis in (
        collectives.operations,
        collectives.functions,
        collectives.aggregators,
        collectives.sieving,
        collectives.sieved_calls,
    ):
        assert analysis(run).num_rows == 0
