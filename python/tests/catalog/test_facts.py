"""Facts stand once: what other languages and the docs have of the catalog is what its files say now."""

import re
from pathlib import Path

import pytest
from fathom.catalog import columns, facts, layers, stream
from fathom.run import paths


@pytest.mark.parametrize("name", facts.FILES)
def test_other_languages_have_what_the_file_says(name: str) -> None:
    text = (paths.SOURCE_TREE / name).read_text(encoding="utf-8")
    assert text == facts.FILES[name](text), "make facts"


def test_a_change_is_written(tmp_path: Path) -> None:
    for name in facts.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    for name, table in (("stream-format", "records"), ("tables", "runs"), ("centre", "jobs")):
        mark = f"<!-- made of catalog/x.toml: {table} -->\n<!-- end -->\n"
        (tmp_path / f"docs/{name}.md").write_text(mark)
    assert facts.write_facts(tmp_path) == list(facts.FILES)
    assert facts.write_facts(tmp_path) == []


def test_bits_and_names_are_of_one_layer_each() -> None:
    every = layers.layers()
    bits = [layer.bit for layer in every if layer.bit is not None]
    assert len(set(bits)) == len(bits) and max(bits) == layers.bits()["fathom"] == 31
    assert (
        len({layer.name for layer in every}) == len({layer.title for layer in every}) == len(every)
    )


@pytest.mark.parametrize("one", stream.SETS, ids=lambda one: one.key)
def test_a_number_of_the_stream_is_one_things(one: stream.Numbers) -> None:
    rows = stream.rows(one.key)
    numbers = stream.numbers(one.key)
    assert len(numbers) == len(set(numbers.values())) == len(rows)
    assert list(numbers.values()) == sorted(numbers.values())
    if one.named:
        assert list(numbers.values()) == list(range(len(rows)))


@pytest.mark.parametrize(
    ("page", "tables"),
    [("stream-format", sorted(stream.TABLES)), ("tables", sorted(columns.page_tables()))],
)
def test_every_table_is_on_its_page(page: str, tables: list[str]) -> None:
    text = (paths.SOURCE_TREE / f"docs/{page}.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- made of catalog/[a-z]+\.toml: (.*?) -->", text)) == tables


@pytest.mark.parametrize("table", columns.tables(), ids=lambda table: table.name)
def test_a_column_has_one_name(table: columns.Table) -> None:
    names = [name for column in table.columns for name in column.names]
    assert len(set(names)) == len(names)


def test_what_objects_carry_is_said() -> None:
    said = {row["name"] for row in stream.rows("carries")}
    assert {row["carries"] for row in stream.rows("class") if "carries" in row} == said


@pytest.mark.parametrize("private", [{}, {"private": "mine"}, {"private": ["path", "path"]}])
def test_a_text_is_somebodys(private: dict[str, object]) -> None:
    """A column of text that says not whose it is cannot be anonymised, so it is no column."""
    with pytest.raises(ValueError, match="of each text it is one of public, word"):
        columns._columns({"name": "path", "type": "text"} | private)


def test_each_text_has_a_class() -> None:
    for table in columns.tables():
        texts = {name for one in table.columns if one.type == "text" for name in one.names}
        assert set(columns.private()[table.name]) == texts
