"""Answers are worked out once: for all who ask at a time, and for who opens the run after them."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.cache import answers, files
from fathom.cache.answers import CachedAnswers
from fathom.cli import view
from fathom.run import onefile
from fathom.webapi import answers as screens
from fathom.webapi.answers import overview
from fathom.webapi.answers.session import Gone, Runs


def go_on() -> None:
    """The request is still waited for."""


class Worked:
    """Counts how often it was worked out."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Any:
        self.times += 1
        return {"times": self.times, "name": "\udc80"}


@pytest.fixture(autouse=True)
def everything_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SLOW", 0)


def at_once(ask: Callable[[], Any], many: int) -> None:
    threads = [threading.Thread(target=ask) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_those_who_ask_the_same_wait_for_one_answer(run_directory: Path) -> None:
    worked, one = Worked(), CachedAnswers(run_directory)
    at_once(lambda: one.answer("a", False, worked, go_on), 8)
    assert worked.times == 1
    assert one.answer("b", False, worked, go_on)["times"] == 2


def test_who_waits_may_give_up(run_directory: Path) -> None:
    one, begun, end = CachedAnswers(run_directory), threading.Event(), threading.Event()

    def slow() -> bool:
        begun.set()
        return end.wait(60)

    def gone() -> None:
        raise Gone("nobody waits")

    first = threading.Thread(target=one.answer, args=["a", False, slow, go_on])
    first.start()
    begun.wait(60)
    with pytest.raises(Gone):
        one.answer("a", False, Worked(), gone)
    end.set()
    first.join()
    assert one.answer("a", False, Worked(), go_on) is True


def test_the_next_who_opens_the_run_has_it_at_once(run_directory: Path) -> None:
    worked = Worked()
    reply = CachedAnswers(run_directory).answer("a", True, worked, go_on)
    assert CachedAnswers(run_directory).answer("a", True, worked, go_on) == reply
    assert CachedAnswers(run_directory).answer("a", False, worked, go_on)["times"] == 2


def test_of_other_tables_it_is_worked_out_anew(run_directory: Path) -> None:
    worked = Worked()
    CachedAnswers(run_directory).answer("a", True, worked, go_on)
    (run_directory / "tables" / "counters.parquet").touch()
    assert CachedAnswers(run_directory).answer("a", True, worked, go_on)["times"] == 2


def test_a_damaged_file_is_worked_out_anew(run_directory: Path) -> None:
    worked = Worked()
    CachedAnswers(run_directory).answer("a", True, worked, go_on)
    (file,) = (run_directory / "tables" / answers.FOLDER).iterdir()
    file.write_text(file.read_text()[:20])
    assert CachedAnswers(run_directory).answer("a", True, worked, go_on)["times"] == 2


def test_memory_and_files_are_bounded(run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "HELD", 100)
    monkeypatch.setattr(files, "FILES", 3)
    worked, one = Worked(), CachedAnswers(run_directory)
    for number in range(20):
        one.answer(str(number), True, worked, go_on)
    assert len(list((run_directory / "tables" / answers.FOLDER).iterdir())) == 3
    assert one.answer("19", False, worked, go_on)["times"] == 20
    assert one.answer("10", False, worked, go_on)["times"] == 21


def test_kept_answers_are_those_that_are_worked_out(run_directory: Path) -> None:
    """Each name that is kept, of both openings; a selection plays no part in some."""
    first, second = Runs([run_directory]), Runs([run_directory])
    for name in sorted(screens.LASTING):
        reply = screens.ask(first, name, {"run": "small"})
        assert screens.ask(second, name, {"run": "small"}) == reply
        with_selection = screens.ask(second, name, {"run": "small", "t": "0-700"})
        assert (with_selection == reply) >= (name in screens.WHOLE)
    kept_files = list((run_directory / "tables" / answers.FOLDER).iterdir())
    assert len(kept_files) >= len(screens.LASTING)


def test_a_run_is_prepared_before_it_is_looked_at(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(view, "LARGE", 0)
    assert main(["view", str(run_directory), "--prepare"]) == 0
    progress = capsys.readouterr().err
    assert all(f": {step}\n" in progress for step in ("overview", "tiles", "breakdown", "findings"))
    tables = run_directory / "tables"
    assert (tables / "tiles.parquet").is_file() and next(tables.rglob("calls_by_time.duckdb"))
    runs = Runs([str(run_directory)])
    monkeypatch.setattr(overview, "page_of", None)  # nothing is worked out again
    assert "verdict" in str(screens.ask(runs, "overview", {"run": next(iter(runs.all))}))


def test_what_cannot_be_kept_is_not_prepared(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one.fathom"
    onefile.write(run_directory, one)
    assert main(["view", str(one), "--prepare"]) == 2
    assert "--prepare needs a run directory" in capsys.readouterr().err
