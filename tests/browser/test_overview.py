"""The first screen begins with the account: bars, what each colour means, and what to do."""

import re
import subprocess
from pathlib import Path

import pytest
from harness import browser, paths
from harness.browser import Live, Look, address
from playwright.sync_api import Browser

#: Widths of a window: of a screen, of half of one, of a telephone.
WIDTHS = (1280, 800, 360)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is drawn when the findings have come, which on a busy machine takes minutes."""
    monkeypatch.setattr(browser, "PATIENCE", 300.0)


def legend(look: Look) -> dict[str, list[str]]:
    """Cause -> meaning and figures, from top to bottom, unfolded."""
    look.page.locator("details:has(> .scroll > table.causes)").evaluate("one => one.open = true")
    rows = look.page.locator("table.causes tbody tr").all()
    return {
        row.locator("th").inner_text().strip(): row.locator("td").all_inner_texts() for row in rows
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_account_comes_first(view: Live, theme: str) -> None:
    """Above all else, with the server's words and figures, legible at every width."""
    with view.look(address("overview", run="s3d", theme=theme)) as look:
        answer = look.answer("account")
        meanings = dict(answer["causes"])
        shown = legend(look)
        slowest, median = answer["processes"]
        named = [cause for cause in shown if cause in meanings]
        assert named == sorted(named, key=lambda cause: -slowest["causes"].get(cause, 0))
        largest = max(slowest["causes"], key=slowest["causes"].get)
        assert named[0] == largest and shown[largest][0] == meanings[largest]
        share = slowest["causes"][largest] / answer["seconds"] * 100
        assert float(re.findall(r"· ([\d.]+) %", shown[largest][1])[0]) == pytest.approx(
            share, abs=0.5
        )
        picture = look.page.locator("main canvas.above").first
        label = picture.get_attribute("aria-label") or ""
        assert slowest["label"] in label and median["label"] in label and largest in label
        first = look.page.evaluate(
            "() => document.querySelector('.account').getBoundingClientRect().bottom"
            " <= document.querySelector('.verdict').getBoundingClientRect().top"
        )
        assert first
        for width in WIDTHS:
            look.page.set_viewport_size({"width": width, "height": 900})
            look.settle()
            assert look.violations() == []
            wide = look.page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= width


@pytest.mark.parametrize("run", ["s3d", "planted"])
def test_cause_verdict_and_what_to_do_are_above_the_fold(view: Live, run: str) -> None:
    """On a screen of 1280 by 800 nobody scrolls for the first advice."""
    with view.look(address("overview", run=run), viewport={"width": 1280, "height": 800}) as look:
        for part in (".account canvas", ".legend", ".verdict", ".worst li .do"):
            box = look.page.locator(part).first.bounding_box()
            assert box and box["y"] + box["height"] <= 800, part
        calls = look.page.locator(".worst .behind a[href*='call=']").all_text_contents()
        assert all(re.fullmatch(r".+, (rank|process) \d+, [\d.]+ .?s", name) for name in calls)


def test_what_the_mouse_is_on_is_told(view: Live) -> None:
    with view.look(address("overview", run="s3d")) as look:
        assert look.page.locator(".legend .pointed").count() == 0
        box = look.page.locator("main canvas.above").first.bounding_box()
        assert box
        look.page.mouse.move(box["x"] + 20, box["y"] + 35)
        look.page.wait_for_selector(".legend .pointed")
        (first, *_) = legend(look)
        assert look.text(".legend .pointed").strip().startswith(first)


def test_the_worst_findings_are_beneath_it(view: Live) -> None:
    """At most three, each with what to do, and the way to all."""
    with view.look(address("overview", run="planted")) as look:
        findings = look.answer("findings")["findings"]
        assert findings
        shown = look.page.locator(".worst ol > li").all_inner_texts()
        assert len(shown) == min(3, len(findings))
        for text, finding in zip(shown, findings, strict=False):
            assert finding["title"] in text and f"Do {finding['advice']}" in text
            assert (f"Proof {finding['proof']}" in text) == (finding["proof"] is not None)
            assert (" to " in text.partition(finding["title"])[0]) == (
                finding["between"] is not None
            )


def test_without_io_nothing_is_drawn(chromium: Browser, tmp_path: Path) -> None:
    """Why is said instead; the same in a report."""
    run = tmp_path / "idle.fathom"
    idle = ["sh", "-c", ":"]  # of a shell nothing is recorded
    words = [paths.FATHOM, "run", "--no-show", "--level", "job", "-o", run, "--", *idle]
    subprocess.run(words, check=True, timeout=300, capture_output=True)
    report = tmp_path / "idle.html"
    words = [paths.FATHOM, "report", run, "-o", report, "--timeout", "999"]
    subprocess.run(words, check=True, timeout=900, capture_output=True)
    with browser.live(chromium, run) as live, live.look(address("overview", run="idle")) as look:
        _idle(look)
    with browser.looking(chromium, offline=True) as look:
        look.open(report.as_uri())
        _idle(look)


def _idle(look: Look) -> None:
    assert look.page.locator(".account canvas, table.causes").count() == 0
    assert "no time to split by cause" in look.text(".account .notice")
    assert look.violations() == []
