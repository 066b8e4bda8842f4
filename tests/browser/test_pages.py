"""Every screen, theme and state: clean for axe-core, legible to the pixel, reached by keys, small."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlparse

import pytest
from harness.browser import Live, Look, address
from harness.planted import Planted

SCREENS = (
    "overview", "heat", "timeline", "call", "layers", "files", "servers", "latency", "compare", "sql", "centre",
    "tune", "setup", "generate",
)  # fmt: skip
THEMES = ("light", pytest.param("dark", marks=pytest.mark.full))
#: Of the page's ground, by theme (web/src/draw/theme.ts), and the least contrast of small text (WCAG 2.2, 1.4.3).
GROUND = {"light": (255, 255, 255), "dark": (20, 23, 28)}
LEGIBLE = 4.5
MOST_NODES = 3000
MOST_TALL = 120  # pixels of a row of a table: five lines

CANVASES = "main .picture canvas:first-child, main .uplot canvas"
#: The colours at the left of each picture that are more than the edge of a letter: names and ticks are drawn there.
COLOURS = """drawn => [...document.querySelectorAll(drawn)].map(canvas => {
    const dots = devicePixelRatio, ink = canvas.getContext('2d');
    const wide = Math.min(canvas.width, 48 * dots);
    const { data } = ink.getImageData(0, 0, wide, canvas.height);
    const found = [];
    for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] > 250) found.push([data[at], data[at + 1], data[at + 2]].join());
    const counts = new Map();
    for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= 12).map(([one]) => one.split(',').map(Number));
})"""


@pytest.fixture(params=THEMES)
def themed(request: pytest.FixtureRequest, view: Live) -> Iterator[tuple[str, Look]]:
    """A page in one theme."""
    with view.look(address("heat", run="planted", theme=request.param)) as look:
        yield request.param, look


def shown(look: Look, screen: str, planted: Planted) -> None:
    """Opens a screen with something in it."""
    given: dict[str, dict[str, str | int]] = {
        "call": {"call": planted.slow_write},
        "compare": {"with": "s3d"},
        "sql": {"q": "select layer, op, count(*) as calls from calls group by all"},
        "setup": {"program": "./app", "ranks": 4, "mpi": "mpich"},
    }
    look.go(screen, **given.get(screen, {}))


def luminance(colour: tuple[int, ...]) -> float:
    """Of WCAG 2.2."""
    parts = [one / 255 for one in colour]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """1 to 21."""
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_every_screen_is_clean_small_and_legible(
    themed: tuple[str, Look], planted_run: Planted
) -> None:
    theme, look = themed
    assert set(look.screens()) == set(SCREENS)
    for screen in SCREENS:
        shown(look, screen, planted_run)
        assert look.violations() == [], screen
        assert look.nodes() < MOST_NODES, screen
        for colours in look.page.evaluate(COLOURS, CANVASES):
            strongest = max(
                (contrast(tuple(one), GROUND[theme]) for one in colours), default=LEGIBLE
            )
            assert strongest >= LEGIBLE, (screen, colours)


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_every_tab_is_in_sight(view: Live, width: int) -> None:
    with view.look(viewport={"width": width, "height": 800}) as look:
        edges = "all => all.flatMap(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
        places = look.page.locator(".tabs a").evaluate_all(edges)
        assert len(places) == 2 * len(look.screens()) and 0 <= min(places) <= max(places) <= width


@pytest.mark.parametrize("width", [1280, 760, 390])
def test_no_screen_is_cut_off_and_no_row_squeezed(
    view: Live, planted_run: Planted, width: int
) -> None:
    """Also of a program whose source is known. A long path makes a table that is moved sideways, not a tall one."""
    with view.look(viewport={"width": width, "height": 800}) as look:
        longest = look.answer("slowest", run="s3d")["rows"][0][0]
        for screen in (*SCREENS, "call of s3d"):
            if screen == "call of s3d":
                look.go("call", run="s3d", call=longest)
                assert look.page.locator("pre.source").count() == 1
            else:
                shown(look, screen, planted_run)
            wide = look.page.evaluate("document.documentElement.scrollWidth")
            rows = "all => all.map(one => one.getBoundingClientRect().height)"
            tall = max(look.page.locator("main td").evaluate_all(rows), default=0)
            assert wide <= width and tall <= MOST_TALL, (screen, wide, tall)


def test_bad_contrast_is_seen(look: Look) -> None:
    """The measure bites: text in the colour of lines is not legible."""
    look.go("heat", theme="light")
    look.page.evaluate(
        """drawn => {
            const canvas = document.querySelector(drawn), ink = canvas.getContext('2d');
            ink.fillStyle = '#ffffff'; ink.fillRect(0, 0, canvas.width, canvas.height);
            ink.fillStyle = '#d0d7de'; ink.fillRect(2, 2, 30, 10);
        }""",
        CANVASES,
    )
    colours = look.page.evaluate(COLOURS, CANVASES)[0]
    assert max(contrast(tuple(one), GROUND["light"]) for one in colours) < LEGIBLE


@pytest.mark.parametrize("screen", SCREENS)
def test_all_that_can_be_pressed_is_reached_by_keys(
    look: Look, planted_run: Planted, screen: str
) -> None:
    """Tab leads through all buttons, links, fields and pictures that are seen, each with a name, and out again."""
    shown(look, screen, planted_run)
    wanted = look.page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, select, input, textarea, summary, [tabindex="0"]')]
            .filter(one => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0)
            .map((one, at) => (one.dataset.reach = at, one.matches('input[type=radio]') ? null : String(at)))
            .filter(one => one !== null)"""
    )
    look.page.evaluate("() => { document.activeElement?.blur(); window.scrollTo(0, 0) }")
    reached = set()
    for _ in range(len(wanted) + 5):
        look.page.keyboard.press("Tab")
        reached.add(look.page.evaluate("() => document.activeElement?.dataset.reach ?? ''"))
    assert [one for one in wanted if one not in reached] == []


def states(look: Look) -> dict[str, str]:
    """Each state of a screen that waits, fails or is empty, and what it must say."""
    run = look.given()["run"]
    return {
        f"#v1/layers?run={run}&files=999999": "Filtered out",
        f"#v1/call?run={run}&call=1099511627775999": "no such call",
        f"#v1/heat?run={run}&layer=nothing": "",
        f"#v1/sql?run={run}&q=select+nothing": "SQL:",
        "#v1/overview?run=gone": "is not open here",
        f"#v9/overview?run={run}": "newer Fathom",
    }


@pytest.mark.parametrize("theme", THEMES)
def test_states_are_said_and_clean(view: Live, theme: str) -> None:
    with view.look(address("heat", run="planted", theme=theme)) as look:
        for hash_, sentence in states(look).items():
            look.page.goto(f"{view.origin}/{hash_}&theme={theme}")
            look.settle()
            assert sentence in look.text(), hash_
            assert look.violations() == [], hash_
        look.complaints[:] = [
            one for one in look.complaints if "Failed to load resource" not in one
        ]


def test_loading_is_said_and_clean(view: Live) -> None:
    """An answer that does not come: the page says that it waits, and what is there can be used."""
    with view.look(address("heat", run="planted")) as look:
        held = []
        look.page.route("**/api/v1/breakdown?*", lambda route: held.append(route))
        look.page.evaluate("() => { location.hash = '#v1/layers?run=planted' }")
        look.page.wait_for_selector("main .loading")
        assert "Asking" in look.text()
        assert look.violations() == []
        (route,) = held
        query = parse_qs(urlparse(route.request.url).query)
        assert (query["run"], query["by"]) == (["planted"], ["layer"])
        route.continue_()
        look.settle()
        assert "hdf5" in look.text()
