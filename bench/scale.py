"""What runs of many calls cost: each query, and tiles, of one process and of two workers of a Dask cluster on this
machine, the page, findings, packing; and what each further million calls costs.

Runs are grown from a recorded one (tests/harness/grown); streams that are packed are recorded. Each figure is also said
on stderr as soon as it is known. One size is a look: FATHOM_SCALE_CALLS=1000000,10000000,100000000 measures these,
FATHOM_SCALE_ONLY=call,show these questions, FATHOM_SCALE_RANKS=100000 adds the page, findings and first screen of so
many ranks. FATHOM_SCALE_RUNS names a folder where runs are kept, to be asked again.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import fathom
import pyarrow.parquet as pq
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from fathom.run import cluster
from fathom.run import packing as shares
from fathom.webapi.tiles import build
from tools import (
    ENGINE,
    FATHOM,
    ROOT,
    VERDICT,
    BenchError,
    Cost,
    Row,
    cost,
    fathom_run,
    number,
    pack,
    regular_run,
    run,
    scratch,
    size_of,
)

sys.path.insert(0, str(ROOT / "tests"))

from harness import grown

SOON, FINDINGS = 2.0, 20.0
#: Answers what the first screen of `fathom view` says.
OVERVIEW = """import sys
from fathom.webapi.answers import ask
from fathom.webapi.answers.session import Runs
runs = Runs(sys.argv[1:])
ask(runs, "overview", {"run": next(iter(runs.all))})"""

RANKS, CALLS = 4096, 1_000_000
WORKERS, GIB, TOP = 2, 2.0, 1000
QUERIES = (
    "latency breakdown inclusive",
    "latency breakdown exclusive",
    "latency operation list",
    "latency operation max",
    "latency operation min",
    "latency operation avg",
    "latency collective",
    "throughput",
    "energy 10 5",
    "call",
)
CHOMBO = ROOT / "build" / "kernels" / "chombo_hdf5_mpich"
TILES = "import sys, pathlib as p, fathom.webapi.tiles.build as b; b.make(p.Path(sys.argv[1]), p.Path(sys.argv[2]))"
PACK = "pack"
PROCESSES = 16
DIGEST = "select count(*) as calls, bit_xor(hash(c)) as digest from calls c"
QUESTIONS = (*QUERIES, "show", "show --findings", "tiles", PACK)


def listed(name: str, otherwise: Iterable[str]) -> list[str]:
    """Words of the user's, separated by commas."""
    given = os.environ.get(name)
    return [word.strip() for word in given.split(",")] if given else list(otherwise)


def asked(questions: Iterable[str] = QUESTIONS) -> list[str]:
    """Of these the ones that are measured."""
    only = listed("FATHOM_SCALE_ONLY", QUESTIONS)
    if unknown := set(only) - set(QUESTIONS):
        there = ", ".join(QUESTIONS)
        raise BenchError(f"FATHOM_SCALE_ONLY: no {', '.join(unknown)}; there are {there}")
    return [name for name in questions if name in only]


@contextmanager
def folder() -> Iterator[Path]:
    """Where runs are kept: what the user named, or for this time."""
    named = os.environ.get("FATHOM_SCALE_RUNS")
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named)
    else:
        with scratch() as temporary:
            yield temporary


def recorded(place: Path) -> Path:
    """Chombo on four ranks, every call in full."""
    path = place / "chombo.fathom"
    if not path.is_dir():
        if not CHOMBO.exists():
            raise BenchError("needs kernels/chombo with MPICH: make native")
        (place / "data").mkdir()
        traced = fathom_run(path, "--layers", "+mpi")
        run(["mpiexec.mpich", "-n", "4", *traced, CHOMBO, place / "data"])
        pack(path)
    return path


def of_size(place: Path, calls: int) -> Path:
    """The run of at least so many calls."""
    path = place / f"{calls}.fathom"
    if not (path / "run.json").is_file():
        grown.grow(recorded(place), path, RANKS, calls, f"{place}/data/*")
    return path


@dataclass
class Asked:
    """One question, one way."""

    processor_seconds: float
    gib: float  # the most memory of a process that read calls
    answer: Any


def answer(path: Path, query: str, workers: cluster.Workers | None = None) -> Any:
    """Of a run opened anew."""
    opened = fathom.open(path)
    opened.workers = workers
    reply = model.answer(opened, language.parse(query), Segment(), TOP)
    return reply.views, reply.servers, reply.layers


def _alone(path: Path, query: str) -> Asked:
    before = time.process_time()
    reply = answer(path, query)
    return Asked(time.process_time() - before, cluster.peak_gib(), reply)


def alone(path: Path, query: str) -> Asked:
    """By a process of its own."""
    anew = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=anew) as process:
        return process.submit(_alone, path, query).result()


def forget_peak() -> None:
    """What `cluster.peak_gib` says begins again with the memory that this process has now."""
    Path("/proc/self/clear_refs").write_text("5")


def spread(ask: Callable[[], Any], workers: cluster.Workers) -> Asked:
    """By workers; processor seconds of all of them and of the process that asks."""

    def used() -> float:
        return time.process_time() + float(sum(workers.client.run(time.process_time).values()))

    workers.client.run(forget_peak)
    before = used()
    reply = ask()
    return Asked(used() - before, max(workers.client.run(cluster.peak_gib).values()), reply)


class Curve:
    """Costs by what was asked and how many calls there were."""

    def __init__(self) -> None:
        self.points: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def keep(self, what: str, calls: int, processor_seconds: float) -> None:
        self.points[what].append((calls, processor_seconds))

    def law(self) -> Iterator[Row]:
        """What the last step up cost by the call, and how that compares with the calls: 1 is in proportion."""
        for what, points in self.points.items():
            if len(points) > 1:
                (few, less), (many, more) = points[-2:]
                slope, grew = (more - less) / (many - few) * 1e6, more / less / (many / few)
                yield Row(f"{what}: each further million calls", slope, "s", ratio=grew)


def questions(path: Path, calls: int, workers: cluster.Workers, curve: Curve) -> Iterator[Row]:
    """Each asked of one process, then of the workers."""
    for query in asked(QUERIES):
        one = alone(path, query)
        some = spread(partial(answer, path, query, workers), workers)
        curve.keep(f"{query}, one process", calls, one.processor_seconds)
        curve.keep(f"{query}, {WORKERS} workers", calls, some.processor_seconds)
        yield Row(f"  {query}: processor seconds of {WORKERS} workers; one process", some.processor_seconds, "s",
                  one.processor_seconds, some.processor_seconds / one.processor_seconds, "equal answers",
                  one.answer == some.answer)  # fmt: skip
        yield Row("    the most memory of a worker; of the one process", some.gib, "GiB", one.gib,
                  some.gib / one.gib, f"<= {GIB:g} GiB", some.gib <= GIB)  # fmt: skip


def forget_answers(path: Path) -> None:
    """What was kept when it was asked before."""
    for folder_name in ("page", "answers"):
        shutil.rmtree(path / "tables" / folder_name, ignore_errors=True)


def commands(path: Path, calls: int, workers: cluster.Workers, curve: Curve) -> Iterator[Row]:
    """What is made of the whole by one process; of tiles the most by workers, too."""
    tiles = path / "tiles.made"
    words: dict[str, list[str | Path]] = {
        "show": [FATHOM, "show", path, "--json"],
        "show --findings": [FATHOM, "show", path, "--findings", "--json"],
        "tiles": [sys.executable, "-c", TILES, path / "tables", tiles],
    }
    forget_answers(path)
    for what in asked(words):
        yield from _command(what, calls, cost(words[what]), curve)
    if tiles.is_file():
        yield Row("    their size", tiles.stat().st_size / 1e6, "MB")
        yield from tiles_in_parts(path, tiles, calls, workers, curve)
        tiles.unlink()


def tiles_in_parts(
    path: Path, one: Path, calls: int, workers: cluster.Workers, curve: Curve
) -> Iterator[Row]:
    """The same by workers: cells equal to those that one process made."""
    spread_tiles, what = path / "tiles.spread", f"tiles, {WORKERS} workers"
    took = spread(partial(build.make, path / "tables", spread_tiles, workers=workers), workers)
    equal = pq.read_table(spread_tiles) == pq.read_table(one)
    spread_tiles.unlink()
    curve.keep(what, calls, took.processor_seconds)
    yield Row(
        f"  {what}: processor seconds", took.processor_seconds, "s", target="equal cells", met=equal
    )
    yield Row(
        "    the most memory of a worker",
        took.gib,
        "GiB",
        target=f"<= {GIB:g} GiB",
        met=took.gib <= GIB,
    )


def packing(calls: int, workers: cluster.Workers, curve: Curve) -> Iterator[Row]:
    """A recorded run of one process, then of several: streams to tables."""
    with regular_run(calls) as directory:
        took = cost([ENGINE, "pack", directory])
        yield from _command(
            f"pack {calls / 1e6:g} M calls of one process", calls, took, curve, "pack"
        )
        sizes = [size_of(directory, glob) / 1e6 for glob in ("*.fts", "*.parquet")]
        yield Row("    tables; streams", sizes[1], "MB", sizes[0], sizes[1] / sizes[0])
    with regular_run(calls, processes=PROCESSES) as directory:
        what = f"pack as many calls of {PROCESSES} processes"
        yield from _command(what, calls, cost([ENGINE, "pack", directory]), curve)
        yield from packing_in_shares(directory, f"{what}, {WORKERS} workers", calls, workers, curve)


def packing_in_shares(
    directory: Path, what: str, calls: int, workers: cluster.Workers, curve: Curve
) -> Iterator[Row]:
    """The same by workers, whose engines do it: rows equal to those that one process made."""

    def used() -> float:
        return sum(
            sum(times[2:4]) for times in (os.times(), *workers.client.run(os.times).values())
        )

    one, before = fathom.open(directory).sql(DIGEST), used()
    shares.pack(directory, ["--force"], workers)
    took = used() - before
    curve.keep(what, calls, took)
    yield Row(f"  {what}: processor seconds", took, "s", target="equal rows",
              met=fathom.open(directory).sql(DIGEST) == one)  # fmt: skip


def _command(
    what: str, calls: int, took: Cost, curve: Curve, name: str | None = None
) -> Iterator[Row]:
    curve.keep(name or what, calls, took.processor_seconds)
    yield Row(f"  {what}: processor seconds", took.processor_seconds, "s")
    yield Row("    the most memory", took.gib, "GiB")


def measured(place: Path, sizes: Iterable[int], workers: cluster.Workers) -> Iterator[Row]:
    """Sizes in turn, then the law."""
    curve = Curve()
    for wanted in sizes:
        path = of_size(place, wanted)
        calls = int(fathom.open(path).sql("select events from runs")["events"][0].as_py())
        yield Row(f"calls of {RANKS:,} ranks", calls / 1e6, "M")
        yield Row("  its tables", size_of(path / "tables", "*.parquet") / 1e6, "MB")
        yield from questions(path, calls, workers, curve)
        yield from commands(path, calls, workers, curve)
        if asked([PACK]):
            yield from packing(wanted, workers, curve)
    yield from curve.law()


def of_ranks(place: Path, ranks: int) -> Iterator[Row]:
    """What is first asked of so many ranks; targets are of the processor, since others may keep it busy."""
    path = place / f"{ranks}-ranks.fathom"
    if not (path / "run.json").is_file():
        grown.grow(recorded(place), path, ranks, 1, f"{place}/data/*")
    forget_answers(path)
    facts = fathom.open(path).sql("select events, ranks_seen from runs").to_pylist()[0]
    overview: list[str | Path] = [sys.executable, "-c", OVERVIEW, path]
    show: list[str | Path] = [FATHOM, "show", path]
    yield Row("ranks of the run", facts["ranks_seen"], "")
    yield Row("  its calls", facts["events"] / 1e6, "M")
    for what, command, most in (
        ("the page, by whoever packs or asks first", show, None),
        ("show", show, SOON),
        ("first screen, by whoever asks first", overview, None),
        ("first screen", overview, SOON),
        ("show --findings", [*show, "--findings"], FINDINGS),
    ):
        took = cost(command)
        used = took.processor_seconds
        yield Row(f"  {what}: processor seconds", used, "s", took.seconds, used / took.seconds,
                  f"<= {most:g} s" if most else "", used <= most if most else None)  # fmt: skip
        yield Row("    most memory", took.gib, "GiB", target=f"<= {GIB:g} GiB", met=took.gib <= GIB)


def everything(sizes: list[int], ranks: int) -> Iterator[Row]:
    """Runs of so many calls, and one of so many ranks; 0: none."""
    with folder() as place:
        with cluster.workers(f"local:{WORKERS}") as workers:
            yield from measured(place, sizes, workers)
        if ranks:
            yield from of_ranks(place, ranks)


def rows(quick: bool) -> list[Row]:
    """One size, unless more is asked for. Each row is said when it is known: all may take an hour."""
    sizes = (
        [CALLS // 100] if quick else [int(n) for n in listed("FATHOM_SCALE_CALLS", [str(CALLS)])]
    )
    ranks = 0 if quick else int(os.environ.get("FATHOM_SCALE_RANKS", 0))
    asked()
    every_row = []
    for row in everything(sizes, ranks):
        figures = [number(value, row.unit) for value in (row.measured, row.baseline)] + [
            VERDICT[row.met]
        ]
        print(f"{row.what}:", "; ".join(filter(None, figures)), file=sys.stderr, flush=True)
        every_row.append(row)
    return every_row
