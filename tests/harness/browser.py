"""A real Chromium in front of a real `fathom view`: pages that count what they load, draw and complain of.

Python's Playwright with Debian's browser: the tests stand on runs, SQL and answers that Python has at hand.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from playwright.sync_api import Browser, Download, Page, Request, sync_playwright

from harness import paths

sys.path.insert(0, str(paths.ROOT / "python" / "tests" / "serve"))

from served import served

DIST = paths.ROOT / "web" / "dist" / "index.html"
AXE = paths.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
#: The same pixels on every machine.
FLAGS = [
    "--no-sandbox",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
]
PATIENCE = 60.0
QUIET = 0.15
#: Between two looks: each costs processor time that page and server would have.
LOOKS = 50.0
#: When the frame was shown that changed the page last. A canvas that is painted is given its size: a change.
WATCH = """addEventListener('DOMContentLoaded', () => {
    const shown = () => setTimeout(() => { window.shownLast = performance.now() });
    new MutationObserver(() => requestAnimationFrame(shown)).observe(
        document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
})"""
#: Nothing is on its way: no picture waits for an answer.
SETTLED = """() => document.querySelector('main h1, main .notice, noscript + *') !== null
    && document.querySelector('.loading, [aria-busy="true"]') === null"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser."""
    with sync_playwright() as playwright:
        executable = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Live:
    """A server that is entered once; each look at it is a browser context of its own."""

    def __init__(self, browser: Browser, link: str) -> None:
        """`link`: the one that `fathom view` printed."""
        self.browser, self.origin = browser, re.match(r"http://[^/]+", link)[0]  # type: ignore[index]
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(re.compile(re.escape(self.origin) + "/(#.*)?$"))
        self.state = context.storage_state()
        context.close()

    @contextmanager
    def look(self, address: str = "", **context: Any) -> Iterator[Look]:
        """A page at this address; that it has nothing to complain of is asserted at the end."""
        with self.fresh(**context) as look:
            look.open(f"{self.origin}/{address}")
            yield look

    def fresh(self, **context: Any) -> AbstractContextManager[Look]:
        """A page that has not been anywhere."""
        return looking(self.browser, storage_state=self.state, **context)


@contextmanager
def live(browser: Browser, *words: str | Path) -> Iterator[Live]:
    """`fathom view` of these runs."""
    with served("--no-browser", *words) as server:
        yield Live(browser, server.link)


class Look:
    """One page."""

    def __init__(self, page: Page) -> None:
        """Follows what it asks and says from now on."""
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.body = 0  # bytes of answers as they travelled
        self._flying: set[Request] = set()
        page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._sent)
        page.on("requestfinished", self._came)
        page.on("requestfailed", lambda request: self._flying.discard(request))

    def _sent(self, request: Request) -> None:
        self.asked.append(request.url)
        self._flying.add(request)

    def _came(self, request: Request) -> None:
        self._flying.discard(request)
        self.body += request.sizes()["responseBodySize"]

    def open(self, url: str) -> float:
        """Goes there, and waits until all is drawn; gives the seconds that took."""
        began = time.monotonic()
        self.page.goto(url, wait_until="commit")
        return self.settle() - began

    def go(self, screen: str, **given: str | int) -> float:
        """A screen with these parameters and no others, as a copied address opens it; gives the seconds, by the page's
        clock, until the last change of it was on screen."""
        given = {name: value for name, value in {**self.shared(), **given}.items() if value != ""}
        went = "hash => { location.hash = hash; return performance.now() }"
        began = self.page.evaluate(went, address(screen, **given))
        self.settle()
        return max(0.0, float(self.page.evaluate("window.shownLast")) - began) / 1000

    def shared(self) -> dict[str, str]:
        """Run and theme of the address."""
        return {name: value for name, value in self.given().items() if name in ("run", "theme")}

    def given(self) -> dict[str, str]:
        """Parameters of the address."""
        return dict(parse_qsl(self.page.url.partition("?")[2].removeprefix("#")))

    @property
    def screen(self) -> str:
        """Name of the screen that is shown."""
        return self.page.url.partition("#v1/")[2].partition("?")[0]

    def settle(self) -> float:
        """Waits until no answer is on its way and none was for a while; gives when that began (time.monotonic)."""
        until, quiet = time.monotonic() + PATIENCE, 0.0
        while time.monotonic() < until:
            busy = self._flying or not self.page.evaluate(SETTLED)
            quiet = 0.0 if busy else quiet or time.monotonic()
            if quiet and time.monotonic() - quiet > QUIET:
                return quiet
            self.page.wait_for_timeout(LOOKS)
        raise AssertionError(
            f"{self.page.url}: not drawn after {PATIENCE:g} s; still asked: {[one.url for one in self._flying]}"
        )

    def press(self, *keys: str) -> None:
        """Keys one after the other, each drawn."""
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def text(self, selector: str = "main") -> str:
        """What a part says."""
        return self.page.locator(selector).first.inner_text()

    def answer(self, name: str, **given: str) -> Any:
        """An answer of the API to this run, as the page would get it."""
        return self.ask(f"{name}?{urlencode({'run': self.given()['run'], **given})}")

    def ask(self, request: str) -> Any:
        """An answer of the API, with the page's key."""
        key = "{ headers: { Authorization: `Bearer ${localStorage.getItem('fathom.key')}` } }"
        asks = f"path => fetch(path, {key}).then(answer => answer.json())"
        return self.page.evaluate(asks, f"/api/v1/{request}")

    def announced(self) -> str:
        """What the live region says."""
        return self.text("[aria-live=polite]")

    def screens(self) -> list[str]:
        """All that the page has tabs for."""
        tabs = self.page.locator("header nav a").all()
        return [
            str(tab.get_attribute("href")).partition("#v1/")[2].partition("?")[0] for tab in tabs
        ]

    def nodes(self) -> int:
        """Elements of the page."""
        return int(self.page.evaluate("() => document.querySelectorAll('*').length"))

    def save(self, label: str, at: int = 0) -> bytes:
        """What the n-th export menu that has this label gives under it."""
        button = self.page.locator(f"button:text-is('{label}')")
        menu = self.page.locator("main details.export").filter(has=button).nth(at)
        menu.locator("summary").click()
        with self.page.expect_download() as coming:
            menu.get_by_role("button", name=label, exact=True).click()
        download: Download = coming.value
        return Path(download.path()).read_bytes()

    def table(self, at: int = 0) -> list[dict[str, str]]:
        """The rows of a CSV export; names of columns without their units."""
        rows = csv.DictReader(io.StringIO(self.save("CSV", at).decode()))
        return [{name.partition(" [")[0]: value for name, value in row.items()} for row in rows]

    def violations(self) -> list[str]:
        """What axe-core finds, a line each."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        report = self.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        return [
            f"{one['id']}: {one['help']}: {node['html'][:160]}"
            for one in report["violations"]
            for node in one["nodes"]
        ]


@contextmanager
def looking(browser: Browser, **context: Any) -> Iterator[Look]:
    """A page in a context of its own."""
    given = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **context}
    opened = browser.new_context(**given)
    try:
        opened.add_init_script(WATCH)
        look = Look(opened.new_page())
        yield look
        assert look.complaints == [], look.complaints
    finally:
        opened.close()


def address(screen: str, **given: str | int) -> str:
    """As the page writes it."""
    query = urlencode(sorted((name, str(value)) for name, value in given.items()))
    return f"#v1/{screen}{'?' if query else ''}{query}"
