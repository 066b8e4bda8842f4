"""What runs lose to one another at shared servers: against sums call by call on random runs, and the words of it."""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import interference
from fathom.analysis.interference.means import ENOUGH
from schema import counters_of, write_run

MS = 1_000_000
DIRECTORIES = ("a", "b", "c")
Call = dict[str, Any]


def random_calls(rng: random.Random, directories: list[int], processes: int) -> list[Call]:
    calls = []
    for process in range(processes):
        at = rng.randrange(50)
        for _ in range(rng.randrange(10, 60)):
            duration = rng.choice([1, 2, 2, 9])
            row = {"process": process, "stream": process, "layer": "posix", "kind": "write"}
            row |= {"op": rng.choice(["pwrite", "write"]), "file": rng.choice(directories)}
            row |= {"bytes": rng.choice([100, 120, 5000]), "start": at * MS, "state": "done"}
            calls.append(row | {"duration": duration * MS, "file_offset": 0})
            at += duration + rng.choice([0, 0, 1, 30])
    for number, call in enumerate(calls):
        call["id"] = number
    return calls


def recorded(place: Path, name: str, calls: list[Call], started: int, key: str = "fs") -> Any:
    stop = max(call["start"] + call["duration"] for call in calls)
    run = write_run(
        place / f"{name}.fathom",
        runs=[{"name": name, "started": started, "duration": stop, "events": len(calls)}],
        nodes=[{"node": 0, "host": "n", "boot_id": key}],
        processes=[
            {"process": p, "rank": p, "ranks": 9, "exe": f"/bin/{name.partition('.')[0]}"}
            for p in {call["process"] for call in calls}
        ],
        files=[
            {
                "file": n,
                "path": f"/d/{name}/f",
                "kind": "regular",
                "key": key,
                "mount": f"/d/{name}",
            }
            for n, name in enumerate(DIRECTORIES)
        ],
        calls=calls,
        counters=counters_of(calls),
    )
    opened = fathom.open(run)
    (only,) = interference.of_run(name, opened, ["mpiexec", "-n", "9"])
    return only


def seen_spans(calls: list[Call], file: int) -> list[tuple[int, int]]:
    """When the run was at a server, gaps below a millisecond closed."""
    spans: list[tuple[int, int]] = []
    for call in sorted((c for c in calls if c["file"] == file), key=lambda c: c["start"]):
        start, stop = call["start"], call["start"] + call["duration"]
        if spans and start - spans[-1][1] < MS:
            spans[-1] = (spans[-1][0], max(spans[-1][1], stop))
        else:
            spans.append((start, stop))
    return spans


def kind(call: Call) -> tuple[str, int]:
    return (call["op"], {100: 3, 120: 3, 5000: 6}[call["bytes"]])


def lost(calls: list[Call], file: int, spans: list[tuple[int, int]], alone: list[Call]) -> Any:
    """Seconds of the process that lost most at a server, call by call; None: nothing to compare with."""

    def overlapped(call: Call) -> bool:
        return any(a < call["start"] + call["duration"] and b > call["start"] for a, b in spans)

    def mean(some: list[Call]) -> float | None:
        times = [call["duration"] for call in some]
        return sum(times) / len(times) if len(times) >= ENOUGH else None

    by_process: dict[int, float] = defaultdict(float)
    known = False
    for call in calls:
        if call["file"] != file or not overlapped(call):
            continue
        same = [one for one in calls if kind(one) == kind(call)]
        before = [one for one in alone if kind(one) == kind(call)]
        means = (
            mean([one for one in before if one["file"] == file]),
            mean(before),
            mean([one for one in same if one["file"] == file and not overlapped(one)]),
            mean([one for one in same if one["file"] != file or not overlapped(one)]),
        )
        usual = next((value for value in means if value is not None), None)
        known = known or usual is not None
        by_process[call["process"]] += call["duration"] - (call["duration"] if usual is None else usual)  # fmt: skip
    return max(0.0, *by_process.values()) / 1e9 if known else None


@pytest.mark.parametrize("bins", [interference.BINS, 100, 9])
@pytest.mark.parametrize("seed", range(4))
def test_seconds_lost_to_another_run(
    tmp_path: Path, seed: int, bins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run `x` works on all servers, `y` on the first; there may be a run of x alone."""
    monkeypatch.setattr(interference, "BINS", bins)
    rng = random.Random(10 * seed + bins)
    after = rng.randrange(-100, 400) * MS
    x, y = random_calls(rng, [0, 1, 2], 3), random_calls(rng, [0], 2)
    alone = random_calls(rng, [0, 1, 2], 2) if seed % 2 else []
    runs = [recorded(tmp_path, "x", x, 10**18), recorded(tmp_path, "y", y, 10**18 + after)]
    if alone:
        runs.append(recorded(tmp_path, "x.alone", alone, 10**18 + 10**12))
    overlaps = interference.interference(runs)
    (effect,) = [one for one in overlaps.effects if one.run == "x"] or [None]
    spans = [(a + after, b + after) for a, b in seen_spans(y, 0)]
    own = seen_spans(x, 0)
    stop = max(call["start"] + call["duration"] for call in x)
    both = sum(max(0, min(b, d) - max(a, c)) for a, b in own for c, d in spans if d > 0 and c < stop)  # fmt: skip
    assert (effect is not None) == (both > 0)
    if effect is None:
        return
    assert (effect.server, effect.others) == ("/d/a", ("y",))
    assert effect.overlap_seconds == pytest.approx(both / 1e9)
    assert overlaps.alone.get("x") == ("x.alone" if alone else None)
    # Calls of x on its other servers are never beside y, which is not there.
    assert effect.lost_seconds == pytest.approx(lost(x, 0, spans, alone))


def steady(directory: int, number: int, duration: int) -> list[Call]:
    row = {"process": 0, "stream": 0, "layer": "posix", "op": "pwrite", "kind": "write"}
    row |= {"file": directory, "bytes": 1000, "state": "done", "file_offset": 0}
    return [
        row | {"id": n, "start": n * duration * MS, "duration": duration * MS}
        for n in range(number)
    ]


def test_the_same_path_on_two_file_systems_is_two_servers(tmp_path: Path) -> None:
    runs = [recorded(tmp_path, name, steady(0, 40, 2), 10**18, key) for name, key in ("xy", "yz")]
    assert not interference.interference(runs).effects


def test_the_page_and_its_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the calls of `a` are beside `b` and take three times as long as alone."""
    later = [
        row | {"start": row["start"] + 10**9, "id": 99 + row["id"]} for row in steady(1, 40, 2)
    ]
    recorded(tmp_path, "a", steady(0, 40, 6) + later, 10**18)
    recorded(tmp_path, "b", steady(0, 30, 6), 10**18)
    recorded(tmp_path, "a.alone", steady(0, 40, 2) + later, 10**18 + 10**12)
    runs = [str(tmp_path / name) for name in ("a", "b", "a.alone")]
    assert main(["landscape", *runs, "--interference", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["together"] == [["a", "b"]]
    (of_a,) = [one for one in content["interference"] if one["run"] == "a"]
    assert (of_a["calls"], of_a["times"], of_a["compared_with"]) == (30, 3.0, "a.alone")
    assert of_a["lost_seconds"] == pytest.approx(30 * 4e-3)
    assert (
        content["advice"][0]
        == "a lost 120 ms to b: leave /d/a out: its other 1 server had it alone"
    )
    assert main(["landscape", *runs, "--interference"]) == 0
    page = capsys.readouterr().out
    assert "Shared at the same time" in page and "leave /d/a out" in page
    assert main(["landscape", *runs, "--interference", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("server,run,calls,")


@pytest.mark.parametrize("words", [["a"], ["a", "a"], ["a", "b", "--layer", "posix"]])
def test_wrong_use_is_one_line(tmp_path: Path, words: list[str], capsys: Any) -> None:
    recorded(tmp_path, "a", steady(0, 10, 2), 10**18)
    recorded(tmp_path, "b", steady(0, 10, 2), 10**18)
    paths = [str(tmp_path / word) if len(word) == 1 else word for word in words]
    assert main(["landscape", *paths, "--interference"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
