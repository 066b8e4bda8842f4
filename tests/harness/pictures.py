"""python -m harness.pictures DIRECTORY: every screen in both themes, of a planted run, for the docs."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

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


SOLVER = """#include <mpi.h>
#include "solver.h"

int main(int argc, char **argv)
{
	struct solver heat;
	MPI_Init(&argc, &argv);
	solver_begin(&heat, MPI_COMM_WORLD);
	for (int step = 0; step < 1000; step++)
		solver_step(&heat);
	double *temperature = heat.temperature;

	/* The temperature is to be written here. */

	solver_end(&heat);
	MPI_Finalize();
	return 0;
}
"""


def form(chromium: Browser, folder: Path, directory: Path) -> None:
    """The form of fathom generate, with a field of blocks: text, fields and who owns what."""
    path = folder / "solver.c"
    path.write_text(SOLVER)
    with browser.live(chromium, "--generate", path) as live:
        for theme in ("light", "dark"):
            with live.look(viewport=SIZE) as look:
                look.go("generate", theme=theme)
                editor = look.page.get_by_label("Text of solver.c")
                editor.wait_for()
                editor.evaluate(
                    "one => { const at = one.value.indexOf('/* The'); one.focus(); one.setSelectionRange(at, at) }"
                )
                look.page.keyboard.press("ArrowLeft")
                look.page.get_by_role("button", name="Write below").click()
                look.settle()
                text = editor.input_value().replace("processes: 4", "processes: 8")
                cut = "global: field, <nprocs / 2, 2>, <0, 0>, <y / (nprocs / 2), x / 2>, <y / (nprocs / 2), x / 2>"
                text = text.replace("array: *, field, rank * (y / nprocs), y / nprocs, 0, x", cut)
                editor.fill(text.replace("checkpoint", "heat").replace("field;", "temperature;"))
                look.page.get_by_role("button", name="Who owns what").click()
                look.settle()
                look.page.wait_for_timeout(1000)
                look.page.mouse.move(0, 0)
                save(look, directory / f"generate-{theme}.png")
                print(f"generate-{theme}.png")


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
        "--other",
        type=Path,
        nargs=1,
        default=[],
        help="a run directory named s3d.fathom, to compare with",
    )
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    pictures, others = given.directory.resolve(), [path.resolve() for path in given.other]
    with tempfile.TemporaryDirectory() as folder, browser.chromium() as chromium:
        os.chdir(folder)  # the program of the run is there: else Set up names this directory
        shutil.copy("/bin/true", "planted")
        run = planted.make(planted.sized(Path(folder) / "planted.fathom", 512, 600_000))
        with browser.live(chromium, run.path, *others) as live:
            for theme in ("light", "dark"):
                with live.look(viewport=SIZE) as look:
                    for screen, shown in screens(run).items():
                        look.go(screen, theme=theme, **shown)
                        save(look, pictures / f"{screen}-{theme}.png")
                        print(f"{screen}-{theme}.png")
        form(chromium, Path(folder), pictures)


if __name__ == "__main__":
    main()
