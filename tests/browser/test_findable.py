"""The three planted troubles: named on the first screen, visible at every zoom, reached by keyboard alone."""

import itertools
import re

import pytest
from harness.browser import Look
from harness.planted import Planted

#: Of the light theme, as `draw/theme.ts` has it; and the frame of the heat map, as `heat/paint.ts` has it.
MARK = (0xB3, 0x26, 0x1E)
LEFT, RIGHT, TOP, BOTTOM = 78, 128, 40, 46
SECOND = 1_000_000_000
MOST_KEYS = 60


def marked(look: Look, x: float, y: float, reach: int = 7) -> bool:
    """Is a pixel of the mark's colour this near to a place of the picture, given in shares of the heat map's frame?"""
    return bool(
        look.page.evaluate(
            """([x, y, reach, mark, left, right, top, bottom]) => {
                const canvas = document.querySelector('main .picture canvas');
                const dots = devicePixelRatio, width = canvas.width / dots, height = canvas.height / dots;
                const at = [left + x * (width - left - right), top + y * (height - top - bottom)];
                const pixels = canvas.getContext('2d').getImageData(
                    (at[0] - reach) * dots, (at[1] - reach) * dots, 2 * reach * dots, 2 * reach * dots).data;
                for (let i = 0; i < pixels.length; i += 4)
                    if (mark.every((one, c) => Math.abs(pixels[i + c] - one) < 4)) return true;
                return false;
            }""",
            [x, y, reach, MARK, LEFT, RIGHT, TOP, BOTTOM],
        )
    )


def slow_call(planted: Planted) -> str:
    """What the call explorer says of the slow write."""
    return f"pwrite of rank {planted.writer}: 900 ms"


def test_the_first_screen_names_all_three(first: Look, planted_run: Planted) -> None:
    screen = first.text()
    assert re.search(
        rf"pwrite.*rank {planted_run.writer}\b.*900 ms|rank {planted_run.writer}\b.*pwrite.*900 ms",
        screen,
    )
    assert re.search(rf"rank {planted_run.straggler}\b", screen, re.IGNORECASE)
    assert planted_run.hot in screen


@pytest.mark.parametrize(
    ("kind", "screen", "selected"),
    [
        ("Longest call", "call", "call"),
        ("Straggler", None, "lanes"),
        ("Hot server", None, "servers"),
    ],
)
def test_each_leads_to_its_place(
    first: Look, planted_run: Planted, kind: str, screen: str | None, selected: str
) -> None:
    first.page.locator(".landmarks li", has_text=kind).get_by_role("link").click()
    first.settle()
    expected = {
        "call": str(planted_run.slow_write),
        "lanes": str(planted_run.straggler),
        "servers": planted_run.hot,
    }[selected]
    assert first.given()[selected].replace("%2F", "/") == expected
    assert screen in (None, first.screen)
    assert "There is no screen" not in first.text()


def test_the_write_is_seen_at_every_zoom(look: Look, planted_run: Planted) -> None:
    start, duration = slow_place(look)
    unseen = []
    wide = itertools.product((25, 12, 6, 3, 1.5), (256, 64, 8, 1))
    for width, lanes in (*wide, *itertools.product((0.4, 0.1, 0.02), (64, 1))):
        if not seen_in(look, planted_run, (start + duration / 2), width, lanes):
            unseen.append((width, lanes))
    assert unseen == []


def test_zooming_leads_from_level_to_level_to_single_calls(
    look: Look, planted_run: Planted
) -> None:
    """Bins are always as many as the picture has room for; the finest hold no more than one call each."""
    start, _ = slow_place(look)
    widths = [25 / 2**zoom for zoom in range(11)]
    bins = []
    for width in widths:
        seen_in(look, planted_run, start, width, 8)
        match = re.search(r"^(\d+) bins of (\S+ \S+) \u00d7", look.text("main figcaption .quiet"))
        assert match, look.text("main figcaption")
        bins.append((int(match[1]), match[2]))
    assert all(200 <= many <= 1024 for many, _ in bins), bins
    assert len({each for _, each in bins}) >= 9, bins
    rows = look.table()
    assert rows and {row["calls"] for row in rows} <= {"0", "1"}
    assert {row["first lane"] for row in rows} != {"0"}
    assert all(row["first lane"] == row["last lane"] for row in rows)


def seen_in(look: Look, planted: Planted, middle: float, width: float, lanes: int) -> bool:
    """Is the slow write marked in a view of so many seconds and lanes around it?"""
    first = max(0, min(256 - lanes, planted.writer - lanes // 2))
    begins = max(0, int(middle - width * SECOND / 2))
    ends = min(int(begins + width * SECOND), 24_800_000_000)
    given = {"w": f"{begins}-{ends}", "wl": f"{first}-{first + lanes - 1}"}
    look.go("heat", **given)
    x = (middle - begins) / (ends - begins)
    return marked(look, x, (planted.writer + 0.5 - first) / lanes)


def slow_place(look: Look) -> tuple[int, int]:
    """Start and duration of the longest call of POSIX, of the API."""
    outliers = look.answer("zooms")["outliers"]
    longest = max(
        (one for one in outliers if one["layer"] == "posix"), key=lambda one: one["duration"]
    )
    return longest["start"], longest["duration"]


def test_the_write_is_reached_from_the_first_screen_by_keys(
    first: Look, planted_run: Planted
) -> None:
    tab_to(
        first, "document.activeElement.closest('.landmarks li')?.innerText.includes('Longest call')"
    )
    first.press("Enter")
    assert first.screen == "call"
    assert slow_call(planted_run) in first.text()


def test_the_write_is_reached_from_the_heat_map_by_keys(look: Look, planted_run: Planted) -> None:
    look.press("2")
    assert look.screen == "heat"
    assert "of layer hdf5" in look.text(), "it opens on the layer that the program called"
    look.go("heat", layer="posix")
    focus_picture(look)
    assert "longest 900 ms" in look.announced()
    look.press("+", "+", "+")
    assert "longest 900 ms" in look.announced()
    look.press("Enter")
    assert look.screen == "call"
    assert slow_call(planted_run) in look.text()


def focus_picture(look: Look) -> None:
    """Tab until a picture has the focus."""
    tab_to(look, "document.activeElement.matches('main [role=application]')")
    look.settle()


def tab_to(look: Look, there: str) -> None:
    """Tab until this is so."""
    for _ in range(MOST_KEYS):
        look.page.keyboard.press("Tab")
        if look.page.evaluate(f"() => {there}"):
            return
    raise AssertionError(f"not reached with {MOST_KEYS} tabs: {there}")


def test_the_call_explorer_is_walked_by_keys(look: Look, planted_run: Planted) -> None:
    """Up to the call of HDF5 that holds the slow write, and down again."""
    look.go("call", call=planted_run.slow_write)
    focus_picture(look)
    look.press("ArrowUp", "ArrowUp", "Enter")
    assert look.given()["call"] == str(planted_run.slow_write - 3)
    assert f"H5Dwrite of rank {planted_run.writer}: 90" in look.text()


def test_a_real_run_has_its_calls_in_the_explorer(look: Look) -> None:
    look.go("call", run="s3d")
    look.page.locator("main tbody tr").first.click()
    look.settle()
    assert look.given()["call"]
    assert re.search(r"of rank \d: ", look.text("main h2"))
