"""Rows of slow statements are kept beside the tables: the same rows, of these tables and no others."""

import os
from pathlib import Path
from typing import Any

import fathom
import pyarrow as pa
import pytest
from fathom.analysis import Source as AnySource
from fathom.cache import files as cache_files
from fathom.cache import statements
from fathom.cache.statements import CachedStatements
from fathom.cli import pack_tables
from fathom.pages import page

ROWS = pa.table({"layer": ["posix", None], "time": [1, 2**62], "bins": [[[1, 2]], []]})
TEXT = "from counters"


class Source:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def sql(self, text: str, **values: Any) -> pa.Table:
        self.asked.append((text, values))
        return ROWS


@pytest.fixture
def run(run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(statements, "SLOW", -1.0)
    return run_directory


def asked(run: Path, text: str = TEXT, **values: Any) -> int:
    """How often a source was asked, of whoever opens the run next."""
    source = Source()
    assert CachedStatements(source, run).sql(text, **values) == ROWS
    return len(source.asked)


def files(run: Path) -> list[Path]:
    return sorted((run / "tables" / statements.FOLDER).glob("*"))


def test_what_was_asked_is_there_with_its_types(run: Path) -> None:
    assert (asked(run), asked(run)) == (1, 0)
    assert CachedStatements(Source(), run).sql(TEXT).schema == ROWS.schema


def test_other_values_are_another_question(run: Path) -> None:
    assert [asked(run, layer=layer) for layer in ("posix", "hdf5", "posix")] == [1, 1, 0]


def test_what_is_quick_or_large_is_not_kept(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MOST", 3)
    asked(run)
    monkeypatch.undo()
    monkeypatch.setattr(statements, "SLOW", 1000.0)
    asked(run)
    assert files(run) == []


def test_tables_made_anew_are_asked_anew(run: Path) -> None:
    asked(run)
    os.utime(run / "tables" / "counters.parquet", ns=(1, 1))
    assert (asked(run), asked(run)) == (1, 0)
    assert len(files(run)) == 1


@pytest.mark.parametrize("damage", [b"", b"ARROW1", b"no such thing" * 9])
def test_a_damaged_file_is_as_none(run: Path, damage: bytes) -> None:
    asked(run)
    (file,) = files(run)
    file.write_bytes(damage)
    assert (asked(run), asked(run)) == (1, 0)


def test_there_are_only_so_many(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_files, "FILES", 3)
    for number in range(5):
        asked(run, f"select {number}")
    assert len(files(run)) == 3 and asked(run, "select 0") == 0


class Nobody:
    """Is not to be asked."""

    def sql(self, text: str, **_: Any) -> pa.Table:
        raise AssertionError(text)


def printed(source: AnySource, capsys: pytest.CaptureFixture[str]) -> str:
    page.print_page(page.compute("r", {}, source, lambda: None, lambda: None), 10)
    return capsys.readouterr().out


def test_the_page_of_a_packed_run_is_there_and_says_what_its_tables_say(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pack_tables, "LARGE", 0)
    pack_tables.ask_page(fathom.open(run))
    capsys.readouterr()
    page_text = printed(CachedStatements(Nobody(), run), capsys)
    assert page_text == printed(fathom.open(run), capsys) and "Layers" in page_text
