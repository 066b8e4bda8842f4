"""The module `fathom`: what a run gives in Python, against what the commands print of it."""

import csv
import html
import io
import json
import re
import shutil
import sys
import threading
from pathlib import Path

import fathom
import pyarrow as pa
import pytest
from fathom.__main__ import main
from fathom.errors import FathomError, UsageError
from fathom.run import database
from schema import counters_of, write_run

Captured = pytest.CaptureFixture[str]


def test_calls_by_every_condition_are_those_of_sql(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    everything = run.calls()
    assert everything.num_rows == run.table("calls").num_rows > 0
    starts = everything["start"].to_pylist()
    assert starts == sorted(starts)
    for given, which in (
        ({"rank": 1}, "rank = 1"),
        ({"rank": [0, 1], "layer": "posix"}, "rank in (0, 1) and layer = 'posix'"),
        ({"op": ["write", "pwrite"]}, "op in ('write', 'pwrite')"),
        ({"kind": "write", "time": (0, 1e-6)}, "kind = 'write' and start < 1000"),
        ({"file": "*.h5"}, "file = 0"),
        ({"file": "in"}, "file = 1"),
        ({"layer": []}, "false"),
    ):
        ids = run.calls(columns=["id"], **given)["id"].to_pylist()
        wanted = run.sql(f"select id from calls where {which}")["id"].to_pylist()
        assert sorted(ids) == sorted(wanted), given


def test_the_longest_calls_come_first(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    durations = run.calls(longest=2, columns=["duration"])["duration"].to_pylist()
    assert durations == sorted(run.table("calls")["duration"].to_pylist(), reverse=True)[:2]


def test_a_run_says_what_show_does(
    shared_run: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = fathom.open(shared_run)
    assert main(["show", str(shared_run)]) == 0
    shown = capsys.readouterr().out
    assert f"{run}\n" == shown
    rendered = run._repr_html_()
    assert re.sub("</?(pre|b)>", "", html.unescape(rendered)) == str(run).replace(" \n", "\n")
    assert rendered.startswith("<pre><b>") and "</b>" in rendered
    assert json.loads(_json(capsys, "show", shared_run))["answers"]["says"] == run.answers()


def test_completion_names_what_is_offered_and_nothing_else(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    assert {"calls", "by", "query", "findings", "answers", "sql"} < set(dir(run))
    assert all(hasattr(run, name) for name in dir(run))
    assert eval(repr(run), {"fathom": fathom}).path == run.path
    assert {"open", "record", "region"} < set(dir(fathom)) == set(fathom.__all__)
    assert all(hasattr(fathom, name) for name in dir(fathom))


def test_runs_side_by_side_are_those_of_the_commands(shared_run: Path, capsys: Captured) -> None:
    for by in ("function", "layer"):
        told = json.loads(_json(capsys, "diff", shared_run, shared_run, "--by", by))
        assert len(fathom.diff(shared_run, shared_run, by).to_pylist()) == len(told) > 0
    with pytest.raises(UsageError, match="no table 'functoin'; is it 'function'"):
        fathom.diff(shared_run, shared_run, "functoin")
    assert main(["landscape", str(shared_run.parent), "--csv"]) == 0
    told = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    rows = fathom.landscape([shared_run.parent]).to_pylist()
    assert [row["run"] for row in rows] == [row["run"] for row in told] == ["small"]
    assert str(rows[0]["bytes_written"]) == told[0]["bytes_written"]


def _json(capsys: Captured, *words: object) -> str:
    assert main([*map(str, words), "--json"]) == 0
    return capsys.readouterr().out


def test_what_cannot_be_asked_is_said(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    with pytest.raises(UsageError, match='"nothing"'):
        run.calls(columns=["nothing"])
    with pytest.raises(UsageError, match="no table 'nothing'; fathom help show lists them"):
        run.by("nothing")
    with pytest.raises(UsageError, match="here is no 'breakdwn'; is it 'breakdown'"):
        run.query("latency breakdwn inclusive")
    with pytest.raises(UsageError, match="no finding 'nothing'"):
        run.findings("nothing")
    with pytest.raises(
        UsageError, match=r"this run has no layer 'nothing'; there are fathom, hdf5, "
    ):
        run.calls(layer="nothing")
    with pytest.raises(UsageError, match="this run has no rank '99'; there are 0, 1"):
        run.calls(rank=[0, 99])
    with pytest.raises(UsageError, match="no table 'nothing'; there are clocks"):
        run.table("nothing")
    with pytest.raises(AttributeError):
        run.counters  # noqa: B018


def test_columns_of_one_name_are_kept_apart(
    shared_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", str(shared_run), "--csv", "--sql", "select 1 as a, 2 as a, 3 as b"]) == 0
    assert capsys.readouterr().out == "a,a_2,b\n1,2,3\n"


@pytest.mark.parametrize("form", ["99", '"x"', "null"])
def test_a_run_of_another_format_is_refused(
    run_directory: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    (run_directory / "run.json").write_text(f'{{"format": {form}}}')
    assert main(["show", str(run_directory)]) == 3
    message = capsys.readouterr().err
    assert "run.json: its format is" in message and message.count("\n") == 1


def test_too_little_memory_is_one_line_and_no_fault_of_the_statement(tmp_path: Path) -> None:
    con = database.connect(tmp_path, memory="10 MiB")
    with pytest.raises(
        UsageError, match=r"more memory than the 10.0 MiB that it may use here; ask"
    ) as caught:
        database.ask(con, "select list(i::text || repeat('x', 99)) from range(1_000_000) as r(i)")
    assert "\n" not in str(caught.value)


def test_tables_are_those_that_show_prints(shared_run: Path, capsys: Captured) -> None:
    run = fathom.open(shared_run)
    for keys in (["layer"], ["rank", "function"], ["file"]):
        assert main(["show", str(shared_run), "--by", ",".join(keys), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == run.by(*keys).to_pylist()


def test_answers_are_those_of_the_command(
    shared_run: Path, tmp_path: Path, capsys: Captured
) -> None:
    words = ["latency", "breakdown", "exclusive", "[0]"]
    answer = fathom.open(shared_run).query(" ".join(words))
    assert main(["query", str(shared_run), *words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert answer.query == printed["query"]
    for name, table in answer.tables.items():
        assert table.to_pylist() == printed["views"][name]
    picture, ours = tmp_path / "command.svg", tmp_path / "ours.svg"
    assert main(["query", str(shared_run), *words, "--plot", str(picture)]) == 0
    answer.save(ours)
    assert ours.read_bytes() == picture.read_bytes()
    assert answer.figure().axes[0].get_ylabel().startswith("exclusive seconds")


def test_findings_are_those_of_the_command(tmp_path: Path, capsys: Captured) -> None:
    second = 10**9
    call = {"id": 1, "layer": "posix", "op": "write", "kind": "write", "start": 0}
    call |= {"duration": second}
    long = write_run(
        tmp_path / "long.fathom",
        runs=[{"name": "long", "duration": 2 * second, "events": 1, "processes": 1}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        calls=[call],
        counters=counters_of([call]),
    )
    rule = tmp_path / "mine.sql"
    header = dict.fromkeys(("title", "layer", "limit", "lost", "fix", "seen"), "x")
    header |= {"says": "{calls_made} calls", "sure": "0.5", "needs": "counters"}
    rule.write_text(
        "".join(f"-- {key}: {value}\n" for key, value in header.items())
        + "select 7.5 as lost, sum(calls)::bigint as calls_made, [(select min(id) from calls)] as calls from counters\n"
    )
    table = fathom.open(long).findings(str(rule))
    assert main(["show", str(long), "--findings", str(rule), "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    (row,) = table.to_pylist()
    io = fathom.open(long).sql("select max(time) / 1e9 as seconds from own_processes()")
    assert row["lost_seconds"] == io["seconds"][0].as_py() < 7.5, "no run loses more than its I/O"
    assert row | {"calls": [str(call) for call in row["calls"]]} == printed
    rule.write_text(rule.read_text() + "no sql\n")
    with pytest.raises(UsageError, match=r"mine\.sql"):
        fathom.open(long).findings(str(rule))


def test_whole_numbers_stay_whole_in_pandas_and_polars() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    large = 2**63 + 1  # a double cannot hold it
    table = pa.table({"id": pa.array([large, None], pa.uint64())})
    frame = fathom.to_pandas(table)
    assert frame["id"][0] == large and frame["id"].isna().tolist() == [False, True]
    assert fathom.to_polars(table)["id"].to_list() == [large, None]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_one_line(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    convert = {"pandas": fathom.to_pandas, "polars": fathom.to_polars}[library]
    with pytest.raises(FathomError, match=rf"pip install 'fathom-io\[{library}\]'"):
        convert(pa.table({"a": [1]}))


def test_what_a_packer_replaces_meanwhile_is_opened_again(run_directory: Path) -> None:
    """Tiles lie in old tables, not in new ones; new ones have another name at first."""
    tables, new = run_directory / "tables", run_directory / "tables.tmp.new"
    tiles, over = tables / "tiles.parquet", threading.Event()
    rows = (tables / "runs.parquet").read_bytes()

    def pack() -> None:
        while not over.is_set():
            tiles.write_bytes(rows)
            (new / "calls").mkdir(parents=True)
            new.rename(run_directory / "tables.old")
            tiles.unlink()
            shutil.rmtree(run_directory / "tables.old")

    packer = threading.Thread(target=pack)
    packer.start()
    try:
        for _ in range(40):
            opened = fathom.open(run_directory)
            assert opened.sql("select count(*) as runs from runs")["runs"].to_pylist() == [1]
    finally:
        over.set()
        packer.join()
