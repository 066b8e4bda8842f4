"""The fuzzers of the readers in Rust, with other inputs than those of the suite."""

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
#: Of the library's tests these alone.
ONLY = {"fathom-watch": "fuzz::", "fathom-agent": "frame::"}


def mutants(place: Path, seed: int) -> int:
    package, test, count = FUZZERS[seed % len(FUZZERS)]
    command = [
        "cargo",
        "test",
        "--release",
        "-q",
        "--manifest-path",
        ROOT / "engine" / "Cargo.toml",
        "-p",
        package,
        test,
    ]
    done = subprocess.run(
        [*command, "--", ONLY.get(package, "")],
        env={**os.environ, "FATHOM_FUZZ": str(count), "FATHOM_FUZZ_SEED": str(seed + 1), "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{package}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
    return count


PARTS = (
    Part(
        "fuzz",
        "mutants of streams, shared files, frames, rings and messages: right or refused, no panic",
        "inputs",
        mutants,
    ),
)
