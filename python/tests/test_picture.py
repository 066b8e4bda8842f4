"""The page as an SVG: well formed, all lines there, nothing fetched from elsewhere."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from fathom.pages import picture


def test_every_line_is_drawn_and_nothing_is_fetched(tmp_path: Path) -> None:
    lines = ["Layers (times summed)", "layer  calls", "posix  <&> \u00b5s", "", "Missing: nothing"]
    path = tmp_path / "page.svg"
    picture.save(path, lambda: print("\n".join(lines)))
    drawing = path.read_text(encoding="utf-8")
    texts = [node.text or "" for node in ElementTree.fromstring(drawing).iter() if node.text]
    drawn = " ".join(texts).replace("\u00a0", " ")
    assert all(line in drawn for line in lines)
    assert drawing.count("http") == drawing.count("http://www.w3.org/2000/svg") == 1
