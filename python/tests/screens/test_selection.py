"""What a request may say, and what the conditions it becomes select, against Python."""

import random
from pathlib import Path
from typing import Any

import pytest
from fathom.analysis import conditions, selection
from fathom.errors import UsageError
from fathom.webapi.answers.session import Runs
from latency.forest import Forest


@pytest.mark.parametrize(
    "parameters",
    [
        {"t": "9-3"}, {"t": "x"}, {"t": "1-2-3"}, {"t": "1-99999999999999999999"}, {"lanes": "3-"}, {"lanes": "0-9:0"},
        {"layers": "posix,,mpiio"}, {"ops": "pwrite"}, {"ops": ":pwrite"}, {"files": "one"}, {"files": "-1"},
        {"lanes": "٣"}, {"files": "1;drop"},
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_line(parameters: dict[str, str]) -> None:
    with pytest.raises(UsageError) as error:
        selection.read(parameters)
    assert "expected" in str(error.value) or "ends before" in str(error.value)
    assert "\n" not in str(error.value)


def test_names_may_hold_commas_and_quotes(tmp_path: Path) -> None:
    read = selection.read({"servers": "a%2Cb,c'd", "layers": "posix') or true --"})
    assert read.servers == ("a,b", "c'd")
    view = Runs([Forest(1, False).write(tmp_path).path]).view("r")
    rows = view.rows(f"select count(*) as n from calls where {conditions.calls(read)}")
    assert rows == [{"n": 0}]


def lane_of(forest: Forest) -> dict[int, int]:
    every = [(p + 2 if forest.ranked and p < forest.clients else 99, p) for p in range(8)]
    return {process: lane for lane, (_, process) in enumerate(sorted(every))}


def selected(forest: Forest, call: dict[str, Any], chosen: selection.Selection) -> bool:
    start, stop = call["start"], call["start"] + call["duration"]
    first, last = chosen.t or (-1, 10**9)
    lane = lane_of(forest)[call["process"]]
    return (
        start < last
        and (stop > first or start >= first)
        and (chosen.layers is None or call["layer"] in chosen.layers)
        and (chosen.kinds is None or call["kind"] in chosen.kinds)
        and (chosen.ops is None or (call["layer"], call["op"]) in chosen.ops)
        and (chosen.files is None or call["file"] in chosen.files)
        and (chosen.lanes is None or any(lane in range(a, b + 1, s) for a, b, s in chosen.lanes))
    )


@pytest.mark.parametrize("seed", range(12))
def test_conditions_select_what_python_does(tmp_path: Path, seed: int) -> None:
    forest = Forest(seed, traced=seed % 2 == 0)
    view = Runs([forest.write(tmp_path).path]).view("r")
    dice = random.Random(seed)
    some = {
        "t": lambda: f"{dice.randrange(500)}-{500 + dice.randrange(2000)}",
        "lanes": lambda: dice.choice(["0", "0-7:2", "1-2,5", "3"]),
        "layers": lambda: dice.choice(["posix", "posix,mpiio,hdf5", "server"]),
        "kinds": lambda: dice.choice(["read,write", "open"]),
        "ops": lambda: dice.choice(["posix:pwrite,stdio:fread", "hdf5:H5Dwrite"]),
        "files": lambda: dice.choice(["0,1,2", "3"]),
    }
    hits = 0
    for _ in range(20):
        names = dice.sample(sorted(some), dice.randrange(1, 4))
        chosen = selection.read({name: some[name]() for name in names})
        rows = view.rows(f"select id from calls where {conditions.calls(chosen)}")
        expected = {call["id"] for call in forest.calls if selected(forest, call, chosen)}
        assert {row["id"] for row in rows} == expected
        hits += len(expected)
    assert hits


def test_calls_of_a_server(tmp_path: Path) -> None:
    forest = Forest(3, traced=False)
    view = Runs([forest.write(tmp_path).path]).view("r")
    chosen = selection.read({"servers": "/d/a"})
    rows = view.rows(f"select id from calls where {conditions.calls(chosen)}")
    expected = {call["id"] for call in forest.calls if call["file"] in (0, 1)}
    assert expected and {row["id"] for row in rows} == expected
