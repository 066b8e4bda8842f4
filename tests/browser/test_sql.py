"""The screen SQL has questions to begin with, each of which has an answer."""

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
