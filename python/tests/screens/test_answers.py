"""The registry, and the answers that name runs and lanes."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.errors import UsageError
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import NoSuchRun, Runs
from schema import counters_of, write_run
from small import CALLS


@pytest.fixture
def runs(run_directory: Path) -> Runs:
    return Runs([run_directory, run_directory])


def test_runs_of_one_name_are_told_apart(runs: Runs) -> None:
    answer = screens.ask(runs, "runs", {})
    assert [run["name"] for run in answer["runs"]] == ["small", "small-2"]
    first = answer["runs"][0]
    assert first["layers"] == ["hdf5", "mpiio", "posix", "fathom"]
    assert (first["ranks"], first["lanes"], first["command"]) == (2, 2, "./s3d '4 4'")


def test_a_run_that_runs_is_live(runs: Runs) -> None:
    path = runs.all["small"].run.path
    (path / "streams").mkdir()
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "FATHOM_RUN": str(path)}) as process:
        # The kernel ends our wait for exec a little before it has set up the new environment.
        while not Path(f"/proc/{process.pid}/environ").read_bytes():
            time.sleep(0.01)
        assert screens.ask(runs, "runs", {})["runs"][0]["live"]
        process.kill()
    assert not screens.ask(runs, "runs", {})["runs"][0]["live"]


def test_lanes_have_the_outermost_calls(runs: Runs) -> None:
    answer = screens.ask(runs, "lanes", {"run": "small"})
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in answer["rows"]]
    assert [(row["lane"], row["label"], row["io time"]) for row in rows] == [
        (0, "rank 0", 1500),
        (1, "rank 1", 3000),
    ]
    assert {column["name"]: column["unit"] for column in answer["columns"]}["io time"] == "ns"
    selected = screens.ask(runs, "lanes", {"run": "small", "layers": "posix", "lanes": "0"})
    assert [row[6] for row in selected["rows"]] == [1000]


def test_the_sql_of_an_answer_gives_its_rows(runs: Runs) -> None:
    for parameters in ({}, {"lanes": "1"}, {"t": "0-1000", "kinds": "write"}):
        answer = screens.ask(runs, "lanes", {"run": "small", **parameters})
        rows = runs.view("small").sql(answer["sql"])
        assert [list(row.values()) for row in rows.to_pylist()] == answer["rows"]
        assert answer["total"] == len(answer["rows"])


def test_wrong_requests_are_one_line(runs: Runs) -> None:
    for name, parameters, words_of_error in (
        ("nothing", {}, "no answer 'nothing'"),
        ("lanes", {}, "'run' is missing"),
        ("lanes", {"run": "small", "lane": "1"}, "no parameter 'lane'"),
    ):
        with pytest.raises(UsageError, match=words_of_error):
            screens.ask(runs, name, parameters)
    with pytest.raises(NoSuchRun, match="no such run is open"):
        screens.ask(runs, "lanes", {"run": "../small"})


def test_the_overview_says_what_show_does(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    answer = screens.ask(runs, "overview", {"run": "small"})
    main(["show", str(runs.all["small"].run.path), "--all"])
    page = " ".join(capsys.readouterr().out.split())  # lines are folded
    for words in (answer["verdict"], *(line.partition("? ")[2] for line in answer["sentences"])):
        assert words in page
    assert [row[0] for row in answer["layers"]["rows"]] == ["mpiio", "posix", "hdf5"]
    (longest, *_) = answer["landmarks"]
    assert longest["selection"] == {"call": "6"} and "rank 1" in longest["sentence"]
    main(["show", str(runs.all["small"].run.path), "--findings", "--json"])
    shown = json.loads(capsys.readouterr().out)
    findings = screens.ask(runs, "findings", {"run": "small"})
    assert [one["sentence"] for one in findings["findings"]] == [one["says"] for one in shown]


def test_of_a_foreign_log_nothing_is_claimed_that_it_does_not_say(tmp_path: Path) -> None:
    """No host, so no number of nodes; no calls, so the rules on calls were not asked, and that is said."""
    calls = [
        {
            "id": 1,
            "layer": "posix",
            "op": "pwrite",
            "kind": "write",
            "start": 1,
            "duration": 9,
            "bytes": 5,
        }
    ]
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100, "nodes": 1}], nodes=[{"node": 0, "host": "unknown"}],
        processes=[{"process": 0}], counters=[row | {"recorded": 0} for row in counters_of(calls)],
    )  # fmt: skip
    place = path / "run.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"recorder": "darshan"}))
    runs = Runs([path])
    facts = {name for name, *_ in screens.ask(runs, "overview", {"run": "r"})["facts"]}
    assert "ranks" in facts and "nodes" not in facts
    findings = screens.ask(runs, "findings", {"run": "r"})
    assert findings["findings"] == [] and findings["asked"] > 0
    (calls_missing,) = [why for why in findings["not asked"] if "has no calls" in why]
    assert "time-in-locks" in calls_missing


def test_the_longest_call_is_one_of_io(tmp_path: Path) -> None:
    """What starts MPI takes longer, and is none."""
    calls = [
        {"id": 1, "layer": "mpiio", "op": "MPI_Init", "kind": "comm", "start": 0, "duration": 90},
        {"id": 2, "layer": "posix", "op": "pwrite", "kind": "write", "start": 91, "duration": 9, "bytes": 5},
    ]  # fmt: skip
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100}], processes=[{"process": 0}], calls=calls,
        counters=counters_of(calls), ops=[{key: c[key] for key in ("layer", "op", "kind")} for c in calls],
    )  # fmt: skip
    answer = screens.ask(Runs([path]), "overview", {"run": "r"})
    assert [one["selection"] for one in answer["landmarks"]] == [{"call": "2"}]


@pytest.mark.parametrize("ranks", [True, False])
def test_a_straggler_is_one_of_ranks(tmp_path: Path, ranks: bool) -> None:
    """Nobody waits for a script among its helpers."""
    calls = [
        {"id": n, "process": n, "rank": n if ranks else None, "layer": "posix", "op": "pwrite", "kind": "write",
         "start": 0, "duration": 900 if n == 1 else 10, "bytes": 5}
        for n in range(3)
    ]  # fmt: skip
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 1000}], calls=calls, counters=counters_of(calls),
        processes=[{"process": n, "rank": n if ranks else None, "pid": 580 + n} for n in range(3)],
    )  # fmt: skip
    answer = screens.ask(Runs([path]), "overview", {"run": "r"})
    assert ["rank"] * ranks == [one["kind"] for one in answer["landmarks"] if one["kind"] == "rank"]


def test_what_a_run_time_did_is_put_in_by_one_parameter(tmp_path: Path) -> None:
    calls = [
        {"id": 1, "layer": "posix", "op": "pread", "kind": "read", "start": 0, "duration": 90, "bytes": 7,
         "file": 0, "file_offset": 0, "runtime": True},
        {"id": 2, "layer": "posix", "op": "pwrite", "kind": "write", "start": 91, "duration": 9, "bytes": 5,
         "file": 1, "file_offset": 0, "runtime": False},
    ]  # fmt: skip
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100, "ranks": 2, "ranks_seen": 1}],
        processes=[{"process": 0, "rank": 0}], calls=calls,
        counters=[row | {"runtime": row["op"] == "pread"} for row in counters_of(calls)],
        files=[{"file": n, "path": f"/a/{n}", "kind": "regular", "runtime": n == 0} for n in range(2)],
    )  # fmt: skip
    runs = Runs([path])

    def ops(**more: str) -> set[str]:
        rows = screens.ask(runs, "breakdown", {"run": "r", "by": "op", **more})["rows"]
        return {row[0].split(":")[-1] for row in rows}

    assert ops() == {"pwrite"}
    assert ops(all="1") == {"pread", "pwrite"}
    assert ops() == {"pwrite"}  # what is kept of one is not the other's
    for name in ("overview", "zooms", "latency"):
        one, other = (screens.ask(runs, name, {"run": "r", **more}) for more in ({}, {"all": "1"}))
        assert one != other, name
    tile = {"run": "r", "layer": "posix", "z": "0", "x": "0", "y": "0"}
    assert screens.ask(runs, "tile", tile) != screens.ask(runs, "tile", {**tile, "all": "1"})
    sides = {"run": "r", "with": "r", "all": "1"}
    assert {row[0] for row in screens.ask(runs, "compare", sides)["ops"]["rows"]} == {
        "pread",
        "pwrite",
    }
    (one,) = screens.ask(runs, "runs", {})["runs"]
    assert one["left out"].startswith("1 call on 1 file, 90 ns, of the MPI library's start and end")
    assert one["in part"] == ["1 of 2 ranks was recorded; of the others nothing is known"]
    with pytest.raises(UsageError, match="1 is expected"):
        ops(all="yes")


def test_layers_that_only_a_run_time_uses_are_listed_apart(tmp_path: Path) -> None:
    calls = [
        {"id": n, "layer": layer, "op": "x", "kind": "read", "start": 0, "duration": 9, "runtime": layer == "stdio"}
        for n, layer in enumerate(("posix", "stdio"))
    ]  # fmt: skip
    counters = [
        row | {"runtime": call["runtime"]}
        for row, call in zip(counters_of(calls), calls, strict=True)
    ]
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100}], calls=calls, counters=counters
    )
    (one,) = screens.ask(Runs([path]), "runs", {})["runs"]
    assert (one["layers"], one["layers of all"]) == (["posix"], ["stdio", "posix"])


def test_counts_by_time_say_that_they_hold_a_run_times(tmp_path: Path) -> None:
    rows = [
        {"process": 0, "layer": "posix", "op": op, "kind": "read", "calls": 1, "recorded": 0, "time": 9,
         "runtime": op == "read"} for op in ("read", "pread")
    ]  # fmt: skip
    for name, counters in (("mixed", rows), ("own", rows[1:])):
        path = write_run(
            tmp_path / f"{name}.fathom", runs=[{"duration": 100}], processes=[{"process": 0}],
            counters=counters,
            heat=[{"process": 0, "layer": "posix", "operation": "read", "start": 0, "stop": 50, "calls": 1}],
        )  # fmt: skip
        notes = (
            screens.ask(Runs([path]), "zooms", {"run": name})["note"],
            screens.ask(Runs([path]), "overview", {"run": name})["rate"]["note"],
        )
        assert [note is not None for note in notes] == [name == "mixed"] * 2, name


def test_the_overview_and_the_foot_count_alike(runs: Runs) -> None:
    facts = {row[0]: row[1] for row in screens.ask(runs, "overview", {"run": "small"})["facts"]}
    first = screens.ask(runs, "runs", {})["runs"][0]
    assert first["events"] == facts["calls recorded in full"] == 6
    assert first["counted"] == facts["calls only counted"]


def test_of_fathoms_own_rows_no_picture_is_drawn(tmp_path: Path) -> None:
    """At level job there are no others."""
    own = [{"id": 1, "layer": "fathom", "op": "start", "kind": "other", "start": 0, "duration": 5}]
    read = {"process": 0, "layer": "posix", "op": "pread", "kind": "read", "calls": 1, "time": 9}
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100}], processes=[{"process": 0}], calls=own,
        counters=[*counters_of(own), read],
        heat=[{"process": 0, "layer": "posix", "operation": "read", "start": 0, "stop": 50, "calls": 1, "time": 9}],
    )  # fmt: skip
    runs = Runs([path])
    assert screens.ask(runs, "zooms", {"run": "r"})["source"] == "heat"
    facts = screens.ask(runs, "overview", {"run": "r"})["facts"]
    assert ["calls recorded in full", 0, "count"] in facts


def test_a_call_with_all_around_it(runs: Runs) -> None:
    answer = screens.ask(runs, "call", {"run": "small", "call": "2"})
    assert (answer["call"]["op"], answer["call"]["exclusive"]) == ("MPI_File_write_at_all", 800)
    assert answer["call"]["path"] == "/data/out\x1b[2J.h5"
    assert [one["call"] for one in answer["ancestors"]] == ["1"]
    assert [(one["call"], one["layer"]) for one in answer["children"]] == [
        ("3", "posix"),
        ("4", "fathom"),
    ]
    assert answer["siblings"] == {
        "count": 1, "median": "2", "slower": None, "next": None, "previous": None, "slowest": "2"
    }  # fmt: skip
    assert dict(answer["breakdown"]["layers"]).keys() == {"mpiio", "posix", "fathom"}
    rows = screens.ask(runs, "tree", {"run": "small", "call": "1"})["rows"]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("1", None, ""), ("2", "1", "calls"), ("3", "2", "calls"), ("4", "2", "calls")
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no such call"):
        screens.ask(runs, "call", {"run": "small", "call": "99"})


def test_strips_are_spans_or_bins(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    few = screens.ask(runs, "strips", {"run": "small"})
    assert len(few["spans"]["rows"]) == 7 and few["bins"] is None
    monkeypatch.setattr("fathom.webapi.answers.strips.LIMIT", 3)
    runs = Runs([runs.all["small"].run.path])  # the one before holds what it has answered
    for chosen in ({}, {"t": "600-2000"}, {"lanes": "0", "width": "3"}):
        many = screens.ask(runs, "strips", {"run": "small", **chosen})
        assert many["spans"] is None
        first, last = map(int, chosen.get("t", "0-4000").split("-"))
        busy = sum(
            max(0, min(call["start"] + call["duration"], last) - max(call["start"], first))
            for call in CALLS
            if "lanes" not in chosen or call["rank"] == 0
        )
        assert sum(row[4] for row in many["bins"]["rows"]) == busy


def test_columns_of_layers_have_units(runs: Runs) -> None:
    layers = screens.ask(runs, "overview", {"run": "small"})["layers"]
    units = {one["name"]: one["unit"] for one in layers["columns"]}
    assert units.pop("layer") == "text"
    assert "text" not in units.values()


def test_the_slowest_are_chosen_before_they_are_sorted(runs: Runs) -> None:
    rows = screens.ask(runs, "slowest", {"run": "small", "limit": "3"})
    assert [row[0] for row in rows["rows"]] == ["6", "7", "1"]
    assert rows["total"] == 6  # the region is no I/O
    only = screens.ask(runs, "slowest", {"run": "small", "lanes": "0", "layers": "posix"})
    assert [row[0] for row in only["rows"]] == ["3", "5"]


@pytest.mark.parametrize(
    "q",
    [
        "drop view calls", "select 1; select 2", "copy calls to '/tmp/x'", "attach '/tmp/x'", "set threads = 1", "",
        "select * from read_csv('/etc/passwd')", "select * from glob('/etc/*')", "from '/etc/passwd'", "select 1) --",
        "explain analyze copy (select 1) to '/tmp/x'", "from read_text('/proc/self/environ')", "install httpfs",
    ],
)  # fmt: skip
def test_the_console_only_reads_this_run(runs: Runs, q: str) -> None:
    with pytest.raises(UsageError):
        screens.ask(runs, "sql", {"run": "small", "q": q})


def test_the_console_answers(runs: Runs) -> None:
    answer = screens.ask(runs, "sql", {"run": "small", "q": "from calls; ", "limit": "3"})
    assert (len(answer["rows"]), answer["total"]) == (3, 7)
    q = "select 9007199254740993::ubigint as a, -9007199254740993 as b, 9007199254740992::ubigint as c"
    wide = screens.ask(runs, "sql", {"run": "small", "q": q})
    assert wide["rows"] == [["9007199254740993", "-9007199254740993", 2**53]]
    meanings = {
        (row[0], row[1]): row[3] for row in screens.ask(runs, "schema", {"run": "small"})["rows"]
    }
    timed = screens.ask(runs, "sql", {"run": "small", "q": "select 1.5 as seconds, 2 as n"})
    assert timed["columns"] == [{"name": "seconds", "unit": "s"}, {"name": "n", "unit": "text"}]
    with pytest.raises(UsageError) as wrong:  # the line and the letter of the user's own
        screens.ask(runs, "sql", {"run": "small", "q": "select 1,\n  oops from calls"})
    _, _, line, mark, *_ = str(wrong.value).splitlines()
    assert line.strip() == "LINE 2:   oops from calls" and mark.index("^") == line.index("oops")
    assert "children" in meanings["calls", "nested"] and "eighth" not in meanings["tiles", "z"]


@pytest.mark.parametrize(
    "q", ["latency", "throughput --layer", "call --lines a:b:c", "call --to x"]
)
def test_a_wrong_query_is_told(runs: Runs, q: str) -> None:
    with pytest.raises(UsageError, match="query: "):
        screens.ask(runs, "query", {"run": "small", "q": q})


def test_source_lines_of_programs_only(tmp_path: Path) -> None:
    good, secret, link = tmp_path / "a.c", tmp_path / "id_rsa", tmp_path / "b.c"
    good.write_text("int main;\n" * 30)
    secret.write_text("secret\n" * 30)
    link.symlink_to(secret)
    named = [good, secret, link, tmp_path / "none.c", "relative.c", tmp_path, "/dev/zero"]
    path = write_run(
        tmp_path / "r.fathom",
        runs=[{}],
        sites=[{"site": n, "source": str(one), "line": 20} for n, one in enumerate(named)],
    )
    runs = Runs([path])
    sources = [screens.ask(runs, "source", {"run": "r", "site": str(n)}) for n in range(len(named))]
    assert sources[0]["text"][0] == [12, "int main;", None] and sources[0]["line"] == 20
    assert sources[1:] == [None] * (len(named) - 1)


@pytest.mark.parametrize(
    ("recorder", "again"),
    [("darshan", "record the program with DXT, or with fathom run"), ("", "run with --level call")],
)
def test_pictures_without_calls_say_why(tmp_path: Path, recorder: str, again: str) -> None:
    """Of a log of sums, and of a run of a lower level."""
    counted = [{**row, "recorded": 0} for row in counters_of(CALLS)]
    path = write_run(
        tmp_path / "sums.fathom",
        runs=[{"name": "sums", "duration": 4000, "events": 0, "processes": 1, "ranks": 1}],
        nodes=[{"node": 0}],
        processes=[{"process": 0, "rank": 0, "pid": 1, "ended": "clean"}],
        counters=[row for row in counted if row["process"] == 0],
    )
    manifest = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**manifest, "recorder": recorder}))
    runs = Runs([path])
    ask = {
        name: screens.ask(runs, name, {"run": "sums"}) for name in ("zooms", "strips", "overview")
    }
    for note in (
        ask["zooms"]["note"],
        ask["strips"]["spans"]["note"],
        ask["overview"]["rate"]["note"],
    ):
        assert note.startswith("not captured: ") and again in note
