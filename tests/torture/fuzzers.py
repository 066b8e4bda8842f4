"""What the tests in Rust try by chance, with other inputs than the suite: fuzzers of readers, a simulation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.paths import ROOT

from torture.part import Part

#: Package, its test, and inputs a round: some seconds each.
FUZZERS = (
    ("fathom-stream", "--test=fuzz", 20_000),
    ("fathom-sink", "--test=fuzz", 10_000),
    ("fathom-wire", "--test=fuzz", 100_000),
    ("fathom-watch", "--lib", 20_000),
    ("fathom-agent", "--lib", 50_000),
)
#: Of the simulation in a round: half a minute.
SCHEDULES = 50_000
#: Of the library's tests these alone.
ONLY = {"fathom-watch": "fuzz::", "fathom-agent": "frame::"}


def cargo_test(place: Path, package: str, words: tuple[str, ...], settings: dict[str, int]) -> None:
    """Its tests, which take these numbers from the environment."""
    engine = ROOT / "engine" / "Cargo.toml"
    command = ["cargo", "test", "--release", "-q", "--manifest-path", engine, "-p", package, *words]
    done = subprocess.run(
        command,
        env={**os.environ, "TMPDIR": str(place), **{name: str(value) for name, value in settings.items()}},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{package}: {done.stdout[-1500:]}{done.stderr[-1500:]}"


def mutants(place: Path, seed: int) -> int:
    package, test, count = FUZZERS[seed % len(FUZZERS)]
    settings = {"FATHOM_FUZZ": count, "FATHOM_FUZZ_SEED": seed + 1}
    cargo_test(place, package, (test, "--", ONLY.get(package, "")), settings)
    return count


def schedules(place: Path, seed: int) -> int:
    """engine/forward/src/simulation: its output names the schedule that found a fault."""
    settings = {"FATHOM_SCHEDULE": seed * SCHEDULES, "FATHOM_SCHEDULES": SCHEDULES}
    cargo_test(place, "fathom-forward", ("--lib", "--", "simulation::", "--nocapture"), settings)
    return SCHEDULES


PARTS = (
    Part(
        "fuzz",
        "mutants of streams, shared files, frames, rings and messages: right or refused, no panic",
        "inputs",
        mutants,
    ),
    Part(
        "forward-model",
        "the deciding server among simulated clients, network, disk, kills: what clients were told is on the disk",
        "schedules",
        schedules,
    ),
)
