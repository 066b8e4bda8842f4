"""The docs as a site: every page is there, every link leads somewhere."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from harness import paths

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
