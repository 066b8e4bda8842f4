"""The pictures that a report has for who runs no script say what the answers say."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from fathom.analysis import pictured
from fathom.run.store import open_run
from fathom.text import numbers
from fathom.webapi.answers.session import Runs
from fathom.webapi.report import pictures
from schema import write_run

LINE = re.compile(r"M(\d+) (\d+)\.5h(\d+)")
BAR = re.compile(r"M(\d+) (\d+)v-(\d+)h(\d+)v\d+z")


def draw(path: Path) -> ElementTree.Element:
    runs = Runs([path])
    return ElementTree.fromstring(
        f"<div>{pictures.pictures(runs.view(next(iter(runs.all))))}</div>"
    )


def plots(drawn: ElementTree.Element) -> list[ElementTree.Element]:
    return drawn.findall(".//svg[@class='rows']")


def test_the_heat_map_has_the_cells_of_the_answer(run_directory: Path) -> None:
    """Each cell with its share of the time in its step of colour, each row with its sums in words."""
    cells = pictured.cells(open_run(run_directory), None)
    heat = plots(draw(run_directory))[0]
    drawn: dict[tuple[int, int], int] = {}
    for path in heat.iter("path"):
        step = int(path.attrib["class"].rpartition("-")[2])
        for first, row, count in LINE.findall(path.attrib["d"]):
            drawn |= {(int(row), at): step for at in range(int(first), int(first) + int(count))}
    wanted = {
        (one["row"], one["bin"]): min(7, int(8 * one["time"] / cells.width))
        for one in cells.table.to_pylist()
        if one["time"] > 0
    }
    assert drawn == wanted
    for row, group in enumerate(heat.findall("g")):
        spent = sum(one["time"] for one in cells.table.to_pylist() if one["row"] == row)
        says = group.findtext("title") or ""
        assert says.startswith(f"{cells.lanes[row].first}: {numbers.seconds(spent / 1e9)} in ")


def test_strips_are_as_high_as_their_layers_were_busy(run_directory: Path) -> None:
    strips = pictured.strips(open_run(run_directory), "true", None, None, pictures.BINS)
    width = (strips.span[1] - strips.span[0]) / pictures.BINS
    wanted: dict[str, dict[int, float]] = {}
    for one in strips.table.to_pylist():
        name = f"{strips.lanes[one['lane']]}, {one['layer']}"
        at = round((one["start"] - strips.span[0]) / width)
        wanted.setdefault(name, {})[at] = one["busy"]
    drawn: dict[str, dict[int, int]] = {}
    for path in plots(draw(run_directory))[1].iter("path"):
        name = (path.findtext("title") or "").partition(":")[0]
        for first, _, tall, count in BAR.findall(path.attrib["d"]):
            bars = drawn.setdefault(name, {})
            bars |= {at: int(tall) for at in range(int(first), int(first) + int(count))}
            drawn[name] = bars
    assert drawn.keys() == wanted.keys()
    for name, busy in wanted.items():
        assert drawn[name].keys() == busy.keys()
        for at, share in busy.items():
            assert drawn[name][at] == pytest.approx(max(1, 14 * share), abs=0.51), (name, at)


def test_names_times_and_what_they_are_stand_beside(run_directory: Path) -> None:
    drawn = draw(run_directory)
    words = " ".join(drawn.itertext())
    assert words.count("time since the start of the run") == 2
    assert "each layer of a process is a row" in words
    names = [text.text for text in drawn.findall(".//svg[@class='names']/text")]
    assert {"rank 0", "rank 1"} <= set(names)
    for plot in drawn.findall(".//svg[@role='img']"):
        assert "time across from 0 s to" in plot.attrib["aria-label"]


def test_without_calls_it_says_so(tmp_path: Path) -> None:
    path = write_run(
        tmp_path / "r.fathom", runs=[{"duration": 100, "processes": 1}], processes=[{"process": 0}]
    )
    drawn = draw(path)
    assert plots(drawn) == []
    assert [one.text for one in drawn.findall("p")] == [
        "No picture: when the program's own I/O calls were made is not known",
        "No picture: no call that was chosen was recorded in full",
    ]


def test_times_on_the_axis_are_round() -> None:
    text = "".join(pictures._axis((0.0, 6.56), 0))
    assert re.findall(r">([\d.]+ s)<", text) == ["0 s", "2 s", "4 s", "6 s"]
    assert pictures._step(0.3) == 0.5
    assert pictures._step(0.02) == pytest.approx(0.02)
