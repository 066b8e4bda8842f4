"""Which accesses of shared files overlap, and in which order: the SQL against rules said once more, on random runs."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.account import prepare
from schema import counters_of, write_run

RANKS = 4
Call = dict[str, Any]


def shared(run: Any, name: str) -> list[dict[str, Any]]:
    """Rows of a table that findings share."""
    asked = findings.Questions(run)
    prepare(asked.run, f"{name}()")
    return list(run.sql(f"from {name}()").to_pylist())


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
