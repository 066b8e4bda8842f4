"""A report is one file: opened from disk without a network, whole, within its size, and it says what it left out."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import browser, paths
from harness.browser import Look
from harness.planted import Planted
from playwright.sync_api import Browser, Locator

MOST = 5_000_000
SCREENS = ("overview", "heat", "timeline", "call", "layers", "files", "servers", "latency")


def report(run: Path, folder: Path, *options: str) -> tuple[Path, str]:
    """The file, and what was said on stderr."""
    path = folder / "report.html"
    words = [str(paths.FATHOM), "report", str(run), "-o", str(path), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.strip() == str(path)
    return path, done.stderr


@contextmanager
def opened(chromium: Browser, path: Path) -> Iterator[Look]:
    """The file in a browser without a network; that nothing but the file is asked for is asserted at the end."""
    with browser.looking(chromium, offline=True) as look:
        look.open(path.as_uri())
        yield look
        assert {url.partition(":")[0] for url in look.asked} <= {"file", "data", "blob"}
        assert [url for url in look.asked if url.startswith("file:")] == [path.as_uri()]


@pytest.fixture(scope="session")
def kernel_report(kernel_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """With patience: what must be whole must not depend on how busy the machine is."""
    return report(kernel_run, tmp_path_factory.mktemp("report"), "--timeout", "9999")


def test_a_report_of_a_kernel_is_whole(chromium: Browser, kernel_report: tuple[Path, str]) -> None:
    """Every screen has its answers, and so has each of the longest calls."""
    path, message = kernel_report
    assert path.stat().st_size <= MOST
    assert "left out" not in message and "could not" not in message
    with opened(chromium, path) as look:
        assert "report" in look.text("header")
        tabs = look.page.locator("nav.tabs a").evaluate_all("all => all.map(one => one.hash)")
        assert [tab.removeprefix("#v1/").partition("?")[0] for tab in tabs] == list(SCREENS)
        for screen in SCREENS:
            look.go(screen)
            assert "Not in this report" not in look.text(), screen
            assert look.page.locator("main .failed").count() == 0, screen
            assert look.violations() == [], screen
        look.go("call")
        for row in range(3):
            look.go("call")
            look.page.locator("main tbody tr").nth(row).click()
            look.settle()
            assert "Not in this report" not in look.text()
            assert "Down the layers" in look.text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_the_first_screen_is_there(
    chromium: Browser, kernel_report: tuple[Path, str], scheme: str
) -> None:
    """Bars, verdict and what to do, on a screen and on a telephone; nothing but the tables behind it."""
    path, _ = kernel_report
    with opened(chromium, path) as look:
        verdict, titles = look.text(".verdict"), look.page.locator(".worst h3").all_inner_texts()
        assert look.page.locator(".first").count() == 0, "the page has drawn itself in its place"
    context = {"java_script_enabled": False, "color_scheme": scheme, "offline": True}
    for width in (1280, 390):
        with browser.looking(chromium, viewport={"width": width, "height": 800}, **context) as look:
            look.page.goto(path.as_uri())
            first = look.page.locator(".first").first
            assert verdict in first.inner_text()
            assert first.locator("h3").all_inner_texts() == titles[:3]
            assert first.locator("svg.split").count() == 2
            _pictures(first, width)
            assert first.locator(".verdict").bounding_box()["y"] < 800  # type: ignore[index]
            assert first.locator("svg.split").first.bounding_box()["width"] > 0.8 * width  # type: ignore[index]
            wide = look.page.locator("body").evaluate(
                "one => one.ownerDocument.documentElement.scrollWidth"
            )
            assert wide <= width
    bare = path.with_name(f"bare-{scheme}.html")
    text = path.read_text(encoding="utf-8")
    bare.write_text(
        re.sub(r"<script type=.module.*?</script>", "", text, flags=re.DOTALL), encoding="utf-8"
    )
    with browser.looking(chromium, offline=True, color_scheme=scheme) as look:
        look.page.goto(bare.as_uri())
        assert look.page.locator(".first").count() == 1
        assert look.violations() == []


def _pictures(first: Locator, width: int) -> None:
    """The heat map and the strips are drawn, in colours of the theme, with their axes in words."""
    figures = first.locator("figure")
    assert figures.count() == 2
    for figure, kind in ((figures.nth(0), "heat"), (figures.nth(1), "layer")):
        plot = figure.locator("[role=img]")
        assert plot.bounding_box()["width"] > 0.5 * width  # type: ignore[index]
        assert "time since the start of the run" in plot.text_content()  # type: ignore[operator]
        names = figure.locator(".names text").all_text_contents()
        assert {name.split()[1] for name in names} == {"0", "1", "2", "3"}
        shapes = plot.locator(f"path[class*={kind}-]")
        assert shapes.count() >= 4
        box = shapes.first.bounding_box()
        assert box and box["width"] > 1
        ink, ground = shapes.first.evaluate(
            "one => [getComputedStyle(one).color, getComputedStyle(document.body).backgroundColor]"
        )
        assert ink not in (ground, "rgb(0, 0, 0)")


@pytest.mark.full
def test_what_was_left_out_is_said(chromium: Browser, planted_run: Planted, tmp_path: Path) -> None:
    """Of a file too small for all of it: on stderr and on the first screen, and where it is missed."""
    page = browser.DIST.stat().st_size
    size = page + 120_000
    path, message = report(planted_run.path, tmp_path, "--size", str(size))
    assert path.stat().st_size <= size
    lines = [
        line.partition("left out: ")[2] for line in message.splitlines() if "left out: " in line
    ]
    assert lines
    with opened(chromium, path) as look:
        first = look.text()
        assert all(f"Not in this report: {line}" in first for line in lines)
        assert str(planted_run.writer) in first and "900 ms" in first
        look.go("call", call=planted_run.slow_write + 8)
        assert "Not in this report" in look.text() and "fathom view" in look.text()
