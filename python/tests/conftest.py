"""Runs and commands that several tests use."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from schema import counters_of, write_run
from small import CALLS


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    """A small run that has something of everything."""
    return _small(tmp_path)


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for tests that leave it as it is."""
    return _small(tmp_path_factory.mktemp("shared"))


def _small(folder: Path) -> Path:
    return write_run(
        folder / "small.fathom",
        runs=[
            {
                "name": "small",
                "started": 10**18,
                "duration": 4000,
                "processes": 2,
                "streams": 2,
                "nodes": 1,
                "ranks": 2,
                "ranks_seen": 2,
                "events": 7,
                "coverage": 1.0,
                "unfinished": 1,
                "chunks_missing": 2,
                "stream_bytes": 4096,
            }
        ],
        nodes=[{"node": 0, "host": "n1"}],
        processes=[
            {"process": 0, "pid": 10, "rank": 0, "ranks": 2, "ended": "clean", "exe": "/bin/s3d"},
            {"process": 1, "pid": 11, "rank": 1, "ranks": 2, "ended": "killed", "exe": "/bin/s3d"},
        ],
        files=[{"file": 0, "path": "/data/out\x1b[2J.h5"}, {"file": 1, "path": "/data/in"}],
        calls=[{"process": 0, "stream": 0} | call for call in CALLS],
        counters=counters_of(CALLS),
        collectives=[
            {
                "collective": 0,
                "layer": "mpiio",
                "op": "MPI_File_write_at_all",
                "ranks_expected": 2,
                "ranks_seen": 1,
                "agreed": True,
            }
        ],
        marks=[{"kind": "budget", "detail": "64 MiB of stream written", "process": 1}],
    )
