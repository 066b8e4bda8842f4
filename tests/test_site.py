"""The docs as a site: every page is there, every link leads somewhere."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from harness import browser, needs, paths
from playwright.sync_api import Browser

SITE = paths.ROOT / "packaging" / "site"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [paths.PYTHON, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", SITE / "mkdocs.yml",
         "--site-dir", out],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's browser, with axe-core of the web UI's tests."""
    needs.require(["chromium", "npm"])
    with browser.chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """Of the site on a server: a page from disk may not search."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_page_is_there(built: Path) -> None:
    docs = paths.ROOT / "docs"
    for page in [*docs.glob("*.md"), *docs.glob("commands/*.md"), *docs.glob("design/*.md")]:
        place = page.relative_to(docs).with_suffix(".html")
        assert page.name == "README.md" or (built / place).is_file(), place
    for layer in ("probes/posix", "probes/mpiio", "knobs/romio", "notebooks/latency"):
        assert (built / f"{layer}.html").is_file(), layer
    first = (built / "index.html").read_text(encoding="utf-8")
    assert 'href="commands/query.html"' in first and "Five minutes" in first


def test_nothing_is_fetched_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text and "url(http" not in text, page
        assert '<link rel="stylesheet" href="http' not in text, page


#: One with wide output, one with tables, one with code, one of the catalog's.
LOOKED_AT = ("index", "gallery", "tables", "python", "commands/show", "probes/posix")


@pytest.mark.some(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_legible_in_both_schemes(address: str, chromium: Browser, scheme: str) -> None:
    """axe-core finds too little contrast nowhere; 80 columns of output fit a window of 1,024 pixels."""
    dark = []
    for name in LOOKED_AT:
        window = {"viewport": {"width": 1024, "height": 800}, "color_scheme": scheme}
        with browser.looking(chromium, **window) as look:
            look.page.goto(f"{address}/{name}.html")
            contrast = [line for line in look.violations() if line.startswith("color-contrast")]
            assert not contrast, (name, contrast)
            dark.append(look.page.evaluate(BRIGHTNESS) < 64)
            cut = look.page.evaluate(CUT, 80)
            assert not cut, (name, cut)
    assert dark == [scheme == "dark"] * len(LOOKED_AT)


#: Of the page's ground, 0 to 255.
BRIGHTNESS = """() => Math.max(...getComputedStyle(document.querySelector('.wy-nav-content')).backgroundColor
    .match(/\\d+/g).slice(0, 3).map(Number))"""
#: Blocks that scroll sideways though no line has more columns than these.
CUT = """columns => [...document.querySelectorAll('pre')]
    .filter(block => Math.max(...block.innerText.split('\\n').map(line => line.length)) <= columns)
    .filter(block => [block, block.firstElementChild].some(one => one && one.scrollWidth > one.clientWidth + 1))
    .map(block => block.innerText.slice(0, 80))"""


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hook", SITE / "hook.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_link_to_nothing_ends_the_build() -> None:
    from mkdocs.exceptions import PluginError

    page_hook = hook()
    page_hook._origins["a.md"] = "docs/a.md"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="a.md"))
    source = page_hook.on_page_markdown("The [rows](../catalog/knobs/romio.toml).", page)
    assert source == "The rows (`catalog/knobs/romio.toml`)."
    assert page_hook.on_page_markdown("```\n[x](y)\n```", page) == "```\n[x](y)\n```"
    with pytest.raises(PluginError, match=r"docs/a\.md: link to \.\./nothing\.md: there is no"):
        page_hook.on_page_markdown("[x](../nothing.md)", page)
