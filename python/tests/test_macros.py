"""The macros of analysis/sql: all can be made, none hides another, their list in the docs is theirs."""

import re
import shutil
from pathlib import Path

import duckdb
import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis.account import EMPTY_WITHOUT
from fathom.catalog import columns
from fathom.run import macros, paths, shell
from fathom.run.database import first_line
from fathom.run.store import Run
from schema import write_run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return fathom.open(write_run(tmp_path / "r.fathom", runs=[{"name": "r", "duration": 10}]))


def test_every_definition_of_a_file_is_known_once_and_has_a_comment() -> None:
    texts = [file.read_text() for file in macros.FOLDER.glob("*.sql")]
    names = re.findall(r"^create or replace macro (\w+)\(", "\n".join(texts), re.M)
    assert sorted(names) == sorted(macros.macros())
    assert all(one.comment for one in macros.macros().values())


def test_all_can_be_made_and_none_has_a_name_of_the_database(run: Run) -> None:
    connection = run.connection
    of_database = connection.execute("select distinct function_name from duckdb_functions()")
    assert not {name for (name,) in of_database.fetchall()} & macros.macros().keys()
    connection.execute("".join(f"create temp table {table};" for table in of_lake()))
    for name in macros.macros():
        macros.load(connection, f"{name}()")
    of_database = connection.execute("select distinct function_name from duckdb_functions()")
    assert macros.macros().keys() <= {name for (name,) in of_database.fetchall()}


def of_lake() -> list[str]:
    """The tables that a lake's macros are about, which a run has not."""
    return [
        f"{table.name} as select "
        + ", ".join(f'null::{one.sql} as "{name}"' for one in table.columns for name in one.names)
        + ", null::date as date"
        for table in columns.tables("lake.toml")
    ]


def made(run: Run) -> set[str]:
    of_user = "select function_name as name from duckdb_functions() where not internal"
    return set(run.sql(of_user)["name"].to_pylist())


def test_a_statement_gets_those_that_it_names(run: Run) -> None:
    assert run.sql("select * from layer_totals()").num_rows == 0
    assert made(run) == {one.name for one in macros.needed("layer_totals")}
    assert {"is_io", "is_communication"} < made(run) < macros.macros().keys()


def test_of_several_that_most_have_the_least_is_named(run: Run) -> None:
    values = "(values (1, 'b'), (1, 'a'), (1, 'b'), (1, 'a'), (1, 'c'), (2, null)) as t(part, name)"
    rows = run.sql(
        f"select part, commonest(name) as name from {values} group by part order by part"
    )
    assert rows["name"].to_pylist() == ["a", None]


def test_one_that_is_asked_alone_is_not_made(run: Run) -> None:
    """Its own statement is planned once; to make it would plan it too. What was made, or kept, is taken."""
    assert run.sql("from layer_totals()").num_rows == 0
    assert "layer_totals" not in made(run)
    run.keep_macro("layer_totals")
    assert "layer_totals" not in made(run)
    assert macros.written_out(run.connection, "from layer_totals()") == "from kept_layer_totals"
    assert run.sql("select * from layer_totals()").num_rows == 0
    assert "layer_totals" not in made(run)


def test_with_values_in_place_of_its_parameters_it_gives_the_same_columns(run: Run) -> None:
    connection, called = run.connection, {}
    for one in macros.macros().values():
        names = [word.partition(" := ")[0] for word in one.parameters.split(", ") if word]
        of_rows = any(name.endswith("_of") for name in names)
        if names and one.is_table and one.file != macros.OF_LAKE and not of_rows:
            text = f"from {one.name}({', '.join(f'${name}' for name in names)})"
            called[text] = macros.written_out(connection, text), names
    assert len(called) > 50 and made(run) == set()
    for text, (written, names) in called.items():
        assert written != text
        assert not re.search(r"'[^'\n]*\$\w+[^'\n]*'", written), (
            "a text of hdf5_memory has such a word"
        )
        macros.load(connection, f"{written} {text}")
        assert _columns(connection, written, names) == _columns(connection, text, names)


def _columns(connection: duckdb.DuckDBPyConnection, text: str, names: list[str]) -> object:
    """With types; or why it has none, where its values cannot be null."""
    try:
        rows = connection.execute(f"describe {text}", dict.fromkeys(names) or None).fetchall()
    except duckdb.Error as error:
        return first_line(error)
    return [row[:2] for row in rows]


def test_empty_ones_have_the_columns_of_those_they_stand_for(run: Run) -> None:
    connection = run.connection
    for name in EMPTY_WITHOUT:
        macros.load(connection, f"{name}() no_{name}()")
        empty, whole = (f"from {form}{name}()" for form in ("no_", ""))
        assert _columns(connection, empty, []) == _columns(connection, whole, [])
        assert connection.execute(empty).fetchall() == []


def test_a_connection_finds_what_another_made_but_not_what_it_keeps(run: Run) -> None:
    assert run.sql("select * from layer_totals()").num_rows == 0
    before, another = made(run), macros.cursor(run.connection)
    assert macros.execute(another, "select * from layer_totals()").fetchall() == []
    assert made(run) == before
    run.keep_macro("servers")
    assert run.sql("select * from server_totals()").num_rows == 0
    assert macros.execute(another, "select * from server_totals()").fetchall() == []


def test_what_others_need_comes_first() -> None:
    for name in macros.macros():
        seen: set[str] = set()
        for one in macros.needed(name):
            called = set(re.findall(r"(\w+)\(", one.sql)) & macros.macros().keys()
            assert called <= seen | {one.name}
            seen.add(one.name)


def test_the_docs_list_them() -> None:
    listed = (paths.SOURCE_TREE / "docs" / "macros.md").read_text(encoding="utf-8")
    assert listed == macros.documentation(), "make facts"


def test_a_shell_has_tables_and_macros_with_their_comments(run: Run) -> None:
    connection = duckdb.connect()
    connection.execute(shell.init(run))
    assert connection.execute("select name from runs").fetchall() == [("r",)]
    assert connection.execute("from layer_totals()").fetchall() == []
    commented = "select count(distinct function_name) from duckdb_functions() where comment <> ''"
    assert connection.execute(commented).fetchall() == [(len(macros.of_run()),)]


def test_query_opens_the_shell_or_says_how_to_get_it(
    run: Run,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert main(["query", str(run.path), "--shell"]) == 0
    printed = capfd.readouterr()
    assert "no `duckdb` in PATH" in printed.err and printed.err.count("\n") == 1
    assert printed.out == shell.init(run)
    cat = shutil.which("cat", path="/bin:/usr/bin")
    (programs / "duckdb").write_text(f'#!/bin/sh\necho "$1"\n{cat} "$2"\nexit 3\n')
    (programs / "duckdb").chmod(0o755)
    assert main(["query", str(run.path), "--shell"]) == 3
    assert capfd.readouterr().out == "-init\n" + shell.init(run)
    assert main(["query", str(run.path), "--shell", "--json"]) == 2


def test_statements_are_printed_with_their_plans_where_somebody_asks(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FATHOM_PLANS", "1")
    assert run.sql("select name from runs").to_pylist() == [{"name": "r"}]
    printed = capsys.readouterr().err
    assert printed.startswith("select name from runs\n")
    assert "Total Time" in printed
