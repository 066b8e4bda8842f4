"""`fathom query` with IOPro's queries: docs/commands/query.md worked by hand, forms, pictures, mistakes."""

import csv
import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.pages import bars
from schema import counters_of, write_run

MS = 1_000_000
Captured = pytest.CaptureFixture[str]

# docs/commands/query.md, "Worked by hand". Rank 0, call 0: a collective write of 100 ms is two pwrites, each to two
# servers. Rank 1, call 0: it writes nothing. Rank 1, call 1: one pread of 10 ms from the second server.
CALL = {"process": 0, "stream": 0, "rank": 0, "call": 0, "file": 0, "bytes": 0}
WROTE = {"layer": "posix", "op": "pwrite", "kind": "write", "parent": 1, "depth": 1}
ALL = {"layer": "mpiio", "op": "MPI_File_write_all", "kind": "write", "collective": 0}
SECOND = {"process": 1, "stream": 1, "rank": 1}
HAND: list[dict[str, Any]] = [
    CALL | ALL | {"id": 1, "start": 0, "duration": 100, "nested": 70, "bytes": 6_000_000},
    CALL | WROTE | {"id": 2, "start": 10, "duration": 40, "bytes": 4_000_000},
    CALL | WROTE | {"id": 3, "start": 55, "duration": 30, "bytes": 2_000_000},
    CALL | SECOND | ALL | {"id": 4, "start": 5, "duration": 95},
    CALL | SECOND | {"id": 5, "call": 1, "layer": "posix", "op": "pread", "kind": "read", "start": 110,
                     "duration": 10, "bytes": 1_000_000},
]  # fmt: skip
# Server s0 and s1: what they did for calls 2, 3 and 5, one of it on disk, one going on after the return.
SERVED = [
    (
        11,
        2,
        2,
        15,
        30,
        3_000_000,
        20,
    ),  # id, server's process, client, start, duration, bytes, on disk
    (12, 3, 2, 15, 10, 1_000_000, 5),
    (13, 2, 3, 60, 10, 1_000_000, 5),
    (14, 3, 3, 60, 40, 1_000_000, 25),  # 15 ms of it after the call
    (15, 3, 5, 111, 8, 1_000_000, 8),
]


def in_ns(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        call | {name: call[name] * MS for name in ("start", "duration", "nested") if name in call}
        for call in calls
    ]


def hand(folder: Path) -> Path:
    """The run of the page's example."""
    calls, links = list(HAND), []
    for number, process, client, start, duration, moved, disk in SERVED:
        common = {"process": process, "stream": process, "start": start, "bytes": moved}
        op = "read" if client == 5 else "write"
        row = {
            "id": number,
            "layer": "server",
            "op": op,
            "kind": op,
            "duration": duration,
            "nested": disk,
        }
        inside = {
            "id": number + 100,
            "parent": number,
            "depth": 1,
            "layer": "posix",
            "op": f"p{op}",
            "kind": op,
        }
        calls += [common | row, common | inside | {"duration": disk}]
        links.append({"from_call": number, "to_call": client, "kind": "serves", "bytes": moved})
    rows = in_ns(calls)
    return write_run(
        folder / "hand.fathom",
        runs=[{"duration": 130 * MS, "ranks": 2}],
        calls=rows,
        links=links,
        counters=counters_of(rows),
        processes=[{"process": p, "rank": p if p < 2 else None, "node": p} for p in range(4)],
        nodes=[{"node": n, "host": f"s{n - 2}" if n > 1 else "client"} for n in range(4)],
        files=[{"file": 0, "path": "/d/out", "kind": "regular", "file_system": "ext4"}],
        collectives=[
            {"collective": 0, "layer": "mpiio", "op": "MPI_File_write_all", "file": 0, "ranks_seen": 2,
             "ranks_expected": 2, "agreed": True, "first_enter": 0, "last_enter": 5 * MS,
             "first_leave": 100 * MS, "last_leave": 100 * MS, "bytes": 6_000_000}
        ],
    )  # fmt: skip


def ask(run: Path, *words: str, capsys: Captured) -> Any:
    assert main(["query", str(run), *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def rounded(row: dict[str, Any], *names: str) -> list[Any]:
    """Seconds as whole ms."""
    return [round(row[name] * 1e3, 6) if name.endswith("seconds") else row[name] for name in names]


def test_inclusive_latency_by_hand(tmp_path: Path, capsys: Captured) -> None:
    answer = ask(hand(tmp_path), "latency breakdown inclusive [0] [0]", capsys=capsys)
    (call,) = answer["views"]["call"]
    names = [
        "mpiio_seconds",
        "posix_seconds",
        "server_seconds",
        "disk_seconds",
        "after_return_seconds",
    ]
    # server: max(30, 10) + max(10, 25); disk: max(20, 5) + max(5, 25).
    assert rounded(call, *names) == [100, 70, 55, 45, 15]


def test_exclusive_latency_by_hand(tmp_path: Path, capsys: Captured) -> None:
    answer = ask(hand(tmp_path), "latency breakdown exclusive [0] [0]", capsys=capsys)
    (call,) = answer["views"]["call"]
    names = ["mpiio_seconds", "posix_seconds", "server_seconds", "disk_seconds"]
    assert rounded(call, *names) == [30, 15, 10, 45]
    assert sum(rounded(call, *names)) == 100


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("select nope from calls", ['"nope" not found', 'Candidate bindings: "op"']),
        ("select f.id from files f", ['column named "id"', "--schema names the columns"]),
        ("select id from files", ['"id" not found', "--schema names the columns"]),
        ("select * from call", ["call does not exist", "There are: args, beside, calls, "]),
        ("select * frm calls", ['at or near "calls"', "LINE 1: select * frm calls", "      ^"]),
    ],
)
def test_wrong_sql_is_shown_with_what_could_stand_there(
    tmp_path: Path, capsys: Captured, sql: str, says: list[str]
) -> None:
    assert main(["query", str(hand(tmp_path)), "--sql", sql]) == 2
    message = capsys.readouterr().err
    assert all(each in message for each in says), message


def test_extremes_by_hand(tmp_path: Path, capsys: Captured) -> None:
    answer = ask(hand(tmp_path), "latency operation max", capsys=capsys)
    assert answer["servers"] == [{"server": 0, "name": "s0"}, {"server": 1, "name": "s1"}]
    calls = answer["views"]["call"]
    assert [
        rounded(c, "rank", "call", "subcalls", "seconds", "server", "subcall") for c in calls
    ] == [
        [0, 0, 2, 30, 0, 0],
        [1, 1, 1, 8, 1, 0],
    ]
    names = ["server", "seconds", "rank", "call", "subcall", "most_rank", "most_seconds"]
    assert [rounded(s, *names) for s in answer["views"]["server"]] == [
        [0, 30, 0, 0, 0, 0, 40],
        [1, 25, 0, 0, 1, 0, 35],
    ]
    assert [rounded(s, "subcall", "server", "seconds") for s in answer["views"]["subcall"]] == [
        [0, 0, 30], [1, 1, 25], [0, 1, 8],
    ]  # fmt: skip
    only = ask(tmp_path / "hand.fathom", "latency operation list [0] [0] [1] [1]", capsys=capsys)
    (request,) = only["views"]["request"]
    assert rounded(request, "seconds", "after_return_seconds", "bytes") == [25, 15, 1_000_000]


def test_throughput_energy_calls_by_hand(tmp_path: Path, capsys: Captured) -> None:
    run = hand(tmp_path)
    call, _ = ask(run, "throughput", capsys=capsys)["views"]["call"]
    # 4 MB in 40 ms of s0, 2 MB in 35 ms of s1, side by side; the call's 6 MB in 100 ms.
    assert call["server_mb_per_s"] == pytest.approx(100 + 2 / 0.035)
    assert call["mb_per_s"] == pytest.approx(60)
    call, other = ask(run, "energy 10 4", capsys=capsys)["views"]["call"]
    # s0: 40 ms at work, 60 at rest; s1: 35 and 65.
    assert call["joules"] == pytest.approx(0.040 * 10 + 0.060 * 4 + 0.035 * 10 + 0.065 * 4)
    assert other["joules"] == pytest.approx(0.008 * 10 + 0.002 * 4)
    call, _ = ask(run, "call", capsys=capsys)["views"]["call"]
    assert rounded(call, "subcalls", "requests", "accesses", "servers", "bytes") == [
        2,
        4,
        4,
        2,
        6_000_000,
    ]


def test_a_collective_by_hand(tmp_path: Path, capsys: Captured) -> None:
    (row,) = ask(hand(tmp_path), "latency collective", capsys=capsys)["views"]["collective"]
    names = [
        "seconds",
        "waiting_seconds",
        "longest_seconds",
        "slowest_rank",
        "storage_seconds",
        "servers",
        "accesses",
    ]
    # storage: max(30, 10) + max(10, 25), as server above
    assert rounded(row, *names) == [100, 5, 100, 0, 55, 2, 4]
    assert row["communication_seconds"] is None


def test_page_and_csv(tmp_path: Path, capsys: Captured) -> None:
    run = str(hand(tmp_path))
    assert main(["query", run, "Latency", "Breakdown", "Inclusive", "[0-1]", "[-]"]) == 0
    out = capsys.readouterr().out
    assert all(
        word in out for word in ("Layers", "By rank", "By call", "55 ms", "MPI_File_write_all")
    )
    assert main(["query", run, "latency", "operation", "max"]) == 0
    assert "  1  s1" in capsys.readouterr().out
    assert main(["query", run, "call", "--csv", "--view", "pair"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["rank"], r["server_name"], r["requests"]) for r in rows] == [
        ("0", "s0", "2"), ("0", "s1", "2"), ("1", "s1", "1"),
    ]  # fmt: skip
    assert main(["query", "--top", "5", run, "--csv", "call", "[-]"]) == 0
    assert capsys.readouterr().out.startswith("rank,call,function,")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["latency"], 2, "There are breakdown"),
        (["call", "--sql", "from runs"], 2, "not both"),
        (["call", "--view", "none"], 2, "there are call, server"),
        (["call", "--plot", "picture"], 2, "is one of .png"),
        (["call", "--plot", "a.png", "--view", "server"], 2, "not with --view"),
        (["call", "--lines", "a.c:9-3"], 2, "FILE:FIRST-LAST"),
        (["call", "--time", "3"], 2, "FROM-TO"),
        (["call", "--top", "-1"], 2, "whole number"),
        (["call", "--function", "fread"], 2, "there are"),
        (["--sql", "from runs", "--region", "x"], 2, "goes with a query"),
        (["call", "--plot", "/nowhere/at/all.png"], 2, "cannot write"),
    ],
)
def test_wrong_use(
    words: list[str], status: int, says: str, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["query", str(hand(tmp_path)), *words]) == status
    out, err = capsys.readouterr()
    assert out == "" and says in err and err.startswith("fathom: ")


def test_counters_only_are_said(tmp_path: Path, capsys: Captured) -> None:
    rows = in_ns(HAND)
    run = write_run(
        tmp_path / "r.fathom",
        runs=[{"duration": 1}],
        counters=counters_of(rows),
        processes=[{"process": 0}],
    )
    assert main(["query", str(run), "call"]) == 3
    assert "--level call" in capsys.readouterr().err


@pytest.mark.some(4)
@pytest.mark.parametrize("name", sorted(language.forms()))
def test_pictures_show_what_the_answer_says(name: str, tmp_path: Path, capsys: Captured) -> None:
    text = f"{name} 10 4" if name == "energy" else name
    file = tmp_path / "picture.svg"
    assert main(["query", str(hand(tmp_path)), text, "--plot", str(file)]) == 0
    assert capsys.readouterr().out == ""
    drawing = file.read_text(encoding="utf-8")
    texts = " ".join(node.text or "" for node in ElementTree.fromstring(drawing).iter())
    assert str(language.parse(text)) in texts
    again = tmp_path / "again.svg"
    assert main(["query", str(tmp_path / "hand.fathom"), text, "--plot", str(again)]) == 0
    assert again.read_text(encoding="utf-8") == drawing


def test_a_picture_of_many_calls_stays_readable(tmp_path: Path) -> None:
    wrote = {"layer": "posix", "op": "pwrite", "kind": "write", "file": 0, "bytes": 8}
    calls = [
        wrote | {"id": n + 1, "call": n, "start": 10 * n, "duration": 1 + n * 7 % 100}
        for n in range(500)
    ]
    run = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 5000}], calls=calls, counters=counters_of(calls),
        processes=[{"process": 0}], files=[{"file": 0, "path": "/d/f", "kind": "regular"}],
    )  # fmt: skip
    import fathom

    query = language.parse("latency operation max")
    of = bars.picture(query, model.answer(fathom.open(run), query, Segment(), 0))
    assert len(of.labels) == bars.MOST
    assert f"{bars.MOST} longest of 500" in of.title
    assert set(of.marks) == {"0"}
    assert not of.stacked  # parts of a stack cannot be read on such an axis
    every = tmp_path / "every.svg"
    assert (
        main(["query", str(run), "latency operation max", "--top", "0", "--plot", str(every)]) == 0
    )
    drawn = ElementTree.fromstring(every.read_text(encoding="utf-8"))
    assert {f"{n}-0" for n in range(500)} <= {(node.text or "").strip() for node in drawn.iter()}
    bars.save(tmp_path / "many.png", of)
    assert (tmp_path / "many.png").read_bytes().startswith(b"\x89PNG")


def test_colours_are_told_apart_and_bars_wide_apart_are_logarithmic() -> None:
    assert len(set(bars.COLOURS)) == len(bars.COLOURS)
    assert bars.wide([1, 31]) and not bars.wide([1, 29]) and not bars.wide([0, 0])


def test_the_smallest_bar_of_a_logarithmic_axis_is_seen() -> None:
    each = [bars.Series("a", "#000", [8.0, 400.0]), bars.Series("b", "#111", [2.0, 0.0])]
    of = bars.Picture("", "", "", ["x", "y"], each, False, True, [], [])
    assert bars.lowest(of, [8.0, 400.0]) == 1.0
    assert bars.lowest(replace(of, stacked=True), [10.0, 400.0]) == 5.0
    assert bars.lowest(replace(of, logarithmic=False), [10.0, 400.0]) == 0.0


def test_what_a_query_in_a_pipe_does_not_need_is_not_loaded(tmp_path: Path) -> None:
    asked = (
        "--schema",
        "latency breakdown inclusive",
        "latency operation max",
        "throughput --json",
    )
    code = (
        "import sys; from fathom.__main__ import main\n"
        "for words in sys.argv[2:]: assert main(['query', sys.argv[1], *words.split()]) == 0\n"
        "heavy = {'matplotlib', 'pandas', 'pyarrow.dataset', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(hand(tmp_path)), *asked], check=True, capture_output=True
    )


def test_what_a_page_does_not_need_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from fathom.__main__ import main\n"
        "assert main(['show', sys.argv[1]]) == 0\n"
        "heavy = {'elftools', 'matplotlib', 'pandas', 'fathom.tune', 'fathom.catalog.model'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, str(hand(tmp_path))], check=True)
