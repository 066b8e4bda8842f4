"""What one traced call costs: 8-byte pwrite and pread, bare and under tracers, interleaved."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools import PROGRAMS, Row, fathom_run, run, scratch

EMPTY = PROGRAMS / "libempty.so"
CLOCKS = PROGRAMS / "libclocks.so"
KINDS = ("pwrite", "pread")
COUNTED = ("file", "job")
COUNTED_LIMIT = 30.0
TWO_CLOCKS = "two bare clock readings"
THREAD_NOISE = (
    1.10  # two threads may be this much dearer before it counts: noise of a shared machine
)


@dataclass(frozen=True)
class Target:
    """What the calls are made on."""

    name: str
    file: str  # relative to the scratch directory in /dev/shm, or absolute
    preload: str  # below the tracer
    limit: float  # nanoseconds that Fathom may add


TARGETS = (
    Target("empty call", "/dev/null", str(EMPTY), 25.0),
    Target("/dev/null", "/dev/null", "", 27.0),
    Target("tmpfs", "data", "", 27.0),
)

# Nanoseconds per call: the least over all batches and rounds, and the mean of all rounds.
Cost = dict[str, tuple[float, float]]
Variant = Callable[[Path, list[str | Path], str], str]


def bare(_scratch: Path, command: list[str | Path], preload: str) -> str:
    return run(command, {"LD_PRELOAD": preload})


def clocks(_scratch: Path, command: list[str | Path], preload: str) -> str:
    """Two readings of the clock around the call, and nothing else: what is left is the tracer's own."""
    return run(command, {"LD_PRELOAD": f"{CLOCKS} {preload}".strip()})


def fathom(directory: Path, command: list[str | Path], preload: str, level: str = "call") -> str:
    with scratch(str(directory)) as inner:
        words = fathom_run(inner / "run.fathom", "--level", level)
        return run([*words, *command], {"LD_PRELOAD": preload})


def peer(_scratch: Path, command: list[str | Path], preload: str) -> str:
    library = os.environ["FATHOM_BENCH_PEER"]
    return run(command, {"LD_PRELOAD": f"{library} {preload}".strip()})


def variants() -> dict[str, Variant]:
    by_name: dict[str, Variant] = {"bare": bare, TWO_CLOCKS: clocks, "Fathom": fathom}
    for level in COUNTED:
        by_name[f"Fathom, level {level}"] = partial(fathom, level=level)
    if os.environ.get("FATHOM_BENCH_PEER"):
        by_name["peer"] = peer
    return by_name


def measure(target: Target, threads: int, quick: bool) -> dict[str, Cost]:
    """Runs the variants in turn, so that a slow spell of the machine meets them all."""
    rounds, batches = (3, 100) if quick else (12, 300)
    seen: dict[str, dict[str, list[tuple[float, float]]]] = {
        name: {kind: [] for kind in KINDS} for name in variants()
    }
    with scratch("/dev/shm") as directory:
        command: list[str | Path] = [
            PROGRAMS / "calls",
            directory / target.file,
            str(threads),
            str(batches),
        ]
        for _ in range(rounds):
            for name, variant in variants().items():
                for line in variant(directory, command, target.preload).splitlines():
                    kind, least, _median, mean = line.split()
                    seen[name][kind].append((float(least), float(mean)))
    return {
        name: {
            kind: (min(least for least, _ in runs), sum(mean for _, mean in runs) / len(runs))
            for kind, runs in kinds.items()
        }
        for name, kinds in seen.items()
    }


def added(costs: dict[str, Cost], name: str, kind: str) -> float:
    return costs[name][kind][0] - costs["bare"][kind][0]


def limit_of(target: Target, name: str) -> float:
    """Nanoseconds that a variant may add; 0: any."""
    if name == "Fathom":
        return target.limit
    return COUNTED_LIMIT if name.startswith("Fathom") and target is TARGETS[0] else 0.0


def rows_of(target: Target, costs: dict[str, Cost]) -> list[Row]:
    rows = []
    for kind in KINDS:
        least, mean = costs["bare"][kind]
        for name in costs:
            if name == "bare":
                continue
            ns = added(costs, name, kind)
            limit = limit_of(target, name)
            rows.append(
                Row(
                    f"{name} {'add' if name == TWO_CLOCKS else 'adds'} to {kind}, {target.name}",
                    ns,
                    "ns",
                    least,
                    costs[name][kind][0] / least,
                    f"<= {limit:.0f} ns" if limit else "",
                    ns <= limit if limit else None,
                )
            )
        whole = costs["Fathom"][kind][1]
        rows.append(
            Row(
                f"  mean with sealing, {kind}, {target.name}",
                whole - mean,
                "ns",
                mean,
                whole / mean,
            )
        )
    return rows


def one_thread(quick: bool) -> list[Row]:
    return [row for target in TARGETS for row in rows_of(target, measure(target, 1, quick))]


def two_threads(quick: bool) -> list[Row]:
    """Two threads on one file against one thread, both measured here."""
    rows = []
    for target in (TARGETS[0], TARGETS[2]):
        one, two = measure(target, 1, quick), measure(target, 2, quick)
        for kind in KINDS:
            single, double = added(one, "Fathom", kind), added(two, "Fathom", kind)
            gated = target is TARGETS[0]  # on tmpfs the threads meet on the kernel's inode lock
            rows.append(
                Row(
                    f"Fathom adds to {kind}, 2 threads, {target.name}",
                    double,
                    "ns",
                    single,
                    double / single,
                    f"<= {THREAD_NOISE:.2f} x 1 thread" if gated else "",
                    double <= THREAD_NOISE * single if gated else None,
                )
            )
    return rows
