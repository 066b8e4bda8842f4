"""Runs of many ranks and calls: questions asked of one process, and of two workers of a Dask cluster on this machine.

Each run is ten times the one before, grown from a recorded one (tests/harness/grown). FATHOM_SCALE_CALLS says up to how
many calls; FATHOM_SCALE_RUNS names a folder where runs are kept, to be asked again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fathom
from fathom import cluster
from fathom.analysis.latency import language, model
from fathom.analysis.latency.segment import Segment
from tools import ROOT, BenchError, Row, fathom_run, pack, run, scratch, size_of

sys.path.insert(0, str(ROOT / "tests"))

from harness import grown

RANKS, FIRST, LAST, STEP = 4096, 1_000_000, 100_000_000, 10
WORKERS, GIB, TOP = 2, 2.0, 1000
QUERIES = ("latency breakdown inclusive", "throughput", "latency operation max", "call")
CHOMBO = ROOT / "build" / "kernels" / "chombo_hdf5_mpich"


@contextmanager
def folder() -> Iterator[Path]:
    """Where runs are kept: what the user named, or for this time."""
    named = os.environ.get("FATHOM_SCALE_RUNS")
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named)
    else:
        with scratch() as made:
            yield made


def recorded(place: Path) -> Path:
    """Chombo on four ranks, every call in full."""
    path = place / "chombo.fathom"
    if not path.is_dir():
        if not CHOMBO.exists():
            raise BenchError("needs kernels/chombo with MPICH: make native")
        (place / "data").mkdir()
        run(
            [
                "mpiexec.mpich",
                "-n",
                "4",
                *fathom_run(path, "--layers", "+mpi"),
                CHOMBO,
                place / "data",
            ]
        )
        pack(path)
    return path


def of_size(place: Path, calls: int) -> tuple[Path, float]:
    """The run of at least so many calls, and the processor seconds of making it; 0: it was there."""
    path, began = place / f"{calls}.fathom", time.process_time()
    if (path / "run.json").is_file():
        return path, 0.0
    grown.grow(recorded(place), path, RANKS, calls, f"{place}/data/*")
    return path, time.process_time() - began


@dataclass
class Asked:
    """One question, one way."""

    seconds: float
    answer: Any


def asked(path: Path, query: str, workers: cluster.Workers | None) -> Asked:
    """A run opened anew."""
    began = time.monotonic()
    opened = fathom.open(path)
    opened.workers = workers
    found = model.answer(opened, language.parse(query), Segment(), TOP)
    return Asked(time.monotonic() - began, (found.views, found.servers, found.layers))


def processor_seconds(workers: cluster.Workers) -> float:
    """Of all workers so far."""
    return float(sum(workers.client.run(time.process_time).values()))


def questions(path: Path, workers: cluster.Workers) -> Iterator[Row]:
    """Each asked of this process, then of the workers."""
    for query in QUERIES:
        used = time.process_time()
        alone = asked(path, query, None)
        used = time.process_time() - used
        there = processor_seconds(workers)
        spread = asked(path, query, workers)
        there = processor_seconds(workers) - there
        same = alone.answer == spread.answer
        yield Row(f"  {query}: {WORKERS} workers; one process", spread.seconds, "s", alone.seconds,
                  spread.seconds / alone.seconds, "equal answers", same)  # fmt: skip
        yield Row("    processor seconds", there, "s", used, there / used)


def rows(quick: bool) -> list[Row]:
    """Sizes in turn, the smallest first."""
    last = FIRST if quick else int(os.environ.get("FATHOM_SCALE_CALLS", LAST))
    result: list[Row] = []
    with folder() as place, cluster.workers(f"local:{WORKERS}") as workers:
        calls = FIRST
        while calls <= last:
            path, took = of_size(place, calls)
            there = fathom.open(path).sql("select events from runs")["events"][0].as_py()
            result += [
                Row("calls of the run", there / 1e6, "M"),
                Row("  its tables", size_of(path / "tables", "*.parquet") / 1e6, "MB"),
                *([Row("  processor seconds to make it", took, "s")] if took else []),
                *questions(path, workers),
            ]
            most = max(workers.client.run(cluster.peak_gib).values())
            result.append(
                Row(
                    "  the most memory of a worker so far",
                    most,
                    "GiB",
                    target=f"<= {GIB:g} GiB",
                    met=most <= GIB,
                )
            )
            calls *= STEP
    return result
