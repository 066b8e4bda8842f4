"""show --by tree and its flame graph: every call of the program is on its path, with its time, and nothing twice."""

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis.tree import Node
from fathom.errors import NotRecorded
from fathom.pages import flame
from schema import counters_of, write_run

Captured = pytest.CaptureFixture[str]
SVG = "{http://www.w3.org/2000/svg}"


def call(number: int, parent: int | None, layer: str, op: str, span: int, **others: Any) -> dict:
    return {
        "id": number, "parent": parent, "layer": layer, "op": op, "kind": "write", "state": "done",
        "start": number, "duration": span, "process": 0, "stream": 0, "depth": 0 if parent is None else 1,
    } | others  # fmt: skip


#: Two sites of a line, a line with two regions, a library without lines; Fathom's own and a socket's call are nowhere.
CALLS = [
    call(1, None, "hdf5", "H5Dwrite", 1000, nested=700, site=0, bytes=64),
    call(2, 1, "posix", "write", 300, bytes=32),
    call(3, 1, "mpiio", "MPI_File_write", 400, nested=150, bytes=32),
    call(4, 3, "posix", "write", 100, depth=2, bytes=32),
    call(5, 3, "fathom", "seal", 50, depth=2),
    call(6, None, "hdf5", "H5Dwrite", 500, nested=0, site=1, bytes=64),
    call(7, None, "user", "save", 900, nested=800, site=2),
    call(8, 7, "user", "step", 800, nested=450),
    call(9, 8, "posix", "write", 450, depth=2, bytes=10),
    call(10, None, "posix", "read", 50, site=3, bytes=7),
    call(11, None, "posix", "write", 5000, site=3, file=1),
]
SITES = [
    {"site": 0, "module": "/bin/a", "source": "/src/sim.c", "line": 10, "function": "move"},
    {"site": 1, "module": "/bin/a", "source": "/src/sim.c", "line": 10, "function": "move"},
    {"site": 2, "module": "/bin/a", "source": "/src/sim.c", "line": 20, "function": "main"},
    {"site": 3, "module": "/lib/libq.so"},
]
#: depth, name, layer, calls, bytes, time, self: by hand.
TREE = [
    (0, "sim.c:10 move()", None, 2, 128, 1500, None),
    (1, "H5Dwrite", "hdf5", 2, 128, 1500, 800),
    (2, "MPI_File_write", "mpiio", 1, 32, 400, 250),
    (3, "write", "posix", 1, 32, 100, 100),
    (2, "write", "posix", 1, 32, 300, 300),
    (0, "sim.c:20 main()", None, 1, 10, 450, None),
    (1, "save", "user", 1, 10, 450, None),
    (2, "step", "user", 1, 10, 450, None),
    (3, "write", "posix", 1, 10, 450, 450),
    (0, "in libq.so", None, 1, 7, 50, None),
    (1, "read", "posix", 1, 7, 50, 50),
]


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    return write_run(
        tmp_path / "nested.fathom",
        runs=[{"name": "nested", "duration": 9000, "processes": 1, "events": 11}],
        processes=[{"process": 0, "pid": 7}],
        files=[
            {"file": 0, "path": "/f", "kind": "file"},
            {"file": 1, "path": "s", "kind": "socket"},
        ],
        sites=SITES,
        calls=CALLS,
        counters=counters_of(CALLS),
    )


def test_each_path_has_its_calls(nested: Path) -> None:
    rows = fathom.open(nested).by("tree").to_pylist()
    seen = [
        (
            *(row[name] for name in ("depth", "name", "layer", "calls", "bytes")),
            round(row["seconds"] * 1e9),
            None if row["self_seconds"] is None else round(row["self_seconds"] * 1e9),
        )
        for row in rows
    ]
    assert seen == TREE
    assert sum(row["share"] for row in rows if row["depth"] == 0) == pytest.approx(1)


def test_paths_are_those_of_the_calls_parents(shared_run: Path) -> None:
    """Worked out call by call."""
    run = fathom.open(shared_run)
    calls = {row["id"]: row for row in run.table("calls").to_pylist()}

    def path(row: dict[str, Any]) -> tuple[str, ...]:
        above = calls.get(row["parent"])
        return (*(path(above) if above else ()), row["op"])

    times: Counter[tuple[str, ...]] = Counter()
    for row in calls.values():
        if row["layer"] != "fathom":
            times[path(row)] += row["duration"]
    stack: list[str] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for row in run.by("tree").to_pylist():
        stack[row["depth"] :] = [row["name"]]
        if row["depth"]:
            seen[tuple(stack[1:])] += round(row["seconds"] * 1e9)
    assert seen == times


def test_it_is_printed_and_given_as_data(nested: Path, capsys: Captured) -> None:
    assert main(["show", str(nested), "--by", "tree"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:3]] == ["sim.c:10 move()", ""]
    assert lines[3].startswith("    MPI_File_write ")
    assert main(["show", str(nested), "--by", "tree", "--json", "--top", "3"]) == 0
    assert json.loads(capsys.readouterr().out) == fathom.open(nested).by("tree").to_pylist()[:3]


def test_a_flame_graph_is_as_wide_as_the_time(
    nested: Path, tmp_path: Path, capsys: Captured
) -> None:
    picture = tmp_path / "flames.svg"
    assert main(["show", str(nested), "--by", "tree", "--svg", str(picture)]) == 0
    assert capsys.readouterr().out == ""
    drawing = picture.read_text(encoding="utf-8")
    boxes = ElementTree.fromstring(drawing).findall(f"{SVG}g")
    titles = [box.findtext(f"{SVG}title") or "" for box in boxes]
    assert [title.partition(": ")[0] for title in titles] == [name for _, name, *_ in TREE]
    assert "H5Dwrite: 1.5 µs (75 %), 800 ns of its own, 2 calls, 128 B" in titles
    widths = [float(box.find(f"{SVG}rect").get("width")) for box in boxes]
    room = flame.WIDTH - 2 * flame.MARGIN
    for width, (*_, time, _) in zip(widths, TREE, strict=True):
        assert width == pytest.approx(room * time / 2000, abs=0.6)
    assert drawing.count("http") == 1 and "<script" not in drawing


def test_boxes_lie_on_what_made_them_and_hostile_names_are_shown() -> None:
    root = Node("", time=1000, calls=1)
    line = root.child("<b>&\x1b[2J")
    line.time = 1000
    for name, time in (("most", 900), ("too narrow", 0), ("more than its call", 400)):
        line.child(name, "posix").time = time  # damaged: together more than the line
    drawn = {box.node.name: box for box in flame.boxes(root)}
    assert list(drawn) == ["<b>&\x1b[2J", "most", "more than its call"]
    right = {name: box.left + box.width for name, box in drawn.items()}
    assert right["more than its call"] == pytest.approx(right["<b>&\x1b[2J"])
    assert [box.row for box in drawn.values()] == [0, 1, 1]
    document = ElementTree.fromstring(flame.svg(root, "a<run>"))
    assert "<b>&\\x1b[2J" in [text.text for text in document.iter(f"{SVG}text")]


def test_a_run_without_calls_says_so(tmp_path: Path, capsys: Captured) -> None:
    path = write_run(
        tmp_path / "job.fathom", runs=[{"name": "job", "duration": 9, "processes": 1}], calls=[]
    )
    assert main(["show", str(path), "--by", "tree"]) == 0
    assert "was recorded in full: record at level call" in capsys.readouterr().err
    assert main(["show", str(path), "--by", "tree", "--svg", str(tmp_path / "a.svg")]) == 3
    assert not (tmp_path / "a.svg").exists()
    with pytest.raises(NotRecorded, match="no I/O call of the program was recorded in full"):
        flame.save(tmp_path / "a.svg", "job", fathom.open(path))
