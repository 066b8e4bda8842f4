"""Whole S3D, every call traced: the job time the kernel itself prints, in interleaved pairs."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path

from tools import ROOT, BenchError, Row, fathom_run, pack, run, scratch

KERNEL = ROOT / "build" / "kernels" / "s3d_mpiio_mpich"
LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "4"]
LIMIT = 1.02
SECONDS = re.compile(r"^job_seconds=([0-9.]+)$", re.MULTILINE)


def inner_seconds(output: str) -> float:
    found = SECONDS.search(output)
    if not found:
        raise BenchError(f"{KERNEL.name} printed no job_seconds")
    return float(found.group(1))


def pair(arguments: list[str], directory: Path, fathom_first: bool) -> tuple[float, float, float]:
    """Seconds bare, seconds under Fathom, seconds of packing afterwards."""
    seconds = {}
    run_directory = directory / "run.fathom"
    command: list[str | Path] = [*LAUNCH, KERNEL, *arguments, directory]
    words = {False: command, True: [*fathom_run(run_directory), *command]}
    for traced in (fathom_first, not fathom_first):
        seconds[traced] = inner_seconds(run(words[traced]))
        for file in directory.glob("pressure_wave_test.*"):
            file.unlink()
    began = time.monotonic()
    pack(run_directory)
    return seconds[False], seconds[True], time.monotonic() - began


def rows(quick: bool) -> list[Row]:
    pairs, arguments = (
        (4, ["-c", "2", "64", "64", "64", "2", "2", "1"])
        if quick
        else (20, ["-c", "10", "64", "64", "64", "2", "2", "1"])
    )
    bare: list[float] = []
    traced: list[float] = []
    packing: list[float] = []
    for number in range(pairs):
        with scratch("/dev/shm") as directory:
            for seconds, each in zip(
                pair(arguments, directory, number % 2 == 1), (bare, traced, packing), strict=True
            ):
                each.append(seconds)
    ratios = [t / b for t, b in zip(traced, bare, strict=True)]
    lower, ratio, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return [
        Row(
            f"S3D MPI-IO under Fathom, median of {pairs} pairs",
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
