"""The registry, and the answers that name runs and lanes."""

from pathlib import Path

import pytest
from fathom import screens
from fathom.errors import UsageError
from fathom.screens.opened import NoSuchRun, Runs


@pytest.fixture
def runs(run_directory: Path) -> Runs:
    return Runs([run_directory, run_directory])


def test_runs_of_one_name_are_told_apart(runs: Runs) -> None:
    answer = screens.ask(runs, "runs", {})
    assert [run["name"] for run in answer["runs"]] == ["small", "small-2"]
    first = answer["runs"][0]
    assert first["layers"] == ["hdf5", "mpiio", "posix", "fathom"]
    assert (first["ranks"], first["lanes"], first["command"]) == (2, 2, ["./s3d", "4 4"])


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
    for name, parameters, said in (
        ("nothing", {}, "no answer 'nothing'"),
        ("lanes", {}, "'run' is missing"),
        ("lanes", {"run": "small", "lane": "1"}, "no parameter 'lane'"),
    ):
        with pytest.raises(UsageError, match=said):
            screens.ask(runs, name, parameters)
    with pytest.raises(NoSuchRun, match="no such run is open"):
        screens.ask(runs, "lanes", {"run": "../small"})
