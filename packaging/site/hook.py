"""What the docs' site has beside docs/, for mkdocs: pages of other folders, the catalogs' reference, the
notebooks; and the nav's folders. A link is one within the repository: to a page of the site it leads there; to a source
it becomes its name; to nothing it ends the build."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
#: Pages from elsewhere: path in the repository to place in the site. Its first page is the repository's.
ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "contracts.md",
    "ARCHITECTURE.md": "tree/architecture.md",
    "CONTRIBUTING.md": "tree/contributing.md",
    "CHANGELOG.md": "tree/changes.md",
    "bench/README.md": "tree/bench.md",
    "kernels/README.md": "tree/kernels.md",
    "examples/README.md": "tree/examples.md",
    "tests/README.md": "tree/tests.md",
    "catalog/findings/README.md": "tree/findings.md",
    "catalog/probes/servers/README.md": "tree/probes-of-servers.md",
}
STYLE = Path(__file__).with_name("site.css")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")

_origins: dict[str, str] = {}  # place in the site -> path in the repository
_places: dict[str, str] = {}  # and back


def _catalog(files: Files, config: MkDocsConfig, folder: str, command: str) -> None:
    """The pages that the generator makes of the catalog."""
    rows = sorted(str(path) for path in (ROOT / "catalog" / folder).glob("*.toml"))
    with tempfile.TemporaryDirectory() as folder_of_pages:
        done = subprocess.run(
            [sys.executable, "-m", "fathom.catalog", command, folder_of_pages, *rows],
            cwd=ROOT / "python", capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise PluginError(f"catalog/{folder}: {done.stderr.strip()}")
        for path in sorted(Path(folder_of_pages).glob("*.md")):
            _add(
                files,
                config,
                f"{folder}/{path.name}",
                f"docs/{folder}/{path.name}",
                path.read_text("utf-8"),
            )


def _shown(files: Files, config: MkDocsConfig, output: dict[str, Any], place: str) -> str:
    """What a cell shows: a picture, a table, or text."""
    data = output["data"]
    if "image/png" in data:
        picture = b64decode(data["image/png"])
        files.append(File.generated(config, f"{place}.png", content=picture))
        return f'<img alt="" src="{posixpath.basename(place)}.png">'
    if "text/html" in data:  # of one block: an empty line would end it
        html = re.sub(
            r"<style.*?</style>|\n\s*(?=\n)", "", "".join(data["text/html"]), flags=re.DOTALL
        )
        return f'<div style="overflow-x: auto">{html}</div>'
    return f"```text\n{''.join(data['text/plain'])}\n```"


def _notebook(files: Files, config: MkDocsConfig, path: Path) -> str:
    """A notebook's cells and what they show, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        place = f"notebooks/{cell['id']}"
        parts += [_shown(files, config, output, place) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)


def _add(files: Files, config: MkDocsConfig, place: str, origin: str, text: str) -> None:
    files.append(File.generated(config, place, content=text))
    _origins[place] = origin


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages, and lists the folders of the nav."""
    _origins.clear()
    for file in list(files):
        if file.src_uri.startswith(("probes/", "knobs/")) or f"docs/{file.src_uri}" in ELSEWHERE:
            files.remove(file)
        elif not file.src_uri.startswith("assets/"):
            _origins[file.src_uri] = f"docs/{file.src_uri}"
    for origin, place in ELSEWHERE.items():
        _add(files, config, place, origin, (ROOT / origin).read_text(encoding="utf-8"))
    _catalog(files, config, "probes", "docs")
    _catalog(files, config, "knobs", "knob-docs")
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        origin = path.relative_to(ROOT).as_posix()
        _add(files, config, f"notebooks/{path.stem}.md", origin, _notebook(files, config, path))
    files.append(File.generated(config, STYLE.name, content=STYLE.read_text(encoding="utf-8")))
    _places.clear()
    _places.update({origin: place for place, origin in _origins.items()})
    _places["examples/notebooks"] = "notebooks/where-time-went.md"
    named = set(re.findall(r"[\w./-]+\.md", json.dumps(config.nav)))
    config.nav = [_listed(entry, named) for entry in config.nav or []]
    return files


def _listed(entry: Any, named: set[str]) -> Any:
    """An entry of the nav: of a folder all pages that no other entry names."""
    if isinstance(entry, str):
        return entry
    ((title, below),) = entry.items()
    if isinstance(below, list):
        return {title: [_listed(one, named) for one in below]}
    if below.endswith(".md"):
        return entry
    folder = "" if below == "." else below
    pages = sorted(
        place for place in _origins if place.endswith(".md") and posixpath.dirname(place) == folder
    )
    return {title: [place for place in pages if place not in named]}


def _target(page: str, link: str) -> tuple[str, str]:
    """Path in the repository and anchor that a link of this page means."""
    path, _, anchor = link.partition("#")
    if not path:
        return "", anchor
    folder = posixpath.dirname(_origins[page])
    return posixpath.normpath(posixpath.join(folder, path)).rstrip("/"), anchor


def _moved(page: str, link_match: re.Match[str]) -> str:
    """One link, as the site has it."""
    mark, text, link = link_match.groups()
    if re.match(r"[a-z]+:", link):
        return link_match[0]
    path, anchor = _target(page, link)
    if not path:
        return link_match[0]
    place = _places.get(path) or _places.get(f"{path}/README.md")
    if place is not None:
        near = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f"{mark}[{text}]({near}{'#' + anchor if anchor else ''})"
    if path == "docs/commands":
        return text
    if not (ROOT / path).exists():
        raise PluginError(f"{_origins[page]}: link to {link}: there is no {path}")
    return f"`{path}`" if path in text or text in path else f"{text} (`{path}`)"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Moves the links of a page, but those in blocks of code."""
    parts = re.split(r"(^ *```.*?^ *```)", markdown, flags=re.DOTALL | re.MULTILINE)
    place = page.file.src_uri
    return "".join(
        part if number % 2 else LINK.sub(lambda link_match: _moved(place, link_match), part)
        for number, part in enumerate(parts)
    )
