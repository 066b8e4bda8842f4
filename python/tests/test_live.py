"""fathom top: sums of looks, what a frame shows and how wide it is, keys."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.analysis.live import BY, Course, grouped
from fathom.pages.live import Frame, shortened, sparkline
from rich.console import Console


def row(**given: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "layer": "posix",
        "op": "pwrite",
        "kind": "write",
        "enclosing_layer": None,
        "enclosing": None,
        "inner": False,
        "pid": 7,
        "rank": 0,
        "file": "/data/out.h5",
        "function": "save",
        "source": "/src/save.c",
        "line": 12,
        "rest": False,
        "calls": 1,
        "errors": 0,
        "bytes": 100,
        "seconds": 0.5,
    }
    return base | given


# One H5Dwrite of rank 0, in it MPI-IO and POSIX; a pwrite of rank 1's own that failed; Fathom's own work.
CALLS = [
    row(layer="hdf5", op="H5Dwrite", seconds=2.0),
    row(layer="mpiio", op="MPI_File_write", enclosing_layer="hdf5", inner=True, seconds=1.5),
    row(enclosing_layer="mpiio", inner=True, calls=3, bytes=120, seconds=1.0),
    row(rank=1, file=None, line=None, source=None, function=None, bytes=0, errors=1),
    row(layer="fathom", op="flush", file=None, seconds=0.25),
]


def look(number: int, calls: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "look": number,
        "interval_seconds": 2.0,
        "run_seconds": 10.0 + number,
        "processes": {"running": 2, "ended": 0, "killed": 1},
        "calls": calls,
        "in_flight": [],
        "missed": {"chunks": 0, "bytes": 0, "why": []},
        "nodes_not_seen": [],
        "cpu_seconds": 0.01,
        "last": False,
    }
    return base | given


STUCK = {
    "layer": "posix",
    "op": "write",
    "kind": "write",
    "inside": [
        {"layer": "hdf5", "op": "H5Dwrite", "kind": "write", "file": "/a/x.h5", "seconds": 32.0}
    ],
    "file": "/a/very/long/path/that/does/not/fit/in/eighty/columns/and/ends/so\x1b[2J.h5",
    "rank": 3,
    "pid": 7,
    "thread": 8,
    "function": "save",
    "source": "/src/save.c",
    "line": 12,
    "size": 1 << 20,
    "offset": None,
    "seconds": 31.5,
}


def frame(by: str = "layer", **given: Any) -> Frame:
    shown = Frame("s3d", by, keys=True)
    shown.course.add(look(0, CALLS))
    shown.course.add(look(1, CALLS[:3], **given))
    return shown


def drawn(shown: Frame, width: int, height: int = 24) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, no_color=True)
    with console.capture() as capture:
        console.print(shown)
    return re.sub(r"\x1b\[[0-9;]*m", "", capture.get()).splitlines()


def test_one_transfer_in_three_layers_counts_once() -> None:
    files = grouped(BY["file"], CALLS)
    assert (files["/data/out.h5"].bytes, files["/data/out.h5"].seconds) == (120, 2.0)
    assert files["(no file)"].errors == 1
    layers = grouped(BY["layer"], CALLS)
    assert {name: total.bytes for name, total in layers.items()} == {
        "hdf5": 100,
        "mpiio": 100,
        "posix": 120,
    }


def test_ranks_and_lines_have_their_outermost_calls() -> None:
    ranks = grouped(BY["rank"], CALLS)
    assert {name: (s.calls, s.seconds) for name, s in ranks.items()} == {
        "rank 0": (1, 2.0),
        "rank 1": (1, 0.5),
    }
    assert set(grouped(BY["line"], CALLS)) == {"save save.c:12", "(no line known)"}


def test_a_course_adds_up() -> None:
    course = Course()
    course.add(look(0, CALLS))
    course.add(look(1, CALLS[:3]))
    assert (course.bytes_now(), course.bytes_total()) == (120, 240)
    assert (course.calls_now(), course.calls_total()) == (5, 11)
    assert list(course.rates) == [60.0]
    assert course.tracing_seconds == 0.25
    first = course.busiest("layer")[0]
    assert (first.name, first.now.seconds, first.total.seconds) == ("hdf5", 2.0, 4.0)


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("by", BY)
def test_a_frame_fits_the_terminal(width: int, by: str) -> None:
    lines = drawn(frame(by, in_flight=[STUCK] * 7, nodes_not_seen=["n2", "n3"]), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for words in ("2 running, 1 killed", "In flight: 7 calls, 7 for 100 ms", "31.5 s", "rank 3"):
        assert words in text
    assert "\x1b" not in text and "Not seen from here: n2, n3" in text


def test_time_of_a_call_in_flight_counts_as_it_passes() -> None:
    course = Course()
    course.add(look(0, [], in_flight=[STUCK]))
    later = {"inside": [STUCK["inside"][0] | {"seconds": 34.0}], "seconds": 33.5}  # type: ignore[index]
    course.add(look(1, [], in_flight=[STUCK | later]))
    assert {row.name: row.threads for row in course.busiest("layer")} == {"hdf5": 1.0, "posix": 1.0}
    assert {row.name: row.threads for row in course.busiest("rank")} == {"rank 3": 1.0}
    ended = row(layer="hdf5", op="H5Dwrite", rank=3, seconds=35.0)
    course.add(look(2, [ended]))
    (rank,) = course.busiest("rank")
    assert (rank.threads, rank.total.seconds) == (0.5, 35.0)


def test_what_is_missed_is_said() -> None:
    text = "\n".join(drawn(frame(missed={"chunks": 2, "bytes": 5000, "why": []}), 100))
    assert "Missed: 2 chunks, 4.88 KiB that cannot be read" in text


def test_keys_change_the_view() -> None:
    shown = frame()
    for key, by in (
        ("f", "file"),
        ("r", "rank"),
        ("s", "line"),
        ("l", "layer"),
        ("\t", "function"),
    ):
        assert shown.press(key)
        assert shown.by == by
    assert shown.press("x") and shown.by == "function"
    assert not shown.press("q")


def test_bars_and_long_names() -> None:
    assert sparkline([0, 1, 4, 8], 3) == "▂▅█"
    assert sparkline([0.0, 0.0], 5) == "▁▁"
    assert sparkline([], 5) == ""
    assert shortened("/a/b/c.h5", 6) == "…/c.h5"
    assert shortened("a\x1b[2J", 20) == "a\\x1b[2J"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--interval", "0"], "no number of seconds"),
        (["--interval", "soon"], "no number of seconds"),
        (["--by", "server"], "server"),
        (["--top", "0"], "whole number"),
    ],
)
def test_wrong_use(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
