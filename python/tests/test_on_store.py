"""What a run would take on another store: counts of requests and conflicts, by hand; the words of it."""

import json
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import on_store
from fathom.catalog.stores import stores
from fathom.errors import UsageError
from fathom.run.store import Run
from schema import counters_of, write_run

KIB = 1024


def call(
    process: int, op: str, kind: str, start: int, file: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        "process": process, "stream": process, "layer": "posix", "op": op, "kind": kind, "start": start,
        "duration": 1000, "state": "done", "file": file, **more,
    }  # fmt: skip


def run_of(place: Path, calls: list[dict[str, Any]], **counted: Any) -> Run:
    """A run of these calls by two ranks on files of ext4; `counted`: of them only counters are known."""
    for number, row in enumerate(calls):
        row["id"] = number
    counters = [{**row, **counted} for row in counters_of(calls)]
    path = write_run(
        place / "r.fathom",
        runs=[{"name": "r", "duration": 10**9, "events": len(calls), "ranks": 2}],
        nodes=[{"node": 0, "host": "n"}],
        processes=[{"process": p, "rank": p, "ranks": 2, "exe": "/bin/p"} for p in (0, 1)],
        files=[
            {"file": n, "path": f"/d/{name}", "kind": "regular", "key": "k", "file_system": "ext4"}
            for n, name in enumerate(("shared", "a.1", "a.2"))
        ],
        calls=[] if counted else calls,
        counters=counters,
    )
    return fathom.open(path)


def in_turn(pieces: int, size: int) -> list[dict[str, Any]]:
    """Two ranks write a file piece by piece, one after the other."""
    return [
        call(n % 2, "pwrite", "write", n * 1000, file_offset=n * size, bytes=size)
        for n in range(pieces)
    ]


@pytest.mark.parametrize(
    ("size", "least", "most"),
    [
        (
            1 * KIB,
            24,
            64,
        ),  # four in a page of 4 KiB: three of them find the other's lock, of each rank
        (4 * KIB, 1, 64),  # whole pages: locks of a stripe may be called back, and one is
        (1024 * KIB, 0, 0),  # whole stripes
    ],
)
def test_conflicts_are_those_of_lock_units_and_of_stripes(
    tmp_path: Path, size: int, least: int, most: int
) -> None:
    run = run_of(tmp_path, in_turn(128, size))
    rows = run.sql("from on_conflicts('lustre') order by process").to_pylist()
    assert [(row["process"], row["known"]) for row in rows] == (
        [(0, True), (1, True)] if most else []
    )
    assert sum(row["most"] for row in rows) == 2 * most
    assert all(row["least"] >= least for row in rows)
    assert run.sql("from on_conflicts('nfs')").num_rows == 0  # whose locks are of bytes


def test_conflicts_of_counters_are_an_estimate(tmp_path: Path) -> None:
    run = run_of(tmp_path, in_turn(128, KIB), recorded=0, consecutive=0, unaligned_file=1)
    rows = run.sql("from on_conflicts('lustre') order by process").to_pylist()
    assert [(row["known"], row["least"], row["most"]) for row in rows] == [(False, 1, 64)] * 2


def test_requests_are_counted_by_what_they_ask_for(tmp_path: Path) -> None:
    opens = [call(0, "open", "open", n, file=n + 1) for n in range(2)]
    missing = call(0, "open", "open", 5, error=2)
    writes = [
        call(0, "write", "write", 10 + n, file=1, bytes=KIB, file_offset=n * KIB) for n in range(6)
    ]
    syncs = [call(0, "fsync", "sync", 20 + n, file=1) for n in range(4)]
    others = [call(0, op, "meta", 30, file=1) for op in ("fstat", "unlink", "rename", "dup")]
    run = run_of(tmp_path, [*opens, missing, *writes, *syncs, *others])
    rows = run.sql(
        "select what, n, cached, served, bytes from on_requests() order by what, n"
    ).to_pylist()
    counted = {row["what"]: row["n"] for row in rows if row["what"] != "stat"}
    # The file that is written may have been made by its open.
    assert counted == {"create": 1, "open": 1, "write": 6, "sync": 4, "remove": 1, "change": 1}
    assert (
        sum(row["n"] for row in rows if row["what"] == "stat") == 2
    )  # one of a name that is not there
    write = next(row for row in rows if row["what"] == "write")
    assert (write["cached"], write["served"], write["bytes"]) == (2, 4, 6 * KIB)


def test_each_store_has_an_interval_that_grows_with_the_requests(tmp_path: Path) -> None:
    totals: dict[str, list[dict[str, float]]] = {}
    for pieces in (64, 640):
        run = run_of(tmp_path / str(pieces), in_turn(pieces, KIB))
        run.keep("requests", "from on_requests()")
        for store in stores():
            run.keep(f"locks_{store}", f"from on_conflicts('{store}')")
            sums = run.sql(
                "select sum(low) as low, sum(best) as best, sum(high) as high"
                f" from on_cells('{store}', 'requests', 'locks_{store}')"
            ).to_pylist()[0]
            assert 0 < sums["low"] <= sums["best"] <= sums["high"], store
            totals.setdefault(store, []).append(sums)
    for store, (few, many) in totals.items():
        assert few["low"] < many["low"] and few["high"] < many["high"], store


def test_stores_are_known_by_name_and_by_type() -> None:
    assert on_store.named("nfs4").name == "nfs"
    assert on_store.named("Lustre").name == "lustre"
    assert on_store.named("overlay").name == "local"
    with pytest.raises(UsageError, match=r"no store 'nope'; there are beegfs, .*zfs"):
        on_store.named("nope")


def test_the_page_says_what_hurts_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of(tmp_path, in_turn(128, KIB))
    path = str(tmp_path / "r.fathom")
    assert main(["show", path, "--on", "lustre"]) == 0
    said = capsys.readouterr().out
    for words in (
        "r on lustre: ",
        "here 64 µs",
        "/d/shared",
        "beside another process's",
        "Writers share a block",
    ):
        assert words in said
    assert "docs/stores.md, store lustre" in said
    assert main(["show", path, "--on", "lustre", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["store"] == "lustre" and content["files"][0]["place"] == "/d/shared"
    assert content["advice"][0]["finding"] == "shared-blocks"
    assert main(["show", path, "--on", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(stores())
    assert main(["show", path, "--on", "nope"]) == UsageError.status
    assert main(["show", path, "--on", "lustre", "--by", "file"]) == UsageError.status


def test_a_run_without_requests_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(tmp_path, [])
    assert main(["show", str(tmp_path / "r.fathom"), "--on", "nfs"]) == 0
    assert "no request reached the storage" in capsys.readouterr().out
