"""Findings on servers: which file systems and traced servers are slow, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fathom
import pytest
from ask_finding import ask
from fathom.analysis import findings
from schema import counters_of, write_run

Call = dict[str, Any]


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
    rows = ask(findings.Questions(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == (["/d2"] if reason else [])
    if rows:
        assert rows[0]["why"].startswith(reason)
        excess = sum(call["duration"] - 3 * 10**6 for call in slow if call["process"] == 0) / 1e9
        assert rows[0]["lost"] == pytest.approx(excess)


#: File systems of files, with their OSTs where those are known, and who is blamed for the last two.
PLACES = {
    "directories of a local disk": (["ext4 /"] * 4, ""),
    "local disks": (["ext4 /d0", "ext4 /d1", "xfs /d2", "xfs /d2"], ""),
    "local disks of one type": (["ext4 /d0", "ext4 /d1", "ext4 /d2", "ext4 /d2"], ""),
    "one file system of a network": (["nfs4 /d"] * 4, ""),
    "file systems of other types": (["nfs4 /d0", "nfs4 /d0", "gpfs /d1", "gpfs /d1"], ""),
    "one that is not known": ([""] * 4, ""),
    "OSTs": (["lustre /s 7", "lustre /s 0", "lustre /s 14", "lustre /s 14"], "OST 14"),
    "OSTs in pairs": ([f"lustre /s {pair}" for pair in ("7,8", "8,9", "9,10", "10,11", "11,14", "14,7")], "OST 14"),
    "OSTs never apart": (["lustre /s 7", "lustre /s 8", "lustre /s 14,15", "lustre /s 15,14"], "OST 14, OST 15"),
}  # fmt: skip


@pytest.mark.parametrize("where", PLACES)
def test_what_is_a_server(tmp_path: Path, where: str) -> None:
    """The last two files, of one directory, take five times as long as the others."""
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
            {
                "file": f,
                "path": f"/d{min(f, last)}/x{f}",
                "kind": "regular",
                "file_system": kind,
                "mount": mount,
            }
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
    rows = ask(findings.Questions(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == ([blamed] if blamed else [])
    for row in rows:
        assert row["files"] in (None, 2)
        assert "lfs setstripe" in row["mend"]
        assert row["lost"] == pytest.approx(60 * 12e-3)


@pytest.mark.parametrize(
    ("own", "parts", "blamed"),
    [
        (False, "", ["OST 14"]),
        # One rank for each OST: it may as well be the rank.
        (True, "", []),
        # The layout's parts differ: nobody knows where an access went to.
        (False, "2 parts", []),
    ],
)
def test_a_slow_ost_of_a_striped_file(
    tmp_path: Path, own: bool, parts: str, blamed: list[str]
) -> None:
    """Accesses in stripes of a MiB, round the OSTs: those on the third OST take 9 ms, the others 3."""
    osts = [0, 1, 14, 3]
    calls: list[Call] = []
    for n in range(160):
        at = n % 4
        process = at if own else n // 4 % 4
        row = {"id": n, "process": process, "stream": process, "layer": "posix", "op": "pwrite"}
        row |= {
            "kind": "write",
            "file": 0,
            "file_offset": n << 20,
            "bytes": 1 << 19,
            "state": "done",
        }
        row |= {"start": n * 10**7, "duration": (9 if osts[at] == 14 else 3) * 10**6}
        calls.append(row)
    hints = {
        "osts": "0,1,14,3",
        "striping_unit": str(1 << 20),
        "striping_factor": "4",
        "components": parts,
    }
    run = write_run(
        tmp_path / "r",
        runs=[{"ranks": 4, "duration": 2 * 10**9, "events": 1}],
        processes=[{"process": p, "rank": p} for p in range(4)],
        files=[
            {"file": 0, "path": "/s/x", "kind": "regular", "file_system": "lustre", "mount": "/s"}
        ],
        hints_in_force=[
            {"file": 0, "source": "in force", "key": key, "value": value}
            for key, value in hints.items()
            if value
        ],
        calls=calls,
        counters=counters_of(calls),
    )
    rows = ask(findings.Questions(fathom.open(run)), "slow-ost")
    assert [row["server"] for row in rows] == blamed
    for row in rows:
        assert row["lost"] == pytest.approx(10 * 6e-3)


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
    (row,) = ask(findings.Questions(fathom.open(run)), "slow-server")
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
    rows = ask(findings.Questions(fathom.open(run)), "slow-server")
    assert [row["server"] for row in rows] == (["n4"] if why else [])
    for row in rows:
        assert row["why"].startswith(why)
        assert row["lost"] == pytest.approx(100 * (way - 10**5) / 1e9)
        assert len(row["calls"]) == 8
