"""The map is true: it is short, names what is there, and ranks Python's rooms as lint does."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
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


RUST = sorted(paths.ROOT.glob("engine/*/src"))


def uses(source: Path) -> dict[str, set[str]]:
    """Module -> modules of its crate that it uses, tests aside."""
    whole = "".join(file.read_text("utf-8") for file in source.glob("*.rs"))
    tests = set(re.findall(r"#\[cfg\(test\)\]\nmod (\w+);", whole))
    texts = {}
    for file in source.rglob("*.rs"):
        name = "::".join(file.relative_to(source).with_suffix("").parts).removesuffix("::mod")
        if name.partition("::")[0] not in tests:
            texts[name] = re.sub(r"//.*|#\[cfg\(test\)\]\nmod [^;]*\Z", "", file.read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for name, text in texts.items():
        above = name.rpartition("::")[0]
        named = re.findall(r"\bcrate::([\w:]+)", text)
        named += [f"{above}::{one}".lstrip(":") for one in re.findall(r"\bsuper::(\w+)", text)]
        found[name] = {known for one in named if (known := longest(one, texts))} - {name}
    return found


def longest(path: str, modules: Mapping[str, str]) -> str:
    """The module in which a path lies."""
    while path and path not in modules:
        path = path.rpartition("::")[0]
    return path


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that use one another; none: everything goes one way."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def methods_of(source: Path, module: str) -> set[str]:
    """Types that a module gives methods to."""
    file = source / f"{module.replace('::', '/')}.rs"
    text = (file if file.is_file() else file.with_suffix("") / "mod.rs").read_text("utf-8")
    return set(re.findall(r"^impl(?:<.*?>)? (\w+)(?:<.*>)? \{", text, re.MULTILINE))


@pytest.mark.parametrize("source", RUST, ids=[source.parent.name for source in RUST])
def test_files_of_rust_use_one_another_one_way(source: Path) -> None:
    """Only the methods of one type may lie in files that know one another."""
    graph = uses(source)
    while around := circle(graph):
        counts = Counter(name for module in set(around) for name in methods_of(source, module))
        (name, count), *_ = counts.most_common(1) or [("", 0)]
        assert count > 1, around
        whole = {module for module in graph if name in methods_of(source, module)}
        graph = {module: used - whole for module, used in graph.items() if module not in whole}


def test_files_of_python_use_one_another_one_way() -> None:
    """What `import fathom` gives aside, which is loaded when it is asked for."""
    graph = grimp.build_graph("fathom", cache_dir=None, exclude_type_checking_imports=True)
    used = {
        name: graph.find_modules_directly_imported_by(name) - {"fathom"} for name in graph.modules
    }
    assert len(used) > 400
    assert circle(used) == []
