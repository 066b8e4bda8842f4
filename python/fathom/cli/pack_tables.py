"""What `fathom pack` does with a run's tables."""

import contextlib
import sys
import time
from pathlib import Path

from fathom.cache.screens import Screen
from fathom.cache.statements import CachedStatements
from fathom.errors import DamagedRun, FathomError
from fathom.pages import page, screen_content
from fathom.run import cluster, onefile, packing
from fathom.run.directory import is_settled
from fathom.run.engine import engine
from fathom.run.store import Run, open_run, streams_lost
from fathom.webapi.tiles import build as tiles

#: Calls from which on the page takes so long that it is worked out beforehand.
LARGE = 1_000_000


def pack(directory: Path, force: bool, anew: bool, where: str | None) -> None:
    """Makes them, unless they are up to date and not wanted `anew`, with the workers of a cluster if one is named.
    `force`: also of streams of which some are gone."""
    if not force and streams_lost(directory):
        raise DamagedRun(
            f"{directory}: streams that its tables were made of are gone; "
            "--force makes tables of what is left"
        )
    words = ["--force"] if force or anew else []
    if where is None:
        engine("pack", *words, str(directory))
        tiles.ensure(directory / "tables")
    else:
        with cluster.workers(where) as workers:
            packing.pack(directory, words, workers)
            tiles.ensure(directory / "tables", workers=workers)
    ask_page(open_run(directory))


def write_one_file(directory: Path, file: Path) -> None:
    """The run as one file."""
    onefile.write(open_run(directory).path, file)


def ask_page(packed: Run) -> None:
    """What the first screen says is worked out here and kept, as it is what is asked next; of a large run, whose page
    takes long, what that says too."""
    began = time.monotonic()
    if is_settled(packed.path) and Screen(packed.path, with_runtime=False).read() is None:
        with contextlib.suppress(FathomError):  # who looks is told
            screen_content.keep(packed)
    if packed.sql("select events from runs")["events"][0].as_py() < LARGE:
        return
    statements = CachedStatements(packed, packed.path)
    page.ask(page.compute(packed.name, packed.manifest, statements, lambda: None, lambda: None))
    print(f"fathom: page worked out in {time.monotonic() - began:.1f} s", file=sys.stderr)
