"""Whole S3D and FLASH, every call traced or only counted: the job time the kernels print, in interleaved pairs."""

from __future__ import annotations

import re
import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT, BenchError, Row, fathom_run, pack, run, scratch

#: As few ranks as make a collective: more than there are processors, and waiting ranks take turns with working ones,
#: so that the times are the scheduler's.
LAUNCH: list[str | Path] = ["mpiexec.mpich", "-n", "2"]
#: Of the run time without Fathom, by level.
LIMITS = {"call": 1.02, "job": 1.005}


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
        ["-c", "14", "64", "64", "64", "2", "1", "1"],
        ["-c", "140", "64", "64", "64", "2", "1", "1"],
    ),
    Kernel(
        "FLASH HDF5",
        "flash_hdf5_mpich",
        ["-x", "16", "-b", "80", "-f", "cpk" * 3],
        ["-x", "16", "-b", "80", "-f", "cpk" * 32],
    ),
]
SECONDS = re.compile(r"^job_seconds=([0-9.]+)$", re.MULTILINE)


def inner_seconds(kernel: Kernel, output: str) -> float:
    found = SECONDS.search(output)
    if not found:
        raise BenchError(f"{kernel.program} printed no job_seconds")
    return float(found.group(1))


def one_round(
    kernel: Kernel, arguments: list[str], directory: Path, number: int
) -> tuple[dict[str, float], float]:
    """Seconds bare (`""`) and at each level, one after the other, each round in another order; seconds of packing."""
    out = directory / "out"
    command: list[str | Path] = [
        *LAUNCH,
        ROOT / "build" / "kernels" / kernel.program,
        *arguments,
        out,
    ]
    turns = ["", *LIMITS]
    seconds = {}
    for turn in range(len(turns)):
        level = turns[(turn + number) % len(turns)]
        traced = fathom_run(directory / f"{level}.fathom", "--level", level) if level else []
        out.mkdir()
        seconds[level] = inner_seconds(kernel, run([*traced, *command]))
        shutil.rmtree(out)
    began = time.monotonic()
    pack(directory / "call.fathom")
    return seconds, time.monotonic() - began


def rows_of(kernel: Kernel, quick: bool) -> list[Row]:
    count, arguments = (4, kernel.quick) if quick else (20, kernel.full)
    rounds: list[dict[str, float]] = []
    packing: list[float] = []
    for number in range(count):
        with scratch("/dev/shm") as directory:
            seconds, packed = one_round(kernel, arguments, directory, number)
        rounds.append(seconds)
        packing.append(packed)
    bare = statistics.median(one[""] for one in rounds)
    result = []
    for level, limit in LIMITS.items():
        ratios = [one[level] / one[""] for one in rounds]
        lower, ratio, upper = statistics.quantiles(ratios, n=4, method="inclusive")
        what = f"{kernel.name} at level {level}, median of {count} pairs"
        traced = statistics.median(one[level] for one in rounds)
        least = min(one[level] for one in rounds), min(one[""] for one in rounds)
        fastest = (least[0], "s", least[1], least[0] / least[1])
        result += [
            Row(what, traced, "s", bare, ratio, f"<= {limit:.3f}", ratio <= limit),
            # Wide quartiles: the machine was too busy for the median to say much.
            Row("  lower quartile of the pairs' ratios", lower, ""),
            Row("  upper quartile of the pairs' ratios", upper, ""),
            Row("  of the fastest runs", *fastest),
        ]
    return [*result, Row("  packing it afterwards", statistics.median(packing), "s")]


def rows(quick: bool) -> list[Row]:
    return [row for kernel in KERNELS for row in rows_of(kernel, quick)]
