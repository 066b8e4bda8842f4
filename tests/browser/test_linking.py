"""One selection: what is brushed on one screen are the numbers of the next; an address holds all of it."""

from pathlib import Path

import pytest
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from harness import tables
from harness.browser import Live, Look, address
from harness.planted import Planted


@pytest.fixture(scope="session")
def answers(planted_run: Planted, kernel_run: Path) -> Runs:
    """The same runs in this process: what the numbers of a screen are compared with."""
    return Runs([planted_run.path, kernel_run])


def brush(look: Look, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Drags over a part of the first picture, in shares of it."""
    picture = look.page.locator("main .picture canvas").last
    box = picture.bounding_box()
    assert box
    at = [
        (box["x"] + box["width"] * a, box["y"] + box["height"] * b)
        for a, b in zip(x, y, strict=True)
    ]
    look.page.mouse.move(*at[0])
    look.page.mouse.down()
    look.page.mouse.move(*at[1], steps=4)
    look.page.mouse.up()
    look.settle()


def test_one_switch_puts_in_what_a_run_time_did(view: Live, answers: Runs) -> None:
    scope = {"run": "s3d", "by": "layer", "of": "inclusive"}
    with view.look(address("layers", run="s3d")) as look:
        switch = look.page.get_by_label("put in what is left out")
        for all_ in ({}, {"all": "1"}):
            expected = screens.ask(answers, "breakdown", {**scope, **all_})
            each = {one["key"]: one for one in numbers(expected["rows"], expected["columns"])}
            assert {row["key"]: row["calls"] for row in look.table()} == {
                key: one["calls"] for key, one in each.items()
            }
            if not all_:
                before = each["posix"]["calls"]
                switch.check()
                look.settle()
        assert each["posix"]["calls"] != before
        assert look.given()["all"] == "1"
        look.page.get_by_role("link", name="Heat map").click()
        look.settle()
        assert switch.is_checked() and look.violations() == []
        switch.uncheck()
        look.settle()
        assert "all" not in look.given()


def numbers(rows: list[list[object]], columns: list[dict[str, str]]) -> list[dict[str, str]]:
    """Rows of an answer as CSV has them."""
    names = [one["name"] for one in columns]
    return [
        {name: "" if value is None else str(value) for name, value in zip(names, row, strict=True)}
        for row in rows
    ]


def test_a_brush_is_what_the_next_screen_shows(look: Look, answers: Runs) -> None:
    look.go("heat")
    brush(look, (0.3, 0.6), (0.3, 0.6))
    chosen = {name: look.given()[name] for name in ("t", "lanes")}
    look.go("layers", **chosen)
    expected = screens.ask(
        answers, "breakdown", {"run": "planted", "by": "layer", "of": "inclusive", **chosen}
    )
    shown = look.table()
    every = numbers(expected["rows"], expected["columns"])
    by_layer = {one["key"]: one for one in every}
    assert len(shown) == len(every) > 0
    for row in shown:
        key = row.get("key") or row.get("layer")
        assert row["calls"] == by_layer[key]["calls"]
    whole = screens.ask(answers, "breakdown", {"run": "planted", "by": "layer", "of": "inclusive"})
    assert whole["rows"] != expected["rows"]


def test_a_copied_address_shows_the_same(view: Live, look: Look) -> None:
    look.go("heat")
    brush(look, (0.2, 0.5), (0.2, 0.7))
    seen = (look.text(".selected"), look.text("main ol.longest"), look.table())
    copied = look.page.url.removeprefix(f"{view.origin}/")
    with view.look(copied) as other:
        assert (other.text(".selected"), other.text("main ol.longest"), other.table()) == seen


def test_back_takes_a_brush_back(look: Look) -> None:
    look.go("heat")
    before = look.table()
    brush(look, (0.2, 0.5), (0.2, 0.7))
    assert "t" in look.given()
    look.press("Backspace")
    assert "t" not in look.given()
    assert look.table() == before


@pytest.mark.parametrize("layer", ["hdf5", "mpiio", "posix"])
def test_the_csv_of_the_heat_map_adds_up_to_the_calls(
    look: Look, planted_run: Planted, layer: str
) -> None:
    look.go("heat", layer=layer)
    rows = look.table()
    of_calls = tables.ask(
        tables.opened(planted_run.path),
        f"select count(*), sum(duration), coalesce(sum(bytes), 0), max(duration) from calls where layer = '{layer}'",
    )[0]
    shown = [sum(float(row[name]) for row in rows) for name in ("calls", "time", "bytes")]
    longest = max(float(row["longest"]) for row in rows)
    assert shown[0] == of_calls[0]
    assert shown[1:] == pytest.approx([float(one) for one in of_calls[1:3]], rel=1e-5)
    assert longest == pytest.approx(float(of_calls[3]), rel=1e-6)


def test_an_unknown_address_is_said(look: Look, view: Live) -> None:
    look.page.goto(f"{view.origin}/{address('nothing')}")
    look.settle()
    assert "There is no screen" in look.text()
