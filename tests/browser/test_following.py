"""A program that runs is followed: as of when, its calls as they come, and its end without reloading."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import browser, paths
from harness.browser import Look
from playwright.sync_api import Browser

WRITES = 200
PATIENCE = 60.0
#: Writes until a file tells it to stop, so that it is no matter how busy the machine is. In between it looks for files
#: that are not there, for as many as it is told.
PROGRAM = f"""
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for at in range({WRITES}):
    os.pwrite(out, b"x" * 4096, at * 4096)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
    os.pwrite(out, b"x" * 4096, 0)
    for _ in range(int(sys.argv[3])):
        os.path.exists(os.urandom(100).hex())
"""
#: Long names at a time: the process's ring is full every few seconds, and comes into its file.
MANY = 40
#: Seconds until a picture has grown: the run is read again after ten times as long as that took.
GROWN = 200.0


@dataclass
class Job:
    """A program under Fathom."""

    run: Path
    process: subprocess.Popen[bytes]
    stop: Path

    def end(self) -> None:
        self.stop.touch()
        assert self.process.wait(timeout=PATIENCE) == 0


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Job]:
    """It makes few calls, unless the test says how many names it is to look for."""
    each = getattr(request, "param", 0)
    run, stop, program = tmp_path / "job.fathom", tmp_path / "stop", tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [paths.FATHOM, "run", "--no-show", "-o", run, "--", sys.executable, program]
    process = subprocess.Popen([*map(str, words), str(tmp_path / "out"), str(stop), str(each)])
    try:
        until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").stat().st_size > 0)
        yield Job(run, process, stop)
    finally:
        stop.touch()  # the program is a child of what would be killed
        process.wait(timeout=PATIENCE)


def until(done: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Waits."""
    end = time.monotonic() + patience
    while not done():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)


def writes(look: Look) -> int:
    """Calls of `pwrite` so far, of the table of what is busy now."""
    rows = look.page.locator("table:has(caption:text('Busiest now')) tbody tr")
    row = rows.filter(has_text="pwrite (posix)")
    return int(row.locator("td").nth(4).inner_text().replace(",", "")) if row.count() else 0


def test_a_running_job_is_followed_to_its_end(chromium: Browser, job: Job) -> None:
    with (
        browser.live(chromium, job.run) as view,
        view.look(browser.address("overview", now="function")) as look,
    ):
        look.page.wait_for_selector("#running", timeout=PATIENCE * 1000)
        assert re.search(r"Running, as of \d\d:\d\d:\d\d", look.text("#running"))
        assert "running, as of" in look.text("header")
        until(lambda: writes(look) >= WRITES)
        first = writes(look)
        until(lambda: writes(look) > first)
        assert look.violations() == []
        asked = [url for url in look.asked if "/api/v1/now?" in url]
        began = time.monotonic()
        look.page.wait_for_timeout(4000)
        more = [url for url in look.asked if "/api/v1/" in url][-10:]
        assert len([url for url in look.asked if "/api/v1/now?" in url]) - len(asked) <= 4, more
        assert time.monotonic() - began >= 4
        look.page.evaluate("() => { window.stayed = true }")
        job.end()
        until(lambda: look.page.locator("#running").count() == 0)
        until(lambda: "pwrite" in look.text())
        assert "running" not in look.text("header")
        assert look.page.evaluate("() => window.stayed")
        (run,) = look.ask("runs")["runs"]
        assert run["events"] > WRITES
        assert not run["live"]


def test_an_attached_program_is_followed_until_it_is_let_go(
    chromium: Browser, tmp_path: Path
) -> None:
    run, stop, program = tmp_path / "job.fathom", tmp_path / "stop", tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [sys.executable, str(program), str(tmp_path / "out"), str(stop), "0"]
    process = subprocess.Popen(words)
    try:
        until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").stat().st_size > 0)
        attach = [str(paths.FATHOM), "attach", str(process.pid), "-o", str(run)]
        subprocess.run(attach, check=True, timeout=PATIENCE)
        with (
            browser.live(chromium, run) as view,
            view.look(browser.address("overview", now="function")) as look,
        ):
            look.page.wait_for_selector("#running", timeout=PATIENCE * 1000)
            until(lambda: writes(look) > 0)
            first = writes(look)
            until(lambda: writes(look) > first)
            detach = [str(paths.FATHOM), "detach", str(run)]
            subprocess.run(detach, check=True, timeout=PATIENCE)
            until(lambda: look.page.locator("#running").count() == 0)
            until(lambda: "pwrite" in look.text())
            assert "running" not in look.text("header")
    finally:
        stop.touch()
        assert process.wait(timeout=PATIENCE) == 0


def drawn(look: Look) -> int:
    """Calls that the heat map says it shows."""
    match = re.search(r"([\d,]+) calls", look.text("main figcaption"))
    return int(match[1].replace(",", "")) if match else 0


def time_of(look: Look) -> str:
    """As of when a screen says that it is."""
    match = re.search(r"into files by (\d\d:\d\d:\d\d)", look.text("main .notice"))
    assert match, look.text("main .notice")
    return match[1]


@pytest.mark.parametrize("job", [MANY], indirect=True)
def test_pictures_over_time_grow_while_the_job_runs(chromium: Browser, job: Job) -> None:
    """By themselves unless they are held; another screen when it is asked to; and it ends as every run does."""
    with (
        browser.live(chromium, job.run) as view,
        view.look(browser.address("heat", layer="posix", metric="calls")) as look,
    ):
        until(lambda: drawn(look) > 0)
        first, began = drawn(look), time_of(look)
        until(lambda: drawn(look) > first and time_of(look) > began, GROWN)
        assert look.violations() == []
        look.page.get_by_label("follow").select_option("no")
        look.page.wait_for_timeout(1000)
        held = [url for url in look.asked if "/api/v1/again" in url]
        look.page.wait_for_timeout(7000)
        assert [url for url in look.asked if "/api/v1/again" in url] == held
        look.page.evaluate("() => { location.hash = '#v1/layers?run=job' }")
        look.page.wait_for_selector("main table")
        before = time_of(look)
        look.page.get_by_role("button", name="Read again").click()
        until(lambda: time_of(look) > before)
        job.end()
        until(lambda: look.page.locator("main .notice:has-text('Running')").count() == 0)
        look.settle()
        (run,) = look.ask("runs")["runs"]
        rows = {row["key"]: int(row["calls"]) for row in look.table()}
        assert rows["posix"] > first
        assert not run["live"]
