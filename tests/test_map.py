"""The map is true: it is short, names what is there, and ranks Python's rooms as lint does."""

from __future__ import annotations

import re
import tomllib

from harness import paths

MAP = (paths.ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MOST = 8192  # bytes
GROUND = ("errors", "files")  # modules that every room may use


def contract() -> list[list[str]]:
    """Rooms of python/fathom, the highest first; those of one row do not use one another."""
    tool = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (rooms,) = tool["importlinter"]["contracts"]
    return [
        [name.strip().removeprefix("fathom.") for name in layer.split("|")]
        for layer in rooms["layers"]
    ]


def mapped() -> list[list[str]]:
    """The same, as the table of rooms has them."""
    rows = re.findall(r"^\| `(?:python/fathom|…)/(.*?) \|", MAP, re.MULTILINE)
    return [
        [name.strip("`…/ ").removesuffix(".py") for name in re.split(r"`?, `", row)] for row in rows
    ]


def test_it_is_a_page() -> None:
    assert len(MAP.encode()) <= MOST


def test_rooms_are_ranked_as_lint_asks() -> None:
    below = [
        {name for name in row if name not in ("frames", "regions", *GROUND)} for row in contract()
    ]
    below = [row for row in below if row]
    above = [{name for name in row if name not in GROUND} for row in mapped()]
    assert above == below


def test_every_room_of_python_is_in_it() -> None:
    folders = {path.parent.name for path in (paths.ROOT / "python/fathom").glob("*/__init__.py")}
    assert folders <= {name for row in mapped() for name in row}


def test_what_it_names_is_there() -> None:
    named = re.findall(r"`([a-z][\w./-]*/[\w./*-]*)`", MAP)
    files = [name for name in named if not re.search(r"[A-Z]{3}|^streams|^core|^tables", name)]
    places = (paths.ROOT, paths.ROOT / "python/fathom", paths.ROOT / "catalog")
    assert len(files) > 40
    assert [name for name in files if not any([*place.glob(name)] for place in places)] == []
