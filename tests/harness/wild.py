"""Logs of real jobs, which are not in the repository: beside it, in `shared/wild`, or where FATHOM_WILD says.

What is known to be true of them, which `tests/test_wild.py` asks and `bench/wild.py` measures.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness import paths


@dataclass(frozen=True)
class Truth:
    """What one job did wrong."""

    rule: str  # the finding that must come first
    won: float | None  # seconds of run time when it was mended; None: nobody mended it


#: Log -> the truth.
TRUTHS = {
    "aiio-ior-write-1k": Truth("sync-churn", 463.0),
    "aiio-openpmd-independent": Truth("independent-small", 282.0),
    "aiio-openpmd-collective": Truth("few-stripes", None),
    "aiio-ior-read-strided-1k": Truth("small-accesses", None),
    "darshan-logs-imbalanced": Truth("few-stripes", None),
    "darshan-logs-e3sm-pnetcdf": Truth("read-modify-write", None),
    # Its pair has 4 views for 12 writes, of 102 ms instead of 819; it moves more bytes, so that no gain is known.
    "e2e-pathological": Truth("view-switches", None),
}
#: Jobs without a problem of I/O that anybody knows of.
WELL = ("aiio-tmatch-many-files", "aiio-tmatch-merged", "aiio-ior-write-1m", "e2e-optimized")
#: Logs that PyDarshan's package has -> the finding that must come first; None: there is none. Ten threads open named
#: pipes and wait (dxt); HDF5's file is closed and opened again between writes and reads (ior_hdf5_example); all ranks
#: take as long to open, one writes 4,000 bytes (sample-dxt-simple); a rank opens a log 94 times (noposixopens);
#: writes are of 8 MiB (sample-goodost); an OST is slow (sample-badost).
OF_PACKAGE: dict[str, str | None] = {
    "dxt": None,
    "ior_hdf5_example": None,
    "sample-dxt-simple": None,
    "sample-goodost": None,
    "noposix": None,
    "noposixopens": "open-close-churn",
    "sample-badost": "slow-server",
    "shane_macsio": "independent-small",
}
#: Hundreds of processes with all their accesses.
LONG = ("darshan-logs-skew-app", "darshan-logs-imbalanced")
#: A best value is right within this factor.
WITHIN = 3


def folder() -> Path | None:
    """Where they lie; None where there are none."""
    named = os.environ.get("FATHOM_WILD")
    places = [Path(named)] if named else [up / "shared/wild" for up in (*paths.ROOT.parents[:2],)]
    return next((place for place in places if place.is_dir()), None)


def logs() -> list[str]:
    """Their names, without `.darshan`."""
    place = folder()
    return sorted(path.stem for path in place.glob("*.darshan")) if place else []


def cases(but: Collection[str] = ()) -> list[Any]:
    """All logs, for `parametrize`, the longest in the full suite only; where there are none, one to be skipped."""
    return [
        pytest.param(name, marks=[pytest.mark.full] if name in LONG else [])
        for name in logs() or ["aiio-ior-write-1k"]
        if name not in but
    ]


def log(name: str) -> Path:
    """One of them; the test is skipped where it is not there."""
    place = folder()
    path = place / f"{name}.darshan" if place else None
    if path is None or not path.is_file():
        pytest.skip(f"the log {name} of a real job is not here (shared/wild, FATHOM_WILD)")
    return path
