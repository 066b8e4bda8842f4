"""The screen of `fathom tune`: a real search, its trials, the verdict of its fresh runs."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import browser
from playwright.sync_api import Browser, expect

SPACE = """
[[knob]]
knob = "romio.cb_nodes"
values = [2]
[[knob]]
knob = "romio.cb_buffer_size"
values = ["4MiB"]
"""
#: Aggregators are worth 3, and a buffer costs 1: exact. Of one knob that wins the proof is the ablation.
COST = """
count() { cat "$(dirname "$TUNE_RUN")/settings.toml" 2>/dev/null | grep -c $1; }
echo $((10 - 3 * $(count cb_nodes) + $(count cb_buffer)))
"""


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four settings, all tried."""
    folder = tmp_path_factory.mktemp("tune")
    (folder / "space.toml").write_text(SPACE)
    words = [
        sys.executable, "-m", "fathom", "tune", "--space", "space.toml", "--objective", COST, "--trials", "5",
        "--repeats", "5", "--finalists", "1", "-o", "lines", "--", "true",
    ]  # fmt: skip
    subprocess.run(words, cwd=folder, capture_output=True, timeout=300, check=True)
    return folder / "lines.tune"


@pytest.fixture(scope="module")
def served(chromium: Browser, searched: Path) -> Iterator[browser.Live]:
    """`fathom view lines.tune`, without a run."""
    with browser.live(chromium, searched) as live:
        yield live


@pytest.fixture
def look(served: browser.Live) -> Iterator[browser.Look]:
    """The page, as the printed link opens it."""
    with served.look("#v1/tune") as page:
        yield page


def test_the_page_says_what_was_tried_and_what_came_of_it(
    look: browser.Look, searched: Path
) -> None:
    ran = "select count(*) from trials where state != 'known'"
    (trials,) = sqlite3.connect(searched / "tune.db").execute(ran).fetchone()
    expect(look.page.get_by_text(f"{trials} trials; □ as it is")).to_be_visible()
    expect(look.page.get_by_text("Verdict: a gain: 1.43 times as good")).to_be_visible()
    alone = look.page.get_by_role("region", name="Settings of the winner")
    assert alone.locator("tbody tr").count() == 1
    assert look.violations() == []
    formula = look.page.get_by_role("region", name="Formula")
    expect(formula).to_contain_text("3 · [cb_nodes = 2]")


def test_a_trial_that_is_chosen_is_said_and_stays_in_the_address(look: browser.Look) -> None:
    picture = look.page.get_by_label("Left and right walk through them")
    picture.focus()
    look.page.keyboard.press("ArrowRight")
    look.settle()
    assert look.given()["trial"] == "1"
    expect(look.page.get_by_text("Trial 1, look: default: 10")).to_be_visible()
    lines = look.page.get_by_label("Up and down walk from worse to better")
    lines.focus()
    for _ in range(8):
        look.page.keyboard.press("ArrowUp")
    look.settle()
    expect(look.page.get_by_text("cb_buffer_size=", exact=False).first).to_be_visible()
    chosen = look.page.locator('tr[aria-current="true"] td').all_inner_texts()
    assert chosen[3] == "7"
