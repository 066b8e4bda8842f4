"""Datatypes are flattened into the bytes that they select: compared with what the MPI itself moves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HANDLERS = ROOT / "runtime" / "handlers"
SOURCES = [
    "mpi_abi.c",
    "library.c",
    "library_names.c",
    "mpiio_contents.c",
    "mpiio_tree.c",
    "mpiio_flatten.c",
    "mpiio_parts.c",
]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_every_constructor(mpi: str, tmp_path: Path) -> None:
    compiler = shutil.which(f"mpicc.{mpi}")
    if compiler is None:
        pytest.skip(f"mpicc.{mpi} is not installed")
    program = tmp_path / "flatten"
    sources = [
        str(ROOT / "tests" / "handlers" / "flatten.c"),
        *(str(HANDLERS / name) for name in SOURCES),
    ]
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-O1",
            f"-I{ROOT / 'runtime'}",
            *sources,
            "-o",
            str(program),
            "-ldl",
        ],
        check=True,
    )
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert ", 0 differ" in done.stdout
