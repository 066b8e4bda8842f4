"""Every setting of a small space, run once and again: eight kernels, 4 ranks, 4 throttled forwarding servers.

    python bench/grid.py [KERNEL]… [--rounds N]

What was measured is a line of bench/grids/KERNEL.csv, and is not measured again: it goes on where it was stopped.
KERNEL.first.json is what `fathom tune` tries first, by an expert's rule and by findings of one recorded run.
bench/tuning.py compares samplers on these files.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from fathom.run import paths
from fathom.run.store import open_run
from fathom.tune.search import default_space
from fathom.tune.search.space import Point, Space, read
from fathom.tune.settings import compiled, toml
from tools import FATHOM, ROOT, BenchError, fathom_run, run, scratch

GRIDS = ROOT / "bench" / "grids"
KERNELS = ROOT / "build" / "kernels"
LAUNCH = ["mpiexec.mpich", "-n", "4"]
SERVERS = 4
#: Each server is as a slow disk: 10 ms a request and 8 MB/s, so that a request of 80 KB waits as long for one as for
#: the other. So slow that ranks and servers, which share two busy processors with others, sleep most of a run: what is
#: compared is requests, bytes and servers at once, not processors.
THROTTLE = "operations=100,megabytes=8"
#: A file that wishes nothing lies on one server, as on Lustre and CephFS.
STRIPE_COUNT = 1
PATIENT = ROOT / "build" / "bench" / "libpatient.so"
SECONDS = 60
WROTE = re.compile(r"write_seconds=([0-9.]+)")
#: In a directory that only the servers have; its name is $0.
SCRIPT = 'export LD_PRELOAD="$LD_PRELOAD:$BESIDE"; mkdir "$0" && "$@" "$0"; status=$?; rm -r "$0"; exit $status'


@dataclass(frozen=True)
class Kernel:
    """A program and its arguments: about 4 MB of output."""

    name: str
    program: str
    arguments: str

    @property
    def space(self) -> Space:
        """What is set in it."""
        return read(GRIDS / ("hdf5.toml" if "hdf5" in self.program else "mpiio.toml"))


KINDS = {
    one.name: one
    for one in (
        Kernel("s3d", "s3d_mpiio_mpich", "-m collective -c 1 32 32 32 2 2 1"),
        Kernel("row", "synthetic_mpiio_mpich", "-m collective row 512 1024"),
        Kernel("column", "synthetic_hdf5_mpich", "-m independent column 512 1024"),
        Kernel("block", "synthetic_hdf5_mpich", "-m independent block 512 1024"),
        Kernel("flash", "flash_hdf5_mpich", "-m independent -f c -b 10"),
        Kernel("vpic", "vpic_hdf5_mpich", "-m independent -p 30000"),
        Kernel("vorpal", "vorpal_hdf5_mpich", "-m independent 12 12 12 2 2 2 2 2 1"),
        Kernel("gcrm", "gcrm_hdf5_mpich", "-m independent -l 6 5 2"),
    )
}


class Recorded:
    """A kernel's file: one run a line, values of knobs as JSON."""

    def __init__(self, kernel: Kernel) -> None:
        self.path, self.looks = GRIDS / f"{kernel.name}.csv", GRIDS / f"{kernel.name}.first.json"
        self.space = kernel.space
        self.names = [dimension.name for dimension in self.space.dimensions]

    def runs(self) -> dict[Point, list[float]]:
        """Seconds of each point's runs."""
        seconds_of: dict[Point, list[float]] = {}
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    named = {name: json.loads(row[name]) for name in self.names}
                    seconds_of.setdefault(self.space.point(named), []).append(float(row["seconds"]))
        return seconds_of

    def add(self, point: Point, seconds: float) -> None:
        """One more run."""
        is_new = not self.path.exists()
        values: list[Any] = [json.dumps(value) for value in self.space.named(point).values()]
        with self.path.open("a", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            if is_new:
                lines.writerow([*self.names, "seconds"])
            lines.writerow([*values, f"{seconds:.3f}"])

    def first(self) -> list[tuple[str, Point]]:
        """Points that `fathom tune` tries first, and who asks for them."""
        looks_data = json.loads(self.looks.read_text(encoding="utf-8"))
        return [(by, self.space.point(named)) for by, named in looks_data]

    def keep(self, first: Sequence[tuple[str, Point]]) -> None:
        """Keeps these."""
        named = [[by, self.space.named(point)] for by, point in first]
        lines = ",\n".join(json.dumps(one) for one in named)
        self.looks.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

    def missing(self, rounds: int) -> list[Point]:
        """Points that were run less often, in an order that no knob follows."""
        runs = self.runs()
        every = product(*(range(len(dimension.values)) for dimension in self.space.dimensions))
        left = [point for point in every if len(runs.get(point, ())) < rounds]
        Random(rounds).shuffle(left)
        return left


@contextmanager
def servers(place: Path) -> Iterator[dict[str, str]]:
    """Throttled ones that stripe; the environment of their clients."""
    out, store = place / "out", place / "store"
    at: list[str | Path] = ["--at", place / "servers"]
    out.mkdir()
    wanted: list[str | Path] = ["--export", out, "--storage", store, "--servers", str(SERVERS)]
    wanted += ["--set", f"throttle={THROTTLE}", "--set", f"stripe_count={STRIPE_COUNT}"]
    exports = run([FATHOM, "forward", "up", *at, *wanted])
    try:
        words = shlex.split(exports.replace("export ", ""))
        yield dict(word.split("=", 1) for word in words)
    finally:
        run([FATHOM, "forward", "down", *at])


def looked(kernel: Kernel, place: Path, clients: dict[str, str]) -> list[tuple[str, Point]]:
    """What `fathom tune` tries first, having looked at the program as it is."""
    once(kernel, kernel.space.default, place, clients, "call")
    return default_space.first(open_run(place / "run.fathom"), kernel.space)


def launched(
    program: Sequence[str | Path], out: Path, text: str, place: Path, clients: dict[str, str], level: str
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """A program of four ranks with these settings, through the servers into `out`; recorded as run.fathom."""
    shutil.rmtree(place / "run.fathom", ignore_errors=True)
    tuned = place / "tuned"
    # What --tuned makes of settings, made here: an interpreter less for each run.
    tuned.write_text(compiled.text(toml.read(out.name, text)) if text else "")
    words = fathom_run(place / "run", "--level", level)
    words += ["nice", "-n", "2", "sh", "-c", SCRIPT, out]
    words += ["env", *([f"FATHOM_TUNED={tuned}"] if text else []), *LAUNCH, *program]
    mpiio = {"FATHOM_FORWARD_MPIIO": "library", "BESIDE": f"{paths.preload()}:{PATIENT}"}
    return subprocess.run(
        [str(word) for word in words], env={**os.environ, **clients, **mpiio}, text=True,
        capture_output=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def once(
    kernel: Kernel, point: Point, place: Path, clients: dict[str, str], level: str = "job"
) -> float:
    """Seconds that the kernel says it took to open, write and close; infinite where it failed or hung."""
    program: list[str | Path] = [KERNELS / kernel.program, *kernel.arguments.split()]
    out, text = place / "out" / kernel.name, kernel.space.settings(point)
    try:
        done = launched(program, out, text, place, clients, level)
    except subprocess.TimeoutExpired:
        return float("inf")
    wrote = WROTE.search(done.stdout)
    if done.returncode or not wrote:
        print(f"{kernel.name} {point}: exit {done.returncode}: {done.stderr}", file=sys.stderr)
        return float("inf")
    return float(wrote[1])


def record(kernel: Kernel, rounds: int) -> None:
    """What is missing of a kernel's grid."""
    recorded = Recorded(kernel)
    with scratch() as place, servers(place) as clients:
        if not recorded.looks.exists():
            recorded.keep(looked(kernel, place, clients))
        for number in range(1, rounds + 1):
            for point in recorded.missing(number):
                seconds = once(kernel, point, place, clients)
                recorded.add(point, seconds)
                print(f"{kernel.name} {number} {point} {seconds:.3f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Records grids of settings")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(KINDS))
    parser.add_argument("--rounds", type=int, default=1, help="runs of each point [1]")
    options = parser.parse_args()
    if unknown := [name for name in options.kernels if name not in KINDS]:
        raise BenchError(f"no kernel {unknown[0]}; there are {', '.join(KINDS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # servers end too
    for name in options.kernels or KINDS:
        record(KINDS[name], options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
