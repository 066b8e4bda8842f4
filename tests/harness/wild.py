"""Logs of real jobs, which are not in the repository: beside it, in `shared/wild`, or where FATHOM_WILD says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import paths


def folder() -> Path | None:
    """Where they lie; None where there are none."""
    named = os.environ.get("FATHOM_WILD")
    places = [Path(named)] if named else [up / "shared/wild" for up in (*paths.ROOT.parents[:2],)]
    return next((place for place in places if place.is_dir()), None)


def logs() -> list[str]:
    """Their names, without `.darshan`."""
    place = folder()
    return sorted(path.stem for path in place.glob("*.darshan")) if place else []


def log(name: str) -> Path:
    """One of them; the test is skipped where it is not there."""
    place = folder()
    path = place / f"{name}.darshan" if place else None
    if path is None or not path.is_file():
        pytest.skip(f"the log {name} of a real job is not here (shared/wild, FATHOM_WILD)")
    return path
