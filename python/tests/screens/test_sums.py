"""Every number of the screens that add up calls equals what loops over lists find, on random forests of calls."""

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from fathom.analysis import difference
from fathom.analysis.difference import Side
from fathom.webapi import answers as screens
from fathom.webapi.answers import latency, tile
from fathom.webapi.answers.session import Runs
from latency.forest import PATHS, Call
from latency.oracle import Oracle
from schema import counters_of, write_run
from screens.asked import FOLDERS, Asked

STORAGE = ("posix", "stdio", "aio")
SEEDS = range(3, 5)


def union(calls: list[Call]) -> int:
    """ns in which at least one of the calls ran."""
    covered: set[int] = set()
    for call in calls:
        covered |= set(range(call["start"], call["start"] + call["duration"]))
    return len(covered)


class Breakdown:
    """What the answer must be."""

    def __init__(self, asked: Asked, by: str, of: str) -> None:
        self.asked, self.by, self.of = asked, by, of
        self.oracle = Oracle(asked.forest, lambda _: True, relays=False)

    def server(self, call: Call) -> str | None:
        if not self.oracle.traced:
            return FOLDERS.get(call["file"])
        serves = {c["process"] for c in self.asked.calls if c["layer"] == "server"}
        return self.oracle.server_name(call["process"]) if call["process"] in serves else None

    def key(self, call: Call) -> str | None:
        if self.by == "server":
            return self.server(call)
        values = {
            "layer": call["layer"],
            "op": f"{call['layer']}:{call['op']}",
            "lane": str(self.asked.lanes[call["process"]]),
        }
        return values[self.by]

    def is_inside(self, call: Call) -> bool:
        """Does it count in a call that holds it?"""
        parent = self.asked.parent(call)
        if parent is None or self.by == "op":
            return False
        if self.by == "server":
            return parent["layer"] in STORAGE or parent["kind"] == "comm"
        return bool(parent["layer"] == call["layer"])

    def groups(self, without: str = "") -> dict[tuple[str, str], list[Call]]:
        by_key: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in self.asked.selected(without):
            key = self.key(call)
            if key is None:
                continue
            if self.by == "server" and (
                call["layer"] not in (*STORAGE, "server")
                or (call["layer"] != "server" and self.is_inside(call))
            ):
                continue
            by_key[key, call["layer"]].append(call)
        return by_key

    def time(self, calls: list[Call]) -> int:
        if self.of == "exclusive" and self.by != "server":
            return sum(call["duration"] - call["nested"] for call in calls)
        return sum(c["duration"] for c in calls if self.by == "server" or not self.is_inside(c))

    def talk(self) -> dict[str, list[Call]]:
        """What was communicated inside the selected calls, by their keys: a part of exclusive times."""
        by_key: dict[str, list[Call]] = defaultdict(list)
        if self.of == "inclusive" or self.by == "server":
            return by_key
        for call in self.asked.selected():
            inner = [c for c in self.asked.calls if c["parent"] == call["id"]]
            by_key[str(self.key(call))] += [c for c in inner if c["kind"] == "comm"]
        return {key: calls for key, calls in by_key.items() if calls}

    def of_servers(self, calls: list[Call]) -> Counter[str]:
        times: Counter[str] = Counter()
        for call in calls:
            if not self.oracle.traced and call["file"] in FOLDERS:
                times[FOLDERS[call["file"]]] += call["duration"]
            for link in self.asked.forest.links:
                if link["to_call"] == call["id"]:
                    row = self.asked.by_id[link["from_call"]]
                    times[self.oracle.server_name(row["process"])] += row["duration"]
        return times


@pytest.mark.some(5)
@pytest.mark.parametrize("traced", [False, True], ids=["directories", "traced"])
@pytest.mark.parametrize("of", ["inclusive", "exclusive"])
@pytest.mark.parametrize("by", ["layer", "op", "lane", "server"])
def test_breakdown(tmp_path: Path, by: str, of: str, traced: bool) -> None:
    seen = 0
    for seed in SEEDS:
        asked = Asked(tmp_path, seed, traced)
        for most in (0, 2):
            asked.select("t", "lanes", "layers", "kinds", "ops", "files", most=most)
            rows = asked.rows(asked.ask("breakdown", by=by, of=of))
            by_key = {(row["key"], row["layer"]): row for row in rows}
            oracle = Breakdown(asked, by, of)
            talk = {key: by_key.pop((key, "communication")) for key in oracle.talk()}
            groups = oracle.groups()
            assert by_key.keys() == groups.keys()
            for name, calls in groups.items():
                check(oracle, by_key[name], calls)
                seen += len(calls)
            for key, calls in oracle.talk().items():
                assert talk[key]["time"] == sum(call["duration"] for call in calls)
                assert talk[key]["calls"] == len(calls)
    assert seen > 5


@pytest.mark.some(2)
@pytest.mark.parametrize("t", [{}, {"t": "0-100000"}], ids=["counters", "calls"])
@pytest.mark.parametrize("by", ["layer", "op", "lane"])
def test_what_a_layer_kept_and_communicated_is_all_but_the_io_below(
    tmp_path: Path, by: str, t: dict[str, str]
) -> None:
    """Whatever the key, exclusive times and communication add up to the same."""
    talked = 0
    for seed in range(3, 9):
        asked = Asked(tmp_path, seed)
        asked.parameters = t
        rows = asked.rows(asked.ask("breakdown", by=by, of="exclusive"))
        calls = asked.selected()
        below = [c for c in asked.calls if asked.parent(c) in calls and c["kind"] != "comm"]
        expected = sum(c["duration"] for c in calls) - sum(c["duration"] for c in below)
        assert sum(row["time"] for row in rows) == expected
        talked += sum(row["time"] for row in rows if row["layer"] == "communication")
    assert talked > 0


def check(oracle: Breakdown, row: dict[str, Any], calls: list[Call]) -> None:
    """One row against the calls that it stands for."""
    longest = max(call["duration"] for call in calls)
    assert row["time"] == oracle.time(calls)
    assert (row["calls"], row["longest"]) == (len(calls), longest)
    assert oracle.asked.by_id[int(row["call"])]["duration"] == longest
    counted = [c for c in calls if oracle.by == "server" or not oracle.is_inside(c)]
    assert row["bytes"] == sum(call["bytes"] or 0 for call in counted)
    if row["sub-calls"] is not None:
        ids = {call["id"] for call in calls}
        inner = [c for c in oracle.asked.calls if c["parent"] in ids and c["layer"] != "fathom"]
        assert row["sub-calls"] == len(inner)
    summed = sum(call["duration"] for call in calls)
    if oracle.by != "server":
        share = 1 - union(calls) / summed if summed else None
        assert row["overlap"] == (None if share is None else pytest.approx(share, abs=1e-9))
        times = oracle.of_servers(calls)
        most = max(times, key=lambda name: (times[name], name), default=None)
        least = min(times, key=lambda name: (times[name], name), default=None)
        assert (row["server with most"], row["server with least"]) == (most, least)


def test_breakdown_by_call(tmp_path: Path) -> None:
    for seed in SEEDS:
        asked = Asked(tmp_path, seed)
        asked.select("t", "lanes", "files")
        outer = [c for c in asked.selected() if asked.is_outermost(c)]
        outer = sorted(outer, key=lambda c: (-c["duration"], c["id"]))[:5]
        expected = {}
        for root in outer:
            for call, layers in under(asked, root, []):
                layer = "communication" if call["kind"] == "comm" else call["layer"]
                key = (str(root["id"]), layer)
                sums = expected.setdefault(key, [0, 0])
                sums[0] += call["duration"] - call["nested"]
                sums[1] += 0 if layer in layers else call["duration"]
        for number, of in enumerate(("exclusive", "inclusive")):
            rows = asked.rows(asked.ask("breakdown", by="call", of=of, limit=5))
            times = {(row["key"], row["layer"]): row["time"] for row in rows}
            assert times == {key: sums[number] for key, sums in expected.items()}


def under(asked: Asked, call: Call, layers: list[str]) -> list[tuple[Call, list[str]]]:
    """The call and what it holds, each with the layers around it."""
    chains = [(call, layers)]
    for inner in asked.calls:
        if inner["parent"] == call["id"] and inner["layer"] != "fathom":
            layer = "communication" if call["kind"] == "comm" else call["layer"]
            chains += under(asked, inner, [*layers, layer])
    return chains


def at_most(durations: list[int], share: float) -> int:
    """What this share of them is at most."""
    return sorted(durations)[max(0, math.ceil(share * len(durations)) - 1)]


@pytest.mark.parametrize("most", [latency.EXACT, 0], ids=["exact", "many"])
def test_percentiles_are_never_above_the_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(latency, "EXACT", most)
    for seed in SEEDS:
        asked = Asked(tmp_path, seed)
        asked.select("t", "lanes", "layers")
        durations = defaultdict(list)
        for call in asked.selected():
            durations[call["layer"], call["op"]].append(call["duration"])
        answer = asked.ask("latency")["percentiles"]
        rows = {(row["layer"], row["op"]): row for row in asked.rows(answer)}
        assert rows.keys() == durations.keys()
        for key, each in durations.items():
            row = rows[key]
            assert (row["calls"], row["time"], row["longest"]) == (len(each), sum(each), max(each))
            for name, share in (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99)):
                true = at_most(each, share)
                assert true <= row[name] <= (true if most else min(max(each), 1.19 * max(1, true)))
        gives = asked.runs.view("r").rows(answer["sql"])
        assert [list(row.values()) for row in gives] == answer["rows"]


def test_latency(tmp_path: Path) -> None:
    for seed in SEEDS:
        asked = Asked(tmp_path, seed)
        asked.select("t", "lanes", "layers", "kinds", "ops", "files")
        answer = asked.ask("latency", width=7)
        buckets: Counter[tuple[str, ...]] = Counter()
        over_time: Counter[tuple[Any, ...]] = Counter()
        for call in asked.selected():
            bucket = math.floor(4 * math.log2(max(1, call["duration"])))
            assert 2 ** (bucket / 4) <= max(1, call["duration"]) < 2 ** ((bucket + 1) / 4)
            buckets[call["layer"], call["op"], bucket] += 1
            place = max(0, (call["start"] - answer["begin"]) // answer["width"])
            assert place < 7
            over_time[call["layer"], place, bucket] += 1
        rows = asked.rows(answer["buckets"])
        assert {(r["layer"], r["op"], r["bucket"]): r["calls"] for r in rows} == buckets
        assert sum(r["time"] for r in rows) == sum(c["duration"] for c in asked.selected())
        rows = asked.rows(answer["over time"])
        assert {(r["layer"], r["time bin"], r["bucket"]): r["calls"] for r in rows} == over_time
        assert (answer["counted"] is None) == bool(asked.selected())
        for one in (answer, asked.ask("latency", width=7, by="layer")):
            for name in ("buckets", "over time"):
                gives = asked.runs.view("r").rows(one[name]["sql"])
                assert [list(row.values()) for row in gives] == one[name]["rows"]


@pytest.mark.parametrize("traced", [False, True], ids=["directories", "traced"])
def test_servers(tmp_path: Path, traced: bool) -> None:
    for seed in SEEDS:
        asked = Asked(tmp_path, seed, traced)
        asked.select("t", "lanes", "kinds")
        oracle = Breakdown(asked, "server", "inclusive")
        answer = asked.ask("servers", bins=5)
        expected: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
        begin, width = answer["begin"], answer["width"]
        for (server, layer), calls in oracle.groups().items():
            if traced and layer != "server":
                continue
            for call in calls:
                inside = share_of(call, begin, begin + 5 * width)
                sums = expected[server]
                sums[0] += inside * (call["bytes"] or 0) if call["kind"] == "read" else 0
                sums[1] += inside * (call["bytes"] or 0) if call["kind"] == "write" else 0
                sums[2] += inside * call["duration"]
                sums[3] += begin <= call["start"] < begin + 5 * width
        by_server: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
        for row in asked.rows(answer["bins"]):
            assert 0 <= row["bin"] < 5
            values = [row["read"], row["written"], row["busy"], row["calls"]]
            by_server[row["server"]] = [
                a + b for a, b in zip(by_server[row["server"]], values, strict=True)
            ]
        for server in expected.keys() | by_server.keys():
            assert by_server[server] == pytest.approx(expected[server], abs=1e-6)
        assert answer["stands"] == ("process" if traced else "storage")
        totals = {row.pop("server"): row for row in asked.rows(answer["totals"])}
        assert totals == totals_of(oracle, traced)


def totals_of(oracle: Breakdown, traced: bool) -> dict[str, dict[str, Any]]:
    """What each server was asked in all, whatever time is selected."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for (server, layer), some in oracle.groups(without="t").items():
        calls[server] += some if layer == "server" or not traced else []
    busy = {server: sum(c["duration"] for c in some) for server, some in calls.items() if some}
    least = 0 if traced else 0.01 * max(busy.values(), default=0)
    weighs = [time for time in busy.values() if time >= least]
    mean = sum(weighs) / max(1, len(weighs))
    return {
        server: {
            "read": sum(c["bytes"] or 0 for c in calls[server] if c["kind"] == "read"),
            "written": sum(c["bytes"] or 0 for c in calls[server] if c["kind"] == "write"),
            "busy": time,
            "calls": len(calls[server]),
            "longest": max(c["duration"] for c in calls[server]),
            "of the mean": pytest.approx(time / mean) if mean else None,
        }
        for server, time in busy.items()
    }


def share_of(call: Call, begin: int, end: int) -> float:
    """How much of a call lies in this time; one without duration is there or not."""
    start, stop = call["start"], call["start"] + call["duration"]
    if start == stop:
        return float(begin <= start < end)
    return max(0, min(stop, end) - max(start, begin)) / (stop - start)


def test_the_longest_of_each_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile, "OUTLIERS", 3)
    for seed in SEEDS:
        asked = Asked(tmp_path, seed)
        durations, expected = defaultdict(list), defaultdict(list)
        for one in asked.ask("zooms")["outliers"]:
            durations[one["layer"]].append(one["duration"])
        for call in asked.calls:
            expected[call["layer"]].append(call["duration"])
        assert durations == {layer: sorted(each)[:-4:-1] for layer, each in expected.items()}


def test_files(tmp_path: Path) -> None:
    for seed in SEEDS:
        asked = Asked(tmp_path, seed)
        asked.select("t", "lanes", "layers", "kinds", "ops")
        expected: dict[str, list[int]] = {}
        for number in FOLDERS:
            sums = of_calls(asked, [c for c in asked.selected() if c["file"] == number])
            if sums:
                name = "/d/" if PATHS[number].startswith("/d/") else PATHS[number]
                one = expected.setdefault(name, [0] * 4)
                expected[name] = [a + b for a, b in zip(one, sums, strict=True)]
        rows = asked.rows(asked.ask("files", under="/")["table"])
        names = ("calls", "bytes read", "bytes written", "time")
        assert {row["path"]: [row[name] for name in names] for row in rows} == expected
        ranks = asked.rows(asked.ask("files", by="rank")["table"])
        for row in ranks:
            mine = [c for c in asked.selected() if asked.lanes[c["process"]] == row["lane"]]
            sums = of_calls(asked, [c for c in mine if c["file"] is not None])
            assert [row[name] for name in names] == sums
        every = [c for c in asked.selected() if c["file"] is not None]
        answer = asked.ask("files", by="call", limit=4)["table"]
        assert answer["total"] == len(every)
        slowest = sorted(every, key=lambda c: (-c["duration"], c["id"]))[:4]
        assert [row["call"] for row in asked.rows(answer)] == [str(c["id"]) for c in slowest]
        assert asked.ask("access")["file"] == (slowest[0]["file"] if slowest else None)
        longest = sorted(asked.selected(), key=lambda c: (-c["duration"], c["id"]))[:4]
        answer = asked.ask("slowest", limit=4)
        assert [row["call"] for row in asked.rows(answer)] == [str(c["id"]) for c in longest]
        assert answer["total"] == len(asked.selected())
        ops = asked.rows(asked.ask("files", by="op")["table"])
        assert sum(row["time"] for row in ops) == sum(c["duration"] for c in every)


def of_calls(asked: Asked, calls: list[Call]) -> list[int]:
    """Calls, bytes read and written by the lowest layer that moved any, time of outermost calls; of no call nothing."""
    if not calls:
        return []
    moved = []
    for kind in ("read", "write"):
        mine = [c for c in calls if c["kind"] == kind]
        layers = [[c["bytes"] for c in mine if c["layer"] == name] for name in ("posix", "mpiio")]
        moved.append(next((sum(one) for one in layers if sum(one)), sum(c["bytes"] for c in mine)))
    time = sum(c["duration"] for c in calls if asked.is_outermost(c))
    return [len(calls), *moved, time]


def test_where_in_a_file(tmp_path: Path) -> None:
    seen = 0
    for seed in range(3, 9):
        asked = Asked(tmp_path, seed)
        answer = asked.ask("access", file=0, height=5, width=3)
        moved = placed(asked, answer["layers"])
        cells: dict[tuple[int, int, str], list[int]] = defaultdict(lambda: [0, 0])
        for call in moved:
            x = (call["start"] - answer["x"]["begin"]) // answer["x"]["width"]
            for number in range(call["bytes"]):
                place = call["file_offset"] + number - answer["y"]["begin"]
                cell = cells[x, place // answer["y"]["width"], call["kind"]]
                cell[1] += 1
                cell[0] += number == 0
        rows = asked.rows(answer["cells"])
        assert {(r["x"], r["y"], r["kind"]): [r["calls"], r["bytes"]] for r in rows} == cells
        bytes_are_covered(asked, asked.ask("coverage", file=0, width=4), moved)
        seen += len(moved)
    assert seen > 5


def placed(asked: Asked, layers: list[str]) -> list[Call]:
    """Reads and writes of file 0 by these layers, of which the place is known."""
    mine = [c for c in asked.calls if c["file"] == 0 and c["layer"] in layers and c["bytes"]]
    return [c for c in mine if c.get("file_offset") is not None]


def bytes_are_covered(asked: Asked, answer: dict[str, Any], moved: list[Call]) -> None:
    """Each byte's reads and writes, one by one."""
    times: dict[str, Counter[int]] = {"read": Counter(), "write": Counter()}
    for call in moved:
        times[call["kind"]].update(range(call["file_offset"], call["file_offset"] + call["bytes"]))
    rows = asked.rows(answer["bins"])
    for row in rows:
        first = answer["begin"] + row["bin"] * answer["step"]
        here = range(first, first + answer["step"])
        for name, kind, least in (
            ("read", "read", 1), ("read twice", "read", 2), ("written", "write", 1), ("written twice", "write", 2),
        ):  # fmt: skip
            assert row[name] == sum(times[kind][place] >= least for place in here)
    assert answer["sums"]["read"] == sum(row["read"] for row in rows)


def test_bytes_read_for_nothing(run_directory: Path) -> None:
    """What a library reads beyond what was asked of it; what is asked through a view is the view's blocks."""
    calls: list[Call] = [
        {"id": 1, "layer": "mpiio", "op": "MPI_File_read", "kind": "read", "start": 0, "duration": 9, "file": 0,
         "bytes": 100, "file_offset": 0, "depth": 0},
        {"id": 2, "layer": "posix", "op": "pread", "kind": "read", "start": 1, "duration": 5, "file": 0, "parent": 1,
         "bytes": 300, "file_offset": 0, "depth": 1},
        {"id": 3, "layer": "mpiio", "op": "MPI_File_read", "kind": "read", "start": 10, "duration": 9, "file": 0,
         "bytes": 20, "file_offset": 300, "depth": 0, "selection": 0},
        {"id": 4, "layer": "posix", "op": "pread", "kind": "read", "start": 11, "duration": 5, "file": 0, "parent": 3,
         "bytes": 100, "file_offset": 300, "depth": 1},
    ]  # fmt: skip
    view = {"selection": 0, "form": "bytes", "exact": True, "displacement": 300, "period": 50, "total": 10,
            "blocks": 1, "block_start": [0], "block_count": [10], "box_start": [0], "box_count": [10],
            "rank": 1}  # fmt: skip
    path = write_run(
        run_directory.parent / "sieved.fathom", runs=[{"duration": 20}], calls=calls, selections=[view],
        processes=[{"process": 0}], files=[{"file": 0, "path": "/a"}], counters=counters_of(calls),
    )  # fmt: skip
    answer = screens.ask(Runs([path]), "coverage", {"run": "sieved", "file": "0"})
    sums = answer["sums"]
    assert answer["asked of"] == ["mpiio"]
    assert (sums["asked"], sums["read"], sums["unused"]) == (120, 400, 280)


def test_what_was_not_captured_is_said(tmp_path: Path) -> None:
    calls: list[Call] = [
        {"id": 1, "layer": "posix", "op": "pwrite", "kind": "write", "start": 0, "duration": 9, "file": 0, "bytes": 5}
    ]  # fmt: skip
    counters = [row | {"recorded": 0} for row in counters_of(calls)]
    path = write_run(
        tmp_path / "counted.fathom", runs=[{"duration": 20}], processes=[{"process": 0}],
        files=[{"file": 0, "path": "/a/b", "kind": "regular", "file_system": "ext4", "mount": "/a"}], counters=counters,
    )  # fmt: skip
    runs = Runs([path])
    whole = screens.ask(runs, "breakdown", {"run": "counted"})
    assert [row[2] for row in whole["rows"]] == [9]
    assert screens.ask(runs, "files", {"run": "counted"})["table"]["rows"][0][1] == "/a/b"
    assert screens.ask(runs, "servers", {"run": "counted"})["totals"]["rows"][0][0] == "/a"
    for answer in (
        screens.ask(runs, "breakdown", {"run": "counted", "t": "0-5"}),
        screens.ask(runs, "latency", {"run": "counted"})["buckets"],
        screens.ask(runs, "servers", {"run": "counted"})["bins"],
        screens.ask(runs, "access", {"run": "counted", "file": "0"})["cells"],
        screens.ask(runs, "access", {"run": "counted"})["cells"],
        screens.ask(runs, "coverage", {"run": "counted", "file": "0"})["bins"],
    ):
        assert "not captured" in answer["note"] and "--level call" in answer["note"]
    latency = screens.ask(runs, "latency", {"run": "counted"})
    assert [row[2:] for row in latency["counted"]["rows"]] == [[1, 9, 9, 9]]
    assert "--sample" in screens.ask(runs, "samples", {"run": "counted"})["note"]


def test_samples_are_rates_between_their_least_and_most(tmp_path: Path) -> None:
    def row(what: str, unit: str, time: int, value: int) -> dict[str, Any]:
        return {"node": 0, "what": what, "unit": unit, "time": time, "value": value}

    second = 10**9
    samples = [
        row("net.rx_bytes", "bytes", 0, 10), row("net.rx_bytes", "bytes", second, 110),
        row("net.rx_bytes", "bytes", 2 * second, 410), row("memory.available", "bytes", 0, 100),
        row("memory.available", "bytes", 2 * second, 300),
    ]  # fmt: skip
    path = write_run(
        tmp_path / "sampled.fathom", runs=[{"duration": 2 * second}], processes=[{"process": 0}],
        nodes=[{"node": 0, "host": "n"}], samples=samples,
    )  # fmt: skip
    answer = screens.ask(Runs([path]), "samples", {"run": "sampled", "width": "4"})
    bars = [(r[1], r[3], r[4], r[6], r[7]) for r in answer["rows"]]
    half = [("net.rx_bytes", "bytes/s", n, v, v) for n, v in enumerate([100, 100, 300, 300])]
    level = [("memory.available", "bytes", n, 100 + 50 * n, 150 + 50 * n) for n in range(4)]
    assert bars == level + half


def test_compare_has_the_numbers_of_diff(run_directory: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "b.fathom", runs=[{"duration": 9}], processes=[{"process": 0}])
    runs = Runs([run_directory, other])
    answer = screens.ask(runs, "compare", {"run": "small", "with": "b"})
    sides = [Side(name, runs.all[name].run.manifest, runs.all[name].run) for name in ("small", "b")]
    for name, ask in (
        ("layers", difference.layers), ("ops", difference.functions), ("files", difference.files),
        ("ranks", difference.ranks), ("whole", difference.whole), ("setup", difference.configuration),
    ):  # fmt: skip
        expected = ask(*sides).to_pylist()
        assert answer[name]["rows"] == [list(row.values()) for row in expected]
    assert [c["unit"] for c in answer["ranks"]["columns"]][-2:] == ["s", "s"]
    assert answer["one each"] == difference.ONE_EACH
