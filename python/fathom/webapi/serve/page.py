"""The page: one HTML file that `web/` builds, its scripts and styles inside."""

import gzip
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fathom.run import paths
from fathom.webapi.serve.guard import policy

INLINE = r"<{0}\b(?P<attributes>[^>]*)>(?P<text>.*?)</{0}\s*>"
NOT_BUILT = (
    "the page of the web UI is not in this installation; in a checkout, `make web` builds it"
)


@dataclass(frozen=True)
class Page:
    """The file, the same as browsers take it, and the policy that lets its own scripts run and no other."""

    html: str
    gzipped: bytes
    policy: str


def inline(html: str, tag: str) -> list[str]:
    """Texts of the page's scripts or styles."""
    elements = re.finditer(INLINE.format(tag), html, re.DOTALL | re.IGNORECASE)
    # A browser hashes text with line ends of one character.
    return [one["text"].replace("\r\n", "\n").replace("\r", "\n") for one in elements]


@cache
def _read(path: Path, _changed: int) -> Page:
    html = path.read_text(encoding="utf-8")
    own = policy(inline(html, "script"), inline(html, "style"))
    return Page(html, gzip.compress(html.encode()), own)


def page() -> Page | None:
    """The page as it is now; None: it is not built."""
    path = paths.page()
    return None if path is None else _read(path, path.stat().st_mtime_ns)
