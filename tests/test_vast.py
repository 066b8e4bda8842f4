"""Sums beyond 64 bits, in every command and every answer of the UI: none ends in a traceback, and what is given is the
sum."""

from __future__ import annotations

import json
from pathlib import Path

import fathom
import pyarrow.parquet as pq
import pytest
from fathom.__main__ import main
from fathom.analysis import summary
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from harness import vast

SECONDS = vast.PROCESSES * vast.SECONDS
BYTES = vast.PROCESSES * vast.BYTES
KEYS = ("function", "layer", "file", "rank", "time", "server", "rank,function", "time,file")
#: Answers about a program that was started from the UI.
OF_JOBS = {"progress", "stop"}
COMMANDS = (
    ("show", "{run}"),
    ("show", "{run}", "--all"),
    ("show", "{run}", "--findings"),
    ("show", "{run}", "--svg", "{out}.svg"),
    ("show", "{run}", "--next"),
    ("diff", "{run}", "{run}"),
    ("landscape", "{run}"),
    ("landscape", "{run}", "--by", "opens"),
    ("patterns", "{run}"),
    ("query", "{run}", "latency breakdown inclusive"),
    ("query", "{run}", "latency operation list"),
    ("query", "{run}", "throughput"),
    ("query", "{run}", "energy 11.5 8"),
    ("query", "{run}", "call"),
    ("report", "{run}", "-o", "{out}.html"),
    ("export", "{run}", "--to", "parquet", "-o", "{out}.parquet"),
    ("export", "{run}", "--to", "csv", "-o", "{out}.csv"),
    ("export", "{run}", "--to", "perfetto", "-o", "{out}.perfetto"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted run."""
    folder = tmp_path_factory.mktemp("vast")
    (folder / "log").write_text(vast.log())
    assert main(["import", "strace", str(folder / "log"), "-o", str(folder / "r.fathom")]) == 0
    return folder / "r.fathom"


def close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * abs(other)


@pytest.mark.some(6)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:1] + words[2:])[:40])
def test_a_command(run: Path, words: tuple[str, ...], tmp_path: Path) -> None:
    assert main([word.format(run=run, out=tmp_path / "out") for word in words]) == 0


@pytest.mark.parametrize("key", KEYS)
def test_a_table_of_the_page(run: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ((), ("--csv",), ("--json",)):
        assert main(["show", str(run), "--by", key, *form]) == 0
    capsys.readouterr()


def test_sums_are_the_sums(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = fathom.open(run)
    (sums,) = opened.sql("select sum(time) as t, sum(bytes) as b from counters").to_pylist()
    layer = next(row for row in summary.layers(opened).to_pylist() if row["layer"] == "posix")
    assert close(sums["t"], SECONDS * 1e9) and close(sums["b"], BYTES)
    assert close(layer["inclusive_seconds"], SECONDS) and close(layer["bytes"], BYTES)
    assert close(layer["busy_seconds"], vast.SECONDS)
    assert main(["show", str(run), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    writes = next(row for row in page["functions"] if row["op"] == "pwrite")
    assert close(writes["seconds"], SECONDS) and close(writes["bytes"], BYTES)


def test_a_sum_that_fits_is_exact(run: Path) -> None:
    few = fathom.open(run).sql("select sum(bytes) as b from counters where process < 3")
    assert few["b"].to_pylist() == [3 * vast.BYTES]


def answers() -> list[str]:
    """Those that need no more than a run."""
    every = screens.answers()
    return [name for name, one in every.items() if not one.required and name not in OF_JOBS]


@pytest.mark.parametrize("name", answers())
def test_an_answer_of_the_ui(run: Path, name: str) -> None:
    given = {} if screens.answers()[name].of_all else {"run": "r"}
    assert screens.ask(Runs([run]), name, given) is not None


def test_tiles_hold_all_of_it(run: Path) -> None:
    assert main(["view", str(run), "--prepare"]) == 0
    tiles = pq.read_table(run / "tables" / "tiles.parquet")
    assert tiles.num_rows
    assert min(tiles["time"].to_pylist()) >= 0 and min(tiles["bytes"].to_pylist()) >= 0
