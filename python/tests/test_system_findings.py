"""Findings on ranks, servers and shared files: the SQL against rules said once more, pair by pair, on random runs."""

from __future__ import annotations

import itertools
import random
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.account import prepare
from fathom.analysis.sentence import sentence
from fathom.run import paths
from schema import counters_of, write_run

RANKS = 4
Call = dict[str, Any]


def shared(run: Any, name: str) -> list[dict[str, Any]]:
    """Rows of a table that findings share."""
    asked = findings.Asked(run)
    prepare(asked.run, f"{name}()")
    return list(run.sql(f"from {name}()").to_pylist())


def ask(asked: findings.Asked, name: str) -> list[dict[str, Any]]:
    return asked.rows(findings.read(paths.catalog() / "findings" / f"{name}.sql"))


def random_file(rng: random.Random, file: int) -> list[Call]:
    """A few accesses of several ranks to few bytes, with opens, closes and syncs between."""
    rows = []
    layers = rng.choice([["posix"], ["mpiio"], ["posix", "mpiio"]])
    for _ in range(rng.randrange(3, 12)):
        process, layer = rng.randrange(RANKS), rng.choice(layers)
        start, duration = rng.randrange(5000), rng.choice([1, 30, 400])
        row = {"process": process, "stream": process, "layer": layer, "file": file, "start": start}
        row |= {"duration": duration, "state": "done"}
        kind = rng.choice(["read", "write", "write", "write", "open", "close", "sync", "sync"])
        if kind in ("read", "write"):
            row |= {"file_offset": rng.randrange(40), "bytes": rng.randrange(1, 30)}
        rows.append(row | {"kind": kind, "op": f"{layer} {kind}"})
    return rows


def barriers(rng: random.Random) -> list[Call]:
    """Nobody leaves one before all have entered it."""
    return [
        {
            "process": process,
            "stream": process,
            "layer": "mpi",
            "op": "MPI_Barrier",
            "kind": "comm",
            "object": process,
            "start": (enters := at - rng.randrange(1, 200)),
            "duration": at + rng.randrange(200) - enters,
            "state": "done",
        }
        for at in (1000, 2000, 3500)
        for process in range(RANKS)
    ]


def random_run(path: Path, rng: random.Random, files: int, talk: bool, error: int | None) -> Any:
    calls = [call for file in range(files) for call in random_file(rng, file)] + barriers(rng)
    for number, call in enumerate(calls):
        call["id"] = number
    counters = counters_of(calls)
    if talk:
        counters.append(
            {"process": 0, "layer": "mpi", "op": "MPI_Send", "kind": "comm", "calls": 1}
        )
    run = write_run(
        path,
        runs=[{"ranks": RANKS, "duration": 6000}],
        processes=[
            {"process": p, "rank": p, "clock": p % 2, "stop": 2800 + p, "ended": "clean"}
            for p in range(RANKS)
        ],
        clocks=[{"clock": 0, "error": 0, "error_local": 5}, {"clock": 1, "error": error, "error_local": 7}],
        files=[{"file": file, "path": f"/d/{file}", "kind": "regular"} for file in range(files)],
        objects=[{"object": p, "process": p, "communicator_size": RANKS} for p in range(RANKS)],
        calls=calls,
        counters=counters,
    )  # fmt: skip
    return fathom.open(run), calls


def weakest(x: Call, y: Call, calls: list[Call], talk: bool, error: int | None) -> tuple[str, bool]:
    """The semantics of one pair, x the first: as docs say them, looking at all calls for each."""
    stop = {call["id"]: call["start"] + call["duration"] for call in calls}
    same_clock = x["process"] % 2 == y["process"] % 2
    bound = (5, 7)[x["process"] % 2] if same_clock else error

    def meetings(process: int) -> list[Call]:
        own = (c for c in calls if c["layer"] == "mpi" and c["process"] == process)
        return sorted(own, key=lambda call: call["start"])

    def may_follow(before: int, after: int) -> bool:
        if talk:
            return bound is None or before - bound <= after
        pairs = zip(meetings(x["process"]), meetings(y["process"]), strict=True)
        return any(a["start"] >= before and stop[b["id"]] <= after for a, b in pairs)

    def last_of(wanted: Any) -> list[int]:
        return [
            stop[c["id"]]
            for c in calls
            if c.get("file") == x["file"] and c["process"] == x["process"]
            and c["start"] >= stop[x["id"]] and wanted(c)
        ]  # fmt: skip

    def first_of(wanted: Any) -> list[int]:
        return [
            c["start"]
            for c in calls
            if c.get("file") == x["file"] and c["process"] == y["process"]
            and stop[c["id"]] <= y["start"] and wanted(c)
        ]  # fmt: skip

    def through(release: Any, acquire: Any) -> bool:
        return any(may_follow(a, b) for a in last_of(release) for b in first_of(acquire))

    at_once = (
        bound is not None
        and stop[x["id"]] - bound > y["start"]
        and stop[y["id"]] - bound > x["start"]
    )
    if at_once or not may_follow(stop[x["id"]], y["start"]):
        return "none", at_once
    mpi = x["layer"] == y["layer"] == "mpiio"
    if x["kind"] == "read" or through(
        lambda c: c["kind"] == "close", lambda c: c["kind"] == "open"
    ):
        return "session", at_once
    if mpi and through(
        lambda c: c["layer"] == "mpiio" and c["kind"] in ("close", "sync"),
        lambda c: c["layer"] == "mpiio" and c["kind"] in ("open", "sync"),
    ):
        return "mpi", at_once
    commits = last_of(lambda c: c["kind"] in ("close", "sync"))
    return ("commit" if any(may_follow(at, y["start"]) for at in commits) else "posix"), at_once


@pytest.mark.parametrize("talk", [False, True])
@pytest.mark.parametrize("error", [0, 40, None])
def test_order_of_overlapping_accesses(tmp_path: Path, talk: bool, error: int | None) -> None:
    run, calls = random_run(
        tmp_path / "r.fathom", random.Random(f"{talk}{error}"), 600, talk, error
    )
    by_file = defaultdict(list)
    for call in calls:
        if call["kind"] in ("read", "write"):
            by_file[call["file"]].append(call)
    meetings = [call for call in calls if call["layer"] == "mpi"]
    # A process that ends closes its files. (That it may go on after that does not matter here.)
    ends = [
        {"id": -p - 1, "process": p, "layer": "", "kind": "close", "start": 2800 + p, "duration": 0}
        for p in range(RANKS)
    ]
    wanted = {}
    for file, accesses in by_file.items():
        of_file = [call for call in calls if call.get("file") == file] + meetings
        of_file += [end | {"file": file} for end in ends]
        ordered = sorted(accesses, key=lambda call: (call["start"], call["id"]))
        for i, x in enumerate(ordered):
            for y in ordered[i + 1 :]:
                apart = (
                    x["file_offset"] + x["bytes"] <= y["file_offset"]
                    or y["file_offset"] + y["bytes"] <= x["file_offset"]
                )
                if x["process"] == y["process"] or apart or "write" not in (x["kind"], y["kind"]):
                    continue
                wanted[x["id"], y["id"]] = weakest(x, y, of_file, talk, error)
    rows = shared(run, "conflicts")
    levels = {(row["first"], row["second"]): (row["level"], row["at_once"]) for row in rows}
    assert levels == wanted
    assert {level for level, _ in wanted.values()} == {"none", "posix", "commit", "mpi", "session"}


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
    asked = findings.Asked(run_of(tmp_path / "r", calls, processes))
    lost_by = {row["who"]: row["lost"] for row in ask(asked, "slow-rank")}
    assert lost_by == pytest.approx(wanted)


def test_slow_ranks_of_one_node_are_one(tmp_path: Path) -> None:
    row = {
        "layer": "posix",
        "op": "pwrite",
        "kind": "write",
        "file": 0,
        "file_offset": 0,
        "bytes": 1000,
        "state": "done",
    }
    calls = [
        row | {"id": 50 * p + n, "process": p, "stream": p, "start": n * 10**7, "duration": 10**6 * each}
        for p, each in enumerate([1] * 6 + [14, 15])
        for n in range(40)
    ]  # fmt: skip
    asked = findings.Asked(run_of(tmp_path / "r", calls, 8, node=0))
    (found,) = ask(asked, "slow-rank")
    assert (found["who"], found["slowest"], found["at_most"]) == ("2 ranks (6, 7)", 7, "up to ")
    assert found["lost"] == pytest.approx(40 * 14e-3)
    apart = findings.Asked(run_of(tmp_path / "apart", calls, 8))
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
    asked = findings.Asked(run_of(tmp_path / "r", calls, processes, counters=counters))
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
    row = {
        "layer": "posix",
        "op": "pwrite",
        "kind": "write",
        "file": 0,
        "file_offset": 0,
        "bytes": 1000,
        "state": "done",
    }
    calls = [
        row | {"process": p, "stream": p, "start": n * 10**7, "duration": 10**6 if p == 0 else 10**7}
        for p in range(4)
        for n in range(40 if p == 0 else 8)
    ]  # fmt: skip
    for n, call in enumerate(calls):
        call["id"] = n
    assert ask(findings.Asked(run_of(tmp_path / "r", calls, 4)), "uneven-ranks") == []
    for call in calls[:40]:
        call["duration"] = 4 * 10**6  # 160 ms, the others 80
    (found,) = ask(findings.Asked(run_of(tmp_path / "longer", calls, 4)), "uneven-ranks")
    assert found["lost"] == pytest.approx(0.06)


def on_server(server: int, n: int, each: int, together: bool = False) -> list[Call]:
    """Writes to a file of one directory: one after the other, or two processes at once. Durations in ms."""
    rows = []
    for i in range(n):
        for process in range(1 + together):
            row = {"process": process, "stream": process, "layer": "posix", "op": "pwrite"}
            row |= {"kind": "write", "file": server, "file_offset": 0, "bytes": 1000}
            row |= {"start": (server * 1000 + i * 20) * 10**6, "duration": each * 10**6}
            rows.append(row | {"state": "done"})
    return rows


SLOW = {
    "itself": (on_server(2, 30, 9), "not its queue"),
    "queue": (on_server(2, 10, 3) + on_server(3, 30, 9, True), "its queue: a call that is there alone"),
    "busy disk": (on_server(2, 30, 9), "the disk: sda was busy 90 %"),
    "unknown": (on_server(3, 30, 9, True), "why is not known"),
    "counted": (on_server(2, 30, 9), "why is not known"),
    "none": (on_server(2, 30, 4), ""),
    "one call": (on_server(2, 29, 3) + on_server(3, 1, 300), ""),
}  # fmt: skip


@pytest.mark.parametrize("why", SLOW)
def test_why_a_server_is_slow(tmp_path: Path, why: str) -> None:
    """Files 2 and 3 lie on the server in question; the other two take 3 ms a call."""
    slow, reason = SLOW[why]
    calls = on_server(0, 30, 3) + on_server(1, 30, 3) + slow
    for n, call in enumerate(calls):
        call["id"] = n
    samples = [
        {"node": 0, "time": at, "what": "disk.busy", "device": "sda", "value": at * 9 // 10, "unit": "ns"}
        for at in range(0, 4 * 10**9, 10**8)
    ]  # fmt: skip
    run = write_run(
        tmp_path / "r",
        runs=[{"ranks": 2, "duration": 2 * 10**9, "events": 1}],
        processes=[{"process": p, "rank": p} for p in range(2)],
        files=[
            {
                "file": f,
                "path": f"/d{min(f, 2)}/x{f}",
                "kind": "regular",
                "file_system": "nfs4",
                "mount": f"/d{min(f, 2)}",
            }
            for f in range(4)
        ],
        calls=[] if why == "counted" else calls,
        counters=counters_of(calls),
        samples=samples if why == "busy disk" else [],
    )
    rows = ask(findings.Asked(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == (["/d2"] if reason else [])
    if rows:
        assert rows[0]["why"].startswith(reason)
        excess = sum(call["duration"] - 3 * 10**6 for call in slow if call["process"] == 0) / 1e9
        assert rows[0]["lost"] == pytest.approx(excess)


#: File systems of files, with their OSTs where those are known, and who is blamed for the last two.
PLACES = {
    "directories of a local disk": (["ext4 /"] * 4, ""),
    "local disks": (["ext4 /d0", "ext4 /d1", "xfs /d2", "xfs /d2"], ""),
    "one file system of a network": (["nfs4 /d"] * 4, ""),
    "file systems of other types": (["nfs4 /d0", "nfs4 /d0", "gpfs /d1", "gpfs /d1"], ""),
    "one that is not known": ([""] * 4, ""),
    "OSTs": (["lustre /s 7", "lustre /s 0", "lustre /s 14", "lustre /s 14"], "OST 14"),
    "OSTs in pairs": ([f"lustre /s {pair}" for pair in ("7,8", "8,9", "9,10", "10,11", "11,14", "14,7")], "OST 14"),
    "OSTs never apart": (["lustre /s 7", "lustre /s 8", "lustre /s 14,15", "lustre /s 15,14"], "OST 14, OST 15"),
}  # fmt: skip


@pytest.mark.parametrize("where", PLACES)
def test_what_is_a_server(tmp_path: Path, where: str) -> None:
    """The last two files take five times as long as the others."""
    places, blamed = PLACES[where]
    last = len(places) - 2
    calls = [
        call
        for file in range(len(places))
        for call in on_server(file, 30, 3 if file < last else 15)
    ]
    for n, call in enumerate(calls):
        call["id"] = n
    of_file = [(place.split() + [None] * 3)[:3] for place in places]
    run = write_run(
        tmp_path / "r",
        runs=[{"ranks": 1, "duration": 5 * 10**9, "events": 1}],
        processes=[{"process": 0, "rank": 0}],
        files=[
            {"file": f, "path": f"/d{f}/x", "kind": "regular", "file_system": kind, "mount": mount}
            for f, (kind, mount, _) in enumerate(of_file)
        ],
        hints_in_force=[
            {"file": f, "source": "in force", "key": key, "value": value}
            for f, (_, _, osts) in enumerate(of_file)
            if osts
            for key, value in (("osts", osts), ("striping_unit", "1048576"))
        ],
        calls=calls,
        counters=counters_of(calls),
    )
    rows = ask(findings.Asked(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == ([blamed] if blamed else [])
    for row in rows:
        assert row["files"] in (None, 2)
        assert "lfs setstripe" in row["mend"]
        assert row["lost"] == pytest.approx(60 * 12e-3)


@pytest.mark.parametrize(
    ("at_disk", "waits", "why"),
    [
        (45 * 10**7, "queued", "its disk: 90 % of its time"),
        (10**8, "queued", "its queue: requests wait there for 75 % of their time"),
        (10**8, "pulled", "the network: 75 % of the time that its clients waited"),
    ],
)
def test_a_traced_server_knows_why(tmp_path: Path, at_disk: int, waits: str, why: str) -> None:
    """Processes 2 to 4 are servers; the last takes five times as long: at its disk, waiting for it, or for data."""
    counters = [
        {"process": p, "layer": layer, "op": "w", "kind": "write", "calls": 100, "bytes": 10**6, "time": time}
        for p, times in ((2, (10**8, 5 * 10**7)), (3, (10**8, 5 * 10**7)), (4, (5 * 10**8, at_disk)))
        for layer, time in zip(("server", "disk"), times, strict=True)
    ]  # fmt: skip
    served = {"process": 4, "layer": "server", "op": "w", "kind": "write", "duration": 5 * 10**6}
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9}],
        processes=[{"process": p, "node": p} for p in range(5)],
        nodes=[{"node": p, "host": f"n{p}"} for p in range(5)],
        counters=counters,
        calls=[served | {"id": n, "start": n * 5 * 10**6} for n in range(100)],
        args=[{"call": n, "name": waits, "value": 375 * 10**4} for n in range(100)],
    )
    (row,) = ask(findings.Asked(fathom.open(run)), "slow-server")
    assert row["server"] == "n4"
    assert row["why"].startswith(why)
    assert row["lost"] == pytest.approx(0.4)


def served(server: int, way: int, relayed: bool) -> tuple[list[Call], list[Call]]:
    """A client's 100 writes that the server took 1 ms for, each `way` ns longer by the client's clock; its links."""
    calls, links = [], []
    for n in range(100):
        asked = 2 * (100 * server + n)
        write = {"op": "w", "kind": "write", "bytes": 10**4, "state": "done"}
        work = {
            "id": asked,
            "process": server,
            "stream": server,
            "layer": "server",
            "start": n * 10**7,
        }
        kind = "comm" if relayed else "write"
        calls.append(write | work | {"duration": 10**6, "kind": kind})
        client = {"id": asked + 1, "process": 0, "layer": "posix", "duration": 10**6 + way}
        calls.append(write | client | {"start": n * 10**7 - way // 2})
        links.append({"from_call": asked, "to_call": asked + 1, "kind": "serves"})
    return calls, links


@pytest.mark.parametrize(
    ("way", "relayed", "why"),
    [
        (4 * 10**6, False, "the network: 80 % of the time that its clients waited"),
        (10**5, False, ""),
        (4 * 10**6, True, ""),
    ],
)
def test_the_way_to_a_traced_server(tmp_path: Path, way: int, relayed: bool, why: str) -> None:
    """Processes 2 to 4 are servers that work alike. What a server passed on says nothing of the way to it."""
    all_served = [
        served(server, way if server == 4 else 10**5, relayed and server == 4)
        for server in (2, 3, 4)
    ]
    counters = [
        {"process": p, "layer": layer, "op": "w", "kind": "write", "calls": 100, "bytes": 10**6, "time": time}
        for p in (2, 3, 4)
        for layer, time in (("server", 10**8), ("disk", 5 * 10**7))
    ]  # fmt: skip
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9}],
        processes=[{"process": p, "node": p} for p in range(5)],
        nodes=[{"node": p, "host": f"n{p}"} for p in range(5)],
        counters=counters,
        calls=[call for calls, _ in all_served for call in calls],
        links=[link for _, links in all_served for link in links],
    )
    rows = ask(findings.Asked(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == (["n4"] if why else [])
    for row in rows:
        assert row["why"].startswith(why)
        assert row["lost"] == pytest.approx(100 * (way - 10**5) / 1e9)
        assert len(row["calls"]) == 8


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
    rows = ask(findings.Asked(fathom.open(run)), "loaded-node")
    is_much = ratio >= 2 and lost > 2e7 and not what.startswith("nothing")
    assert [row["what"] for row in rows] == [what] * is_much
    if rows:
        assert (rows[0]["lost"], rows[0]["times"]) == pytest.approx((lost / 1e9, ratio))
        assert rows[0]["n"] == len(apart[True])


def test_what_fails_inside_mpi_is_not_blamed_on_the_program(tmp_path: Path) -> None:
    """Reads of a closed descriptor by the program and by MPI's own threads; one of a file, by MPI for the program; and
    one of a descriptor that nobody knows, when MPI opens a file."""
    modules = ["/me/program", "/usr/lib/libpmix.so.2", "/usr/lib/libmpi.so.40", "/opt/libmpi/mine"]
    files: list[int | None] = [None, None, 0, None]
    failed = {"layer": "posix", "kind": "read", "error": 9, "state": "done"}
    run = write_run(
        tmp_path,
        runs=[{"duration": 10**9}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        sites=[{"site": n, "module": module} for n, module in enumerate(modules)],
        calls=[
            {"id": 10, "layer": "mpiio", "op": "MPI_File_open", "kind": "open", "site": 0},
            failed | {"id": 11, "op": "within the open", "site": 0, "parent": 10, "depth": 1},
            *(
                failed | {"id": n, "op": module, "site": n, "file": file}
                for n, (module, file) in enumerate(zip(modules, files, strict=True))
            ),
        ],
    )
    rows = ask(findings.Asked(fathom.open(run)), "failed-calls")
    assert {row["op"] for row in rows} == {modules[n] for n in (0, 2, 3)}


@pytest.mark.parametrize("name", ["many-files", "open-close-churn", "sync-churn"])
@pytest.mark.parametrize("stalled", [True, False])
def test_one_long_call_of_those_counted_is_no_habit(
    tmp_path: Path, name: str, stalled: bool
) -> None:
    """Calls were only counted: 20 of a function, 50 ms in all; in one of them, or 2.5 ms in each."""
    kind = "sync" if name == "sync-churn" else "open"
    files = 20 if name == "many-files" else 1
    counters = [
        {"layer": "posix", "op": kind, "kind": kind, "file": file, "calls": 20 // files}
        | {"time": time, "longest": time if stalled else 25 * 10**5}
        for file in range(files)
        for time in [5 * 10**7 * (file == 0) if stalled else 5 * 10**7 // files]
    ]
    counters.append(
        {"layer": "posix", "op": "write", "kind": "write", "file": 0, "calls": 20, "bytes": 20}
    )
    run = write_run(
        tmp_path / "r",
        runs=[{"duration": 10**9, "counted": 40}],
        processes=[{"process": 0}],
        files=[{"file": f, "path": f"/d/x{f}", "kind": "regular"} for f in range(files)],
        counters=counters,
    )
    assert bool(ask(findings.Asked(fathom.open(run)), name)) == (not stalled)


def test_what_is_said_of_several_bursts_is_of_the_largest(tmp_path: Path) -> None:
    """Two ranks open at once twice, in the second burst twice as often; alone an open takes a ms."""
    ms = 1_000_000
    spans = [(1000, rank, 100) for rank in (0, 1)]
    spans += [(at, rank, 100) for at in (5000, 5100) for rank in (0, 1)]
    spans += [(10_000 + 100 * n, 0, 1) for n in range(40)]
    calls = [
        {"id": id_, "process": rank, "stream": rank, "layer": "posix", "op": "open", "kind": "open", "file": 0,
         "start": at * ms, "duration": took * ms, "state": "done"}
        for id_, (at, rank, took) in enumerate(spans)
    ]  # fmt: skip
    run = write_run(
        tmp_path / "r.fathom", runs=[{"ranks": 2, "duration": 20_000 * ms}],
        processes=[{"process": rank, "rank": rank} for rank in (0, 1)],
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}], calls=calls, counters=counters_of(calls),
    )  # fmt: skip
    (row,) = ask(findings.Asked(fathom.open(run)), "metadata-storm")
    assert (row["n"], row["most"], row["window"]) == (6, 4, pytest.approx(0.2))


@pytest.mark.parametrize(
    ("mpi", "inside", "knob"),
    [
        ("Open MPI v4.1.4", "MPI_File_write", "in MPI_File_write: --mca fs_ufs_lock_algorithm 1"),
        ("MPICH 4.0.2", "MPI_File_write", "in MPI_File_write: romio_ds_write=disable"),
        ("MPICH 4.0.2", None, ""),
    ],
)
def test_knobs_are_of_the_library_that_locks(
    tmp_path: Path, mpi: str, inside: str | None, knob: str
) -> None:
    lock = {
        "id": 2,
        "layer": "posix",
        "op": "flock",
        "kind": "meta",
        "file": 0,
        "start": 5,
        "duration": 10**9,
    }
    calls = [lock]
    if inside:
        lock["parent"] = 1
        calls = [{**lock, "id": 1, "layer": "mpiio", "op": inside, "kind": "write", "parent": None}, lock]  # fmt: skip
    calls = [call | {"process": 0, "stream": 0, "state": "done"} for call in calls]
    run = write_run(
        tmp_path / "r.fathom", runs=[{"ranks": 1, "duration": 2 * 10**9}],
        processes=[{"process": 0, "rank": 0, "mpi": mpi}],
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}], calls=calls, counters=counters_of(calls),
    )  # fmt: skip
    (one,) = findings.find(
        fathom.open(run), [paths.catalog() / "findings" / "time-in-locks.sql"]
    ).conclusions
    advice = sentence(one.rule.knob, one.values)
    assert advice.startswith(knob)
    assert bool(advice) == bool(knob)


def test_where_a_knob_is_romios_there_is_one_of_ompio() -> None:
    """Or the rule asks whose MPI-IO it is itself."""
    for path in sorted((paths.catalog() / "findings").glob("*.sql")):
        rule = findings.read(path)
        assert not re.search(r"\b(romio|cb|ind)_\w+", rule.fix), f"{path.stem}: {rule.fix}"
        if re.search(r"\b(romio|cb|ind)_\w+", rule.knob):
            assert "--mca " in rule.ompio, path.stem
