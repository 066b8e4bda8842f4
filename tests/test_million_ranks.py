"""Very many ranks that write very much for very long: each command gives the exact sums, and says no more than of few.

Five thousand in each run of the suite; `make test-full` has a million, with 10^18 bytes in 10^12 s of writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from fathom.__main__ import main
from fathom.analysis import Remembered, difference, landscape
from fathom.analysis.difference import Side
from fathom.interop.exports import selected
from fathom.run.store import Run
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from fathom.webapi.tiles import build
from harness import million

MANY, MILLION = 5_000, 1_000_000
#: As many lines as the heat map has, a rank each: a run is asked as much as one of more ranks is.
FEW = 16
RUN_SECONDS = million.DURATION / 1e9
#: Of one rank: its writes, an open and a close.
OWN_SECONDS = million.SECONDS + 2
#: Seconds are doubles: of 10^21 ns the last of their digits is rounded.
ROUNDED = 1e-14
#: Letters of a line of a page: a list of ranks that is no range passes that, one of all findings' names does not.
LINE = 2000
#: Lines of a page.
PAGE = 100


@pytest.fixture(scope="module", params=[MANY, pytest.param(MILLION, marks=pytest.mark.full)])
def ranks(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module", params=["counted", "traced"])
def run(
    request: pytest.FixtureRequest, ranks: int, tmp_path_factory: pytest.TempPathFactory
) -> million.Many:
    """The planted run."""
    folder = tmp_path_factory.mktemp("million")
    return million.make(folder / "many.fathom", ranks, request.param == "traced")


def output(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command prints."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def is_page(text: str) -> bool:
    lines = text.splitlines()
    return 0 < len(lines) < PAGE and max(map(len, lines)) < LINE


def test_the_page_and_its_sums(run: million.Many, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--all",)):
        assert is_page(output(capsys, "show", run.path, *more))
    page = json.loads(output(capsys, "show", run.path, "--json", "--top", 10))
    (layer,) = page["layers"]
    writes = next(row for row in page["functions"] if row["op"] == "pwrite")
    assert (layer["calls"], layer["bytes"]) == (million.CALLS * run.ranks, run.bytes)
    assert layer["inclusive_seconds"] == pytest.approx(OWN_SECONDS * run.ranks, rel=ROUNDED)
    assert writes["seconds"] == pytest.approx(run.seconds, rel=ROUNDED)
    assert writes["bytes"] == run.bytes
    assert page["answers"]["ranks"]["who"] == f"0-{run.ranks - 1}"
    assert page["answers"]["ranks"]["calling_who"] == f"0-{run.ranks - 1}"
    assert len(page["files"]) == min(10, 1 if run.traced else run.ranks)


def test_by_rank(run: million.Many, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(output(capsys, "show", run.path, "--by", "rank", "--top", 3, "--json"))
    assert [(row["rank"], row["bytes"], row["seconds"]) for row in rows] == [
        (rank, million.BYTES, OWN_SECONDS) for rank in range(3)
    ]


def test_a_landscape(run: million.Many, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_page(output(capsys, "landscape", run.path))
    (row,) = json.loads(output(capsys, "landscape", run.path, "--json"))["runs"]
    assert (row["ranks_seen"], row["bytes_written"]) == (run.ranks, run.bytes)
    assert [row["io_seconds"], row["io_most_seconds"]] == pytest.approx(
        [OWN_SECONDS, OWN_SECONDS], rel=ROUNDED
    )
    assert row["io_most_rank"] == 0
    assert row["write_seconds"] == pytest.approx(million.SECONDS, rel=ROUNDED)
    assert row["operation_seconds"] == pytest.approx(run.seconds, rel=ROUNDED)
    assert (row["time_by"], row["time_by_ranks"]) == ("all", f"0-{run.ranks - 1}")
    assert (row["bytes_by"], row["bytes_by_count"]) == ("all", run.ranks)


def test_a_difference(run: million.Many, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "diff", run.path, run.path)
    assert is_page(text) and f"without any difference: {run.ranks:,}" in text
    found = json.loads(output(capsys, "diff", run.path, run.path, "--json", "--top", 3))
    assert [row["seconds_a"] for row in found["whole"][:3]] == pytest.approx(
        [RUN_SECONDS, OWN_SECONDS, OWN_SECONDS], rel=ROUNDED
    )
    assert [(row["rank"], row["bytes_moved_b"]) for row in found["rank"]] == [
        (rank, million.BYTES) for rank in range(3)
    ]
    assert found["layer"][0]["bytes_a"] == run.bytes
    write = next(row for row in found["function"] if row["op"] == "pwrite")
    assert write["seconds_a"] == pytest.approx(run.seconds, rel=ROUNDED)
    assert write["difference"] == 0


def test_other_pages(run: million.Many, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_page(output(capsys, "show", run.path, "--findings"))
    if run.traced:  # these need calls
        assert is_page(output(capsys, "patterns", run.path))
        (pattern,) = json.loads(output(capsys, "patterns", run.path, "--json"))["patterns"]
        features = pattern["features"]
        assert (features["calls"], features["bytes"]) == (million.WRITES * run.ranks, run.bytes)
        assert is_page(output(capsys, "query", run.path, "latency breakdown inclusive"))


@pytest.mark.parametrize("name", ["overview", "breakdown", "files", "slowest", "servers"])
def test_an_answer_of_the_ui(run: million.Many, name: str) -> None:
    written = screens.ask_written(Runs([run.path]), name, {"run": "many"})
    assert len(written) < 100_000


def test_tiles(run: million.Many) -> None:
    """Each call lasts through many bins; of counted runs there is nothing to be made."""
    if not run.traced:
        pytest.skip("no calls")
    file, _ = build.ensure(run.path / "tables")
    tiles = duckdb.sql(
        "select sum(calls) as calls, sum(bytes) as bytes, sum(time) // 1_000_000_000 as seconds"
        f" from '{file}' group by z"
    )
    sums = (million.CALLS * run.ranks, run.bytes, OWN_SECONDS * run.ranks)
    assert set(tiles.fetchall()) == {sums}


@pytest.mark.parametrize("form", ["otf2", "ctf"])
def test_formats_with_files_of_each_thread_refuse(
    run: million.Many, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    if not run.traced:
        pytest.skip("no calls")
    monkeypatch.setattr(selected, "THREADS", min(selected.THREADS, run.ranks - 1))
    out = tmp_path / "out"
    assert main(["export", str(run.path), "--to", form, "-o", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"two files for each of {run.ranks:,} threads" in line and "--ranks" in line
    assert not out.exists()
    some = ["export", str(run.path), "--to", form, "-o", str(out), "--ranks", "0-9"]
    assert main(some) == 0


class Counting(Run):
    """Counts the rows that come back."""

    rows = 0

    def sql(self, text: str, **values: Any) -> pa.Table:
        table = super().sql(text, **values)
        self.rows += table.num_rows
        return table


def rows_of(path: Path, ranks: int) -> tuple[int, int]:
    """Rows that a landscape and the sums of a difference are made of."""
    run = Counting(million.make(path, ranks, traced=True).path)
    source = Remembered(run)
    landscape.row(source)
    before = run.rows
    side = Side("many", run.manifest, Remembered(run))
    difference.whole(side, side)
    difference.functions(side, side)
    return before, run.rows - before


def test_many_ranks_are_summed_where_they_are(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "many.fathom", MANY) == rows_of(tmp_path / "few.fathom", FEW)
