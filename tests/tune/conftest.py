"""What tests of runs that are changed on their way share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.steps import Steps


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Any]:
    started: list[Steps] = []

    def start(mpi: str, count: int, *options: object, **more: Any) -> Steps:
        started.append(Steps(tmp_path, mpi, count, *options, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, 9)
        one.process.wait()
