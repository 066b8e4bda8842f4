"""Do settings of one pattern serve another? Every kernel with every setting, and what its requests would cost.

Every kernel runs for real on four ranks, once per setting, and its requests below MPI-IO are counted. A store then says
what they cost: each has a latency, bytes have a rate, and blocks that are touched in part cost a reading before. One
such store serves each process by itself, the other all of them in turn. So what is compared is the same on any load.

    .venv/bin/python bench/transfer.py bench/transfer.json     records (a quarter of an hour)
    .venv/bin/python bench/transfer.py --table bench/transfer.json

The table leaves one application out after another, and asks the others for its nearest pattern; then it looks at all
pairs. The threshold of fathom.tune.store.distance lies below the nearest pair whose settings do not serve.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fathom
from fathom.run.store import Run
from fathom.tune.store.distance import distance
from fathom.tune.store.shape import Shape, groups
from tools import ROOT, fathom_run, run

RANKS = 4
#: Application, program, arguments before the directory: two or three sizes of each.
JOBS = (
    ("vpic", "vpic_hdf5", "-p 20000"),
    ("vpic", "vpic_hdf5", "-p 200000"),
    ("vpic", "vpic_hdf5", "-u -p 20000"),
    ("vpic", "vpic_hdf5", "-m independent -p 20000"),
    ("vorpal", "vorpal_hdf5", "20 20 20 0 0 0 2 2 1"),
    ("vorpal", "vorpal_hdf5", "16 24 32 0 0 0 2 2 1"),
    ("vorpal", "vorpal_hdf5", "20 20 20 4 4 4 2 2 1"),
    ("gcrm", "gcrm_hdf5", "-l 25 4 2"),
    ("gcrm", "gcrm_hdf5", "-l 8 5 2"),
    ("s3d", "s3d_hdf5", "-c 1 24 24 24 2 2 1"),
    ("s3d", "s3d_hdf5", "-c 1 40 40 40 2 2 1"),
    ("s3d", "s3d_mpiio", "-c 1 24 24 24 2 2 1"),
    ("s3d", "s3d_mpiio", "-m independent -c 1 16 16 16 2 2 1"),
    ("flash", "flash_hdf5", "-b 8 -f c"),
    ("flash", "flash_hdf5", "-b 40 -f c"),
    ("flash", "flash_hdf5", "-b 8 -f p"),
    ("ior", "ior_mpiio", "3 262144 65536"),
    ("ior", "ior_mpiio", "8 65536 16384"),
    ("ior", "ior_mpiio", "-m independent 8 65536 16384"),
    ("ior", "ior_hdf5", "3 262144 65536"),
    ("synthetic", "synthetic_hdf5", "row 512 512"),
    ("synthetic", "synthetic_hdf5", "column 512 512"),
    ("synthetic", "synthetic_hdf5", "block 512 512"),
    ("synthetic", "synthetic_mpiio", "column 512 512"),
    ("synthetic", "synthetic_mpiio", "block 512 512"),
    ("synthetic", "synthetic_mpiio", "-m independent column 128 128"),
    ("chombo", "chombo_hdf5", "-b 8 -l 2 -c 2"),
)
MANY = {"cb_config_list": "*:*"}
SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "nodes 2": MANY | {"cb_nodes": "2"},
    "nodes 4": MANY | {"cb_nodes": "4"},
    "buffer 64K": {"cb_buffer_size": "65536"},
    "nodes 4, buffer 64K": MANY | {"cb_nodes": "4", "cb_buffer_size": "65536"},
    "two-phase, nodes 1": {"romio_cb_write": "enable"},
    "two-phase, nodes 2": MANY | {"romio_cb_write": "enable", "cb_nodes": "2"},
    "two-phase, nodes 4": MANY | {"romio_cb_write": "enable", "cb_nodes": "4"},
    "two-phase, aligned": MANY
    | {"romio_cb_write": "enable", "cb_nodes": "4", "striping_unit": "65536"},
    "plain": {"romio_cb_write": "disable", "romio_ds_write": "disable"},
    "sieving": {"romio_cb_write": "disable", "romio_ds_write": "enable"},
    "sieving, 64K": {
        "romio_cb_write": "disable",
        "romio_ds_write": "enable",
        "ind_wr_buffer_size": "65536",
    },
}
#: What a request costs: seconds each, seconds a byte, seconds for a block that it touches in part.
LATENCY, BYTE, BLOCK, PARTIAL = 1e-3, 1 / 50e6, 65536, 0.5e-3
REQUESTS = """
select process, count(*) as requests, sum(bytes)::double as bytes,
	sum((file_offset % $block != 0)::int + ((file_offset + bytes) % $block != 0)::int)::int as partial
from calls join files using (file)
where calls.layer = 'posix' and calls.kind in ('read', 'write') and bytes > 0 and files.path like $under
group by process
"""
#: A gain below this is none, and a loss; so much of a gain must be kept.
WORTH, SERVES = 1.1, 0.8


@dataclass(frozen=True)
class Case:
    """A kernel of some size: its pattern, and what each setting's requests cost on either store."""

    application: str
    job: str
    shape: Shape
    costs: dict[str, dict[str, float]]  # store -> setting -> s

    def gain(self, store: str, setting: str) -> float:
        """Seconds that a setting saves."""
        return self.costs[store]["default"] - self.costs[store][setting]

    def best(self, store: str) -> str:
        """The cheapest; of equal ones the first, so the default where nothing gains."""
        return min(self.costs[store], key=lambda name: self.costs[store][name])

    def share_of_gain(self, store: str, setting: str) -> float | None:
        """Share of what could be gained that this setting gains; None: nothing worth having could be."""
        best = self.best(store)
        if self.costs[store]["default"] < WORTH * self.costs[store][best]:
            return None
        return self.gain(store, setting) / self.gain(store, best)


def recorded(program: str, arguments: str, hints: dict[str, str], place: Path) -> Run:
    """One run, without what else it traces."""
    data = place / "data"
    data.mkdir()
    words = [word for key, value in hints.items() for word in ("-H", f"{key}={value}")]
    layers = ["--layers", "posix,mpiio,hdf5"]
    kernel = ROOT / "build" / "kernels" / f"{program}_mpich"
    launch: list[str | Path] = [
        "mpiexec.mpich",
        "-n",
        str(RANKS),
        kernel,
        *words,
        *arguments.split(),
        data,
    ]
    run([*fathom_run(place / "run", *layers, "--level", "call"), *launch])
    return fathom.open(place / "run.fathom")


def costs_of(traced: Run, under: str) -> dict[str, float]:
    """Of the slowest process, and of all one after another."""
    rows = traced.sql(REQUESTS, block=BLOCK, under=f"{under}/%").to_pylist()
    each = [
        row["requests"] * LATENCY + row["bytes"] * BYTE + row["partial"] * PARTIAL for row in rows
    ]
    return {"apart": max(each), "shared": sum(each)}


def one(job: tuple[str, str, str]) -> Case:
    """All settings of a kernel."""
    application, program, arguments = job
    costs: dict[str, dict[str, float]] = {"apart": {}, "shared": {}}
    shape = None
    for name, hints in SETTINGS.items():
        with TemporaryDirectory() as folder:
            traced = recorded(program, arguments, hints, Path(folder))
            shape = shape or groups(traced)[0].shape
            for store, cost in costs_of(traced, f"{folder}/data").items():
                costs[store][name] = round(cost, 6)
    assert shape
    print(program, arguments, costs, file=sys.stderr, flush=True)
    return Case(application, f"{program} {arguments}", shape, costs)


def read(path: Path) -> list[Case]:
    """What was recorded."""
    data: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [Case(**{**row, "shape": Shape(**row["shape"])}) for row in data]


@dataclass(frozen=True)
class Moved:
    """The settings of another application's pattern, on one store."""

    case: Case
    source: Case
    store: str
    distance: float

    @property
    def setting(self) -> str:
        """What is best for that pattern."""
        return self.source.best(self.store)

    @property
    def share_of_gain(self) -> float | None:
        """Share of the gain; None: there was none to have."""
        return self.case.share_of_gain(self.store, self.setting)

    @property
    def loss(self) -> float:
        """Times the cost of the default."""
        costs = self.case.costs[self.store]
        return costs[self.setting] / costs["default"]

    @property
    def serves(self) -> bool:
        """It keeps most of the gain, or costs next to nothing where there is none."""
        return self.loss <= WORTH if self.share_of_gain is None else self.share_of_gain >= SERVES


def pairs(cases: Sequence[Case]) -> list[Moved]:
    """Every pattern with those of all other applications, the nearest first."""
    moved = [
        Moved(case, source, store, distance(case.shape, source.shape).total)
        for case in cases
        for source in cases
        for store in case.costs
        if case.application != source.application
    ]
    return sorted(moved, key=lambda one: (one.distance, one.case.job, one.source.job, one.store))


def nearest(cases: Sequence[Case]) -> list[Moved]:
    """What the pattern store answers when one application after another is left out of it."""
    neighbours: dict[tuple[str, str], Moved] = {}
    for pair in pairs(cases):
        neighbours.setdefault((pair.case.job, pair.store), pair)
    return list(neighbours.values())


def table(cases: Sequence[Case]) -> None:
    """The nearest of each, how many of all pairs are served by distance, and the nearest that is not."""
    for one in nearest(cases):
        became = (
            f"costs {one.loss:.2f}"
            if one.share_of_gain is None
            else f"keeps {100 * one.share_of_gain:.0f} %"
        )
        print(
            f"{one.distance:.3f} {one.store:6} {one.case.job:46} from {one.source.job:46} {became}"
        )
    every = pairs(cases)
    for low in range(0, 30, 2):
        inside = [one for one in every if low / 100 <= one.distance < (low + 2) / 100]
        if inside:
            served = sum(one.serves for one in inside)
            print(f"distance {low / 100:.2f} to {(low + 2) / 100:.2f}: {served} of {len(inside)}")
    worst = next(one for one in every if not one.serves)
    print(f"not served first: {worst.distance:.3f}, {worst.case.job} from {worst.source.job}")


def main(words: list[str]) -> None:
    """Records, or prints."""
    if words[0] == "--table":
        table(read(Path(words[1])))
        return
    with ThreadPoolExecutor(2) as pool:
        cases = list(pool.map(one, JOBS))
    Path(words[0]).write_text(json.dumps([asdict(case) for case in cases], indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
