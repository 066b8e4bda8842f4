"""The screen SQL has questions to begin with, each of which has an answer; a query is typed there as in a terminal."""

from pathlib import Path

import fathom
import pytest
from harness.browser import Live, address


def test_every_question_to_begin_with_is_answered(view: Live) -> None:
    with view.look(address("sql", run="s3d")) as look:
        questions = look.page.locator(".examples button").all_inner_texts()
        assert len(questions) >= 3
        assert look.violations() == []
        for question in questions:
            look.go("sql")
            look.page.get_by_role("button", name=question).click()
            look.settle()
            assert look.page.locator("main .failed").count() == 0, question
            assert look.page.locator("main tbody tr").count() > 0, question


@pytest.mark.parametrize(
    ("typed", "layer", "table"),
    [
        ("latency breakdown exclusive 0 0-4", None, "call"),
        ("throughput --layer hdf5", "hdf5", "server"),
    ],
)
def test_a_query_is_answered_as_in_a_terminal(
    view: Live, kernel_run: Path, typed: str, layer: str | None, table: str
) -> None:
    query = typed.partition(" --")[0]
    same = fathom.open(kernel_run).query(query, layer=layer).tables[table]
    with view.look(address("sql", run="s3d", q=typed)) as look:
        assert look.page.locator(".typed canvas").count() == 2
        assert look.violations() == []
        title = {"call": "By call", "server": "By server"}[table]
        section = look.page.locator("section", has=look.page.get_by_role("heading", name=title))
        assert section.locator("tbody tr").count() == same.num_rows
