"""The copy of calls in the order of time: every answer on a part of the time is the same with it as without."""

import os
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.cache.derived import Derived, ignore
from fathom.run import database, onefile
from fathom.webapi import answers as screens
from fathom.webapi.answers import by_time
from fathom.webapi.answers.session import HELD, Runs, Stop
from fathom.webapi.answers.time_index import narrowed, narrowed_to_file
from latency.forest import Forest

BRUSHED: list[tuple[str, dict[str, str]]] = [
    *(("breakdown", {"by": by, "of": of}) for by in ("layer", "op", "lane", "server", "call")
      for of in ("inclusive", "exclusive")),
    *(("files", {"by": by}) for by in ("file", "rank", "op", "call")),
    ("latency", {}), ("latency", {"by": "layer"}), ("slowest", {}), ("slowest", {"by": "exclusive"}),
    ("access", {"file": "0"}), ("access", {"file": "1", "across": "lane"}), ("coverage", {"file": "0"}),
    ("servers", {"bins": "7"}), ("lanes", {}), ("strips", {"width": "9"}),
]  # fmt: skip
SELECTED: list[dict[str, str]] = [
    {"t": "40-41"}, {"t": "200-900", "kinds": "write"}, {"t": "350-700", "lanes": "0-6", "files": "0,1"}
]  # fmt: skip


def rounded(value: Any) -> Any:
    """Sums of fractions depend on their order in the last digit."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def answers(runs: Runs) -> list[Any]:
    return [
        rounded(screens.ask(runs, name, {"run": "r"} | own | selected))
        for name, own in BRUSHED
        for selected in SELECTED
    ]


@pytest.mark.parametrize("seed", [11, 12])
def test_answers_are_those_of_all_calls(tmp_path: Path, seed: int) -> None:
    """Also of servers that are traced."""
    path = Forest(seed, traced=seed % 2 == 0).write(tmp_path).path
    plain, sorted_ = Runs([path]), Runs([path])
    sorted_.all["r"].sort(Stop())
    assert sorted_.all["r"].by_time and not plain.all["r"].by_time
    expected = answers(plain)
    for one, other in zip(answers(sorted_), expected, strict=True):
        assert one == other
    assert sum(len(str(one)) for one in expected) > 100_000


def test_it_holds_what_lasts_into_a_time_and_what_that_holds(tmp_path: Path) -> None:
    forest = Forest(11, traced=False)
    runs = Runs([forest.write(tmp_path).path])
    runs.all["r"].sort(Stop())
    view, (first, last) = runs.view("r"), (300, 400)
    shown = Selection(t=(first, last))
    ids = {row["id"] for row in narrowed(view, shown).rows("select id from calls")}
    inside = {row["id"] for row in narrowed(view, shown, inside=True).rows("from calls")}
    touched = {
        c["id"] for c in forest.calls if c["start"] <= last and c["start"] + c["duration"] >= first
    }
    assert ids == touched and 0 < len(ids) < len(forest.calls)
    assert inside >= ids | {c["id"] for c in forest.calls if c["parent"] in ids}
    assert view.value("select count(*) from calls") == len(forest.calls)


def test_it_is_made_once_and_anew_of_other_calls(tmp_path: Path) -> None:
    path = Forest(11, traced=False).write(tmp_path).path
    copy = path / "tables" / by_time.COPY.name
    Runs([path]).all["r"].sort(Stop())
    written_at, again = copy.stat().st_mtime_ns, Runs([path]).all["r"]
    assert again.by_time
    assert again.run.sql("select events from runs").num_rows == 1  # nothing was left unread
    again.sort(Stop())
    assert copy.stat().st_mtime_ns == written_at
    os.utime(path / "tables" / "calls" / "0.parquet", ns=(1, 1))
    later = Runs([path]).all["r"]
    assert not later.by_time
    later.sort(Stop())
    assert later.by_time and copy.stat().st_mtime_ns > written_at


def test_a_damaged_one_counts_as_none(tmp_path: Path) -> None:
    path = Forest(11, traced=False).write(tmp_path).path
    copy = path / "tables" / by_time.COPY.name
    Runs([path]).all["r"].sort(Stop())
    copy.write_bytes(copy.read_bytes()[:5000])
    assert not Runs([path]).all["r"].by_time
    copy.write_bytes(b"no database")
    assert not Runs([path]).all["r"].by_time
    assert list(copy.parent.iterdir()) == [copy]


def test_there_is_none_where_nothing_can_be_written_or_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Runs([Forest(11, traced=False).write(tmp_path).path]).all["r"]
    stop = Stop()
    monkeypatch.setattr(stop, "watch", lambda connection: connection.close())  # as late as can be
    opened.sort(stop)
    assert not opened.by_time
    monkeypatch.setattr(os, "access", lambda *_: False)  # the test may be root, whom no mode stops
    opened.sort(Stop())
    assert not opened.by_time
    assert screens.ask(Runs([opened.run.path]), "latency", {"run": "r", "t": "0-900"})


def test_what_fails_in_the_midst_leaves_nothing(tmp_path: Path) -> None:
    path = Forest(11, traced=False).write(tmp_path).path
    file = path / "tables" / by_time.COPY.name
    file.parent.mkdir(exist_ok=True)
    con = duckdb.connect(":memory:")
    database.add_views(con, path / "tables")
    con.execute("create or replace view calls as select 'a' as layer, 'b' as op, 'c' as kind")
    with pytest.raises(duckdb.Error):
        by_time._write(con, "made of", file)
    assert list(file.parent.iterdir()) == []


def test_tables_that_are_just_being_replaced_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: object) -> str:
        raise FileNotFoundError(2, "No such file or directory", "0.parquet")

    tables = Forest(11, traced=False).write(tmp_path).path / "tables"
    monkeypatch.setattr(Derived, "fingerprint", gone)
    assert not by_time.make(tables, ignore)
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "0.parquet" in message


def test_a_run_as_one_file_goes_without(tmp_path: Path) -> None:
    opened = Runs([Forest(11, traced=False).write(tmp_path).path]).all["r"]
    opened.sort(Stop())
    onefile.write(opened.run.path, tmp_path / "one.fathom")
    names = zipfile.ZipFile(tmp_path / "one.fathom").namelist()
    assert any("calls/" in name for name in names)
    assert not any("by_time" in name for name in names)


def test_pictures_of_a_file_look_at_its_calls_alone(tmp_path: Path) -> None:
    runs = Runs([Forest(11, traced=False).write(tmp_path).path])
    runs.all["r"].sort(Stop())
    view, shown = runs.view("r"), Selection(t=(200, 900), lanes=((0, 6, 1),))
    ids = narrowed_to_file(view, shown, 0).rows("select id from calls order by id")
    where = f"file = 0 and {conditions.calls(Selection(lanes=shown.lanes))}"
    assert ids == narrowed(view, shown).rows(f"select id from calls where {where} order by id")
    assert ids


def test_the_last_parts_that_were_asked_for_are_held(tmp_path: Path) -> None:
    opened = Runs([Forest(11, traced=False).write(tmp_path).path]).all["r"]
    asked: list[int] = []

    def ask(key: int) -> pa.Table:
        return opened.latest(
            key, lambda: asked.append(key) or pa.table({"key": [key]}), Stop().check
        )

    for key in (*range(HELD), 0, HELD, 0, 1):
        assert ask(key)["key"].to_pylist() == [key]
    assert asked == [*range(HELD), HELD, 1]
