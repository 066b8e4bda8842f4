"""A code whose files are of several kinds (tests/programs/mpi/mix.c: checkpoint, plot, particles), on throttled
servers: each setting that all files share, and settings by group of files, in interleaved rounds."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from random import Random
from statistics import median

from fathom.run.store import open_run
from fathom.tune.search.objective import measure
from grid import launched, servers
from tools import ROOT, BenchError, Row, scratch

PROGRAM = ROOT / "build" / "tests" / "programs" / "mpi" / "mix_mpich"
FILES = '[[file]]\n{group}[file.romio]\nromio_cb_write = "{cb}"\nromio_ds_write = "{ds}"\n'
VALUES = ("automatic", "disable")
#: What a search found by counted cost (tests/tune/test_mix.py): requests of their own for particles.
GROUPS = FILES.format(group='group = "particles.*"\n', cb="disable", ds="disable")
SETTINGS = {
    f"all files: cb_write {cb}, ds_write {ds}": FILES.format(group="", cb=cb, ds=ds)
    for cb, ds in product(VALUES, VALUES)
}
BY_GROUP = "particles disable, disable; others as they are"
ROUNDS, QUICK = 3, 1
#: Of the best single setting; by counted cost it is a fifth.
PART = 0.6


def once(text: str, place: Path, clients: dict[str, str]) -> float:
    """Seconds of opening, writing and closing, of the slowest rank."""
    out = place / "out" / "mix"
    done = launched([PROGRAM], out, text, place, clients, "file")
    if done.returncode:
        raise BenchError(f"{PROGRAM.name}: exit {done.returncode}: {done.stderr.strip()}")
    run = open_run(place / "run.fathom", quiet=True)
    return measure(run, f"{out}/*")["write_seconds"]


def rows(quick: bool) -> list[Row]:
    """Each single setting beside those by group."""
    every = {**SETTINGS, BY_GROUP: GROUPS}
    seconds_of: dict[str, list[float]] = {name: [] for name in every}
    for turn in range(QUICK if quick else ROUNDS):
        for name in Random(turn).sample(list(every), len(every)):
            with scratch() as place, servers(place) as clients:
                seconds_of[name].append(once(every[name], place, clients))
            print(
                f"mix {turn + 1}: {name}: {seconds_of[name][-1]:.2f} s", file=sys.stderr, flush=True
            )
    ours = median(seconds_of.pop(BY_GROUP))
    singles = {name: median(seconds) for name, seconds in seconds_of.items()}
    result = [Row(name, single, "s", ours, single / ours) for name, single in singles.items()]
    least = min(singles.values())
    met = ours <= PART * least
    what = f"{BY_GROUP}; the best of those"
    return [*result, Row(what, ours, "s", least, ours / least, f"<= {PART}", met)]
