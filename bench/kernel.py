"""Whole S3D and FLASH, every call traced: the job time the kernels themselves print, in interleaved pairs."""

from __future__ import annotations

import re
import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT, BenchError, Row, fathom_run, pack, run, scratch

LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "4"]
LIMIT = 1.02


@dataclass(frozen=True)
class Kernel:
    """A program of kernels/, and arguments for a look and for a run of 5 s or more."""

    name: str
    program: str
    quick: list[str]
    full: list[str]


KERNELS = [
    Kernel(
        "S3D MPI-IO",
        "s3d_mpiio_mpich",
        ["-c", "2", "64", "64", "64", "2", "2", "1"],
        ["-c", "10", "64", "64", "64", "2", "2", "1"],
    ),
    Kernel("FLASH HDF5", "flash_hdf5_mpich", ["-f", "cpk"], ["-f", "cpk" * 2]),
]
SECONDS = re.compile(r"^job_seconds=([0-9.]+)$", re.MULTILINE)


def inner_seconds(kernel: Kernel, output: str) -> float:
    found = SECONDS.search(output)
    if not found:
        raise BenchError(f"{kernel.program} printed no job_seconds")
    return float(found.group(1))


def pair(
    kernel: Kernel, arguments: list[str], directory: Path, fathom_first: bool
) -> tuple[float, float, float]:
    """Seconds bare, seconds under Fathom, seconds of packing afterwards."""
    seconds = {}
    run_directory = directory / "run.fathom"
    out = directory / "out"
    program = ROOT / "build" / "kernels" / kernel.program
    command: list[str | Path] = [*LAUNCH, program, *arguments, out]
    words = {False: command, True: [*fathom_run(run_directory), *command]}
    for traced in (fathom_first, not fathom_first):
        out.mkdir()
        seconds[traced] = inner_seconds(kernel, run(words[traced]))
        shutil.rmtree(out)
    began = time.monotonic()
    pack(run_directory)
    return seconds[False], seconds[True], time.monotonic() - began


def rows_of(kernel: Kernel, quick: bool) -> list[Row]:
    pairs, arguments = (4, kernel.quick) if quick else (20, kernel.full)
    bare: list[float] = []
    traced: list[float] = []
    packing: list[float] = []
    for number in range(pairs):
        with scratch("/dev/shm") as directory:
            for seconds, each in zip(
                pair(kernel, arguments, directory, number % 2 == 1),
                (bare, traced, packing),
                strict=True,
            ):
                each.append(seconds)
    ratios = [t / b for t, b in zip(traced, bare, strict=True)]
    lower, ratio, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return [
        Row(
            f"{kernel.name} under Fathom, median of {pairs} pairs",
            statistics.median(traced),
            "s",
            statistics.median(bare),
            ratio,
            f"<= {LIMIT:.2f}",
            ratio <= LIMIT,
        ),
        # Wide quartiles: the machine was too busy for the median to say much.
        Row("  lower quartile of the pairs' ratios", lower, ""),
        Row("  upper quartile of the pairs' ratios", upper, ""),
        Row("  packing it afterwards", statistics.median(packing), "s"),
    ]


def rows(quick: bool) -> list[Row]:
    return [row for kernel in KERNELS for row in rows_of(kernel, quick)]
