"""The screen of a lake: some hundred jobs, of which an OST is slow and a user is new and loses most."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fathom.pages import summaries
from fathom.run import lake
from fathom.run.store import open_run
from harness import browser, day
from playwright.sync_api import Browser, Locator, expect


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Jobs of four days."""
    place = tmp_path_factory.mktemp("centre")
    day.record(place)
    rows = {path.stem: summaries.of(open_run(path)) for path in place.glob("*.fathom")}
    jobs = day.make([rows["good"], rows["other"]], rows["bad"], 400, 4)
    lake.make(place / "lake").add(jobs.summaries)
    return place / "lake"


@pytest.fixture(scope="module")
def served(chromium: Browser, kept: Path) -> Iterator[browser.Live]:
    """`fathom view LAKE`, without a run."""
    with browser.live(chromium, kept) as live:
        yield live


def rows(look: browser.Look, caption: str) -> Locator:
    return look.page.get_by_role("region", name=caption, exact=True).locator("tbody tr")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_what_was_planted_comes_first(served: browser.Live, width: int, theme: str) -> None:
    """On a phone nothing is wider than it."""
    with served.look(f"#v1/centre?theme={theme}", viewport={"width": width, "height": 844}) as look:
        expect(look.page.locator(".verdict")).to_contain_text("400 jobs of ")
        expect(rows(look, "Users who lose most").first).to_contain_text(day.BAD_USER)
        expect(rows(look, "Causes").first).to_contain_text("sync")
        slow = rows(look, "Servers of all jobs, the slowest first").first
        expect(slow).to_contain_text(f"OST {day.SLOW_OST}")
        new = rows(look, "Far above their own usual day, on the last one")
        expect(new.filter(has_text=day.BAD_USER)).to_have_count(1)
        expect(look.page.get_by_label("Node hours of 4 days")).to_be_visible()
        assert look.page.evaluate("document.documentElement.scrollWidth") <= width
        assert look.violations() == []


def test_a_job_opens_its_row(served: browser.Live) -> None:
    """By a click, by keys, and by its address."""
    with served.look("#v1/centre") as look:
        first = rows(look, "Jobs that lose most").first
        name = first.locator("td").first.inner_text()
        first.click()
        look.settle()
        job = look.page.get_by_role("region", name="Job", exact=True)
        expect(job).to_contain_text("earlier runs of the program")
        expect(job).to_contain_text("sync-churn")
        expect(job.get_by_role("heading").first).to_contain_text(name.split()[0])
        chosen = look.given()["job"]
        look.page.go_back()
        look.settle()
        expect(job).to_have_count(0)
        first.focus()
        look.press("Enter")
        assert look.given()["job"] == chosen
        expect(rows(look, "Seconds").filter(has_text="lost")).to_have_count(1)


def test_what_is_collected_meanwhile_is_there(served: browser.Live, kept: Path) -> None:
    with served.look("#v1/centre") as look:
        rows_ = lake.Lake(kept).reading().sql("select count(*) as n from jobs")["n"].to_pylist()
        expect(look.page.locator(".verdict")).to_contain_text(f"{rows_[0]} jobs of ")
        names = lake.schemas()["jobs"].names
        (job,) = lake.Lake(kept).reading().sql("from jobs limit 1").select(names).to_pylist()
        lake.Lake(kept).add([{"jobs": [job | {"id": "f" * 16, "version": "1" * 16}]}])
        look.page.reload()
        look.settle()
        expect(look.page.locator(".verdict")).to_contain_text(f"{rows_[0] + 1} jobs of ")
