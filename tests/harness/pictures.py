"""python -m harness.pictures DIRECTORY: every screen in both themes, of a planted run, for the docs."""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image

from harness import browser, planted

COLOURS = 256  # of a picture's palette; rare ones too stay as they are: a mark is a few pixels
SIZE = {"width": 1280, "height": 860}


def screens(run: planted.Planted) -> dict[str, dict[str, str]]:
    """Each screen and what it shows."""
    slow = str(run.slow_write)
    return {
        "overview": {},
        "heat": {},
        "timeline": {"w": "22300000000-23700000000", "wl": f"{run.writer - 8}-{run.writer + 7}"},
        "call": {"call": slow},
        "layers": {},
        "files": {},
        "servers": {},
        "latency": {},
        "compare": {"with": "s3d"},
        "sql": {
            "q": "select layer, op, count(*) as calls from calls group by all order by calls desc"
        },
        "setup": {},
    }


def save(look: browser.Look, path: Path) -> None:
    """What is seen without scrolling."""
    picture = Image.open(io.BytesIO(look.page.screenshot(animations="disabled"))).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main() -> None:
    """Makes them all."""
    parser = argparse.ArgumentParser(prog="harness.pictures", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--other", type=Path, help="a run directory named s3d.fathom, to compare with"
    )
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.chromium() as chromium:
        run = planted.make(planted.sized(Path(folder) / "planted.fathom", 512, 600_000))
        others = [given.other] if given.other else []
        with browser.live(chromium, run.path, *others) as live:
            for theme in ("light", "dark"):
                with live.look(viewport=SIZE) as look:
                    for screen, shown in screens(run).items():
                        look.go(screen, theme=theme, **shown)
                        save(look, given.directory / f"{screen}-{theme}.png")
                        print(f"{screen}-{theme}.png")


if __name__ == "__main__":
    main()
