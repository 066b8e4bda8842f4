"""What `explain` and `show --json` print is what the schema says: checked by jsonschema, over runs of all kinds."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis.causes import CAUSES
from fathom.assist import explain
from fathom.pages import page
from jsonschema import Draft202012Validator
from schema import write_run

Captured = pytest.CaptureFixture[str]
CHECK = Draft202012Validator(explain.schema())


def printed(capsys: Captured, *words: str | Path) -> dict[str, Any]:
    assert main([str(word) for word in words]) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    CHECK.validate(content)
    return content


def forms(form: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each part of the schema, by its place."""
    if isinstance(form, dict):
        yield name, form
        for key, below in form.items():
            yield from forms(below, f"{name}/{key}")
    elif isinstance(form, list):
        for below in form:
            yield from forms(below, name)


def types(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given] if isinstance(given, str) else []


#: Whole numbers that count nothing: they name a process, a rank, a line.
NAMES = ("process", "rank", "busiest", "busiest_process", "line", "caller_line")


def test_each_number_has_a_unit_and_where_it_is_from() -> None:
    Draft202012Validator.check_schema(explain.schema())
    numbers = [
        (name, form)
        for name, form in forms(explain.schema())
        if {"number", "integer"} & set(types(form.get("type")))
    ]
    assert len(numbers) > 50
    for name, form in numbers:
        if name.rpartition("/")[2] in NAMES:
            assert "unit" not in form and form["description"], name
        else:
            assert form["unit"] and form["from"], name


def test_a_key_that_is_missing_or_new_is_refused(capsys: Captured, shared_run: Path) -> None:
    content = printed(capsys, "explain", shared_run, "--json")
    for at in ("run", "missing"):
        assert list(CHECK.iter_errors(content | {at: content[at] | {"other": 1}}))
        assert list(CHECK.iter_errors(content | {at: dict(list(content[at].items())[1:])}))


def test_show_follows_it(capsys: Captured, shared_run: Path) -> None:
    """It begins with the same, and goes on with tables."""
    content = printed(capsys, "explain", shared_run, "--json", "--top", "1000")
    whole = printed(capsys, "show", shared_run, "--json")
    assert {key: whole[key] for key in content} == content
    assert [row["op"] for row in whole["functions"]]
    assert explain.schema()["properties"]["format"]["const"] == explain.FORMAT == content["format"]


def test_of_a_run_without_calls(capsys: Captured, tmp_path: Path) -> None:
    run = write_run(tmp_path / "silent.fathom", runs=[{"duration": 10**9}])
    (run / "run.json").write_text('{"format": 1}')
    content = printed(capsys, "explain", run, "--json")
    assert content["answers"]["lines"] is None and content["account"]["slowest"] is None
    printed(capsys, "show", run, "--json")


def test_numbers_are_those_of_the_tables(shared_run: Path) -> None:
    opened = fathom.open(shared_run)
    content = explain.content(page.of_run(opened))
    numbers = {one.name: one for one in explain.numbers(content)}
    (cells,) = opened.sql(
        "select sum(time) / 1e9 as s from account() where process = 1"
    ).to_pylist()
    slowest = numbers["account.slowest.seconds"]
    assert slowest.value == pytest.approx(cells["s"]) and slowest.unit == "seconds"
    causes = [name for name in numbers if name.startswith("account.slowest.causes[")]
    assert causes and all(name.partition("[")[2].partition("]")[0] in CAUSES for name in causes)
    assert sum(
        numbers[name].value for name in causes if name.endswith(".seconds")
    ) == pytest.approx(cells["s"])
    counted = opened.sql("select count(*) as n from calls where layer <> 'fathom'")["n"][0].as_py()
    assert counted <= numbers["run.calls_in_full"].value


def test_a_name_that_looks_like_more_is_a_name(capsys: Captured, tmp_path: Path) -> None:
    run = write_run(tmp_path / "odd.fathom", runs=[{"duration": 10**9}])
    (run / "run.json").write_text(json.dumps({"format": 1, "command": ["a\x1b[2J\nrun.seconds"]}))
    assert main(["explain", str(run)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\nrun.seconds'" not in out


def test_the_schema_is_printed_without_a_run(capsys: Captured) -> None:
    assert main(["explain", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == explain.schema()
