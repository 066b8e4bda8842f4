"""The page as a picture: an SVG of the text, readable by any browser, without fonts from elsewhere."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

# rich's own template fetches a font from the network; this one takes the reader's.
TEMPLATE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; \
line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#0c1621"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def save(path: Path, print_page: Callable[[], None]) -> None:
    """Writes what `print_page` prints to stdout as an SVG file. Raises OSError."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_page()
    lines = out.getvalue().rstrip().splitlines()
    width = max(map(len, lines), default=1)
    console = Console(file=io.StringIO(), record=True, width=width, highlight=False)
    for line in lines:
        console.print(Text(line, style=_style(line)), no_wrap=True)
    path.write_text(console.export_svg(code_format=TEMPLATE, unique_id="fathom"), encoding="utf-8")


def _style(line: str) -> str:
    """Headings stand out: lines of prose that begin a block, not the rows below them."""
    starts_block = line[:1].isupper() and "  " not in line
    return "bold #ffb454" if starts_block else "#d6e0ea"
